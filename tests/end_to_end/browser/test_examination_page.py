"""The results of examinations in Chromium, as a reader sees them; skipped where there is no Chromium."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.analysis.sequence import SequenceDiagram, SequenceMessage
from harness.examine.report.formats import write_results
from harness.examine.report.results import merge_results
from tests.end_to_end.browser.chromium import look_at
from tests.support.examined import cell, results

pytestmark = pytest.mark.slow
EVIL = (
    "</script><script>document.title = 'injected'</script><img src=x onerror=\"document.title='injected'\"><b>bold</b>"
)
MESSAGES = (SequenceMessage(0, 1, "request", EVIL, 1), SequenceMessage(1, 0, "answer", "yes"))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a reader saw of two clients, one of which says odd things."""
    red = replace(
        cell("answers/text", "fail", "plain,replay", "must", EVIL),
        flow=f"1 {EVIL}",
        sequence=SequenceDiagram(("me", "API"), MESSAGES),
    )
    mine = results(red, cell("answers/text", "pass", "stream,chain"), cell("tools/one-call", "not applicable", ""))
    yours = results(
        cell("answers/text", "warn", "plain,replay", "should", "so so"), cell("tools/one-call"), client=EVIL
    )
    file = tmp_path_factory.mktemp("page") / "results.html"
    write_results(merge_results([mine, yours]), file)
    return look_at(file, "examination.mjs")


def test_it_has_no_error_asks_for_nothing_and_runs_nothing_that_a_client_said(seen: Any) -> None:
    assert (seen["problems"], seen["injected"], seen["title"]) == ([], 0, "Clients examined")


def test_a_script_that_is_added_is_refused(seen: Any) -> None:
    assert (seen["refused"], seen["policy"]) == (True, 1)


def test_clients_and_modes_are_side_by_side(seen: Any) -> None:
    assert seen["clients"] == ["case", "severity", "mine 1.0", EVIL]
    assert seen["modes"] == ["plain replay", "stream chain", "plain replay"]
    assert seen["rows"] == 2
    assert seen["areas"] == ["1 pass, 1 fail, 1 not applicable", "1 pass, 1 warn"]


def test_a_cell_opens_on_its_reason_flow_diagram_and_command(seen: Any) -> None:
    assert seen["again"] == "harness examine mine:Adapter --case answers/text --modes plain,replay"
    assert seen["flow"] == f"1 {EVIL}"
    assert EVIL in seen["dialog"]
    assert seen["arrows"] == 2
    assert seen["closed"] == 0


def test_what_is_no_pass_can_be_chosen(seen: Any) -> None:
    assert seen["wrong"] == 1
    assert seen["none"] == "0 of 2 cases"
