"""`responses-harness losses`: which there are, and one explained."""

import json

from harness.analysis.loss import LOSSES
from tests.support.command_line import run_cli


def test_all_are_listed_in_order() -> None:
    assert [row["id"] for row in json.loads(run_cli("losses", "--json").stdout)] == list(LOSSES)


def test_one_is_explained_to_people_and_programs() -> None:
    loss = LOSSES["text-altered"]
    said = run_cli("losses", "text-altered").stdout
    assert said.startswith(f"text-altered  ({loss.area}, always)")
    assert json.loads(run_cli("losses", "text-altered", "--json").stdout)["id"] == "text-altered"
