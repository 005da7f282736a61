"""The templates of the page about adapters do what it says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harness.examine.adapter import command_for
from harness.examine.run import examine, select_cases

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent


def verdicts(command, pattern):
    return {cell.verdict for cell in examine(command, select_cases(pattern)).cells}


def test_in_python():
    command = command_for("tests.examine.template_adapter:MyAdapter")
    assert verdicts(command, "answers/text,tools/one-call,tools/parallel-calls") == {"pass"}


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_as_a_command():
    command = ["node", str(HERE / "template_adapter.mjs")]
    assert verdicts(command, "answers/text,answers/two-messages") == {"pass"}
    assert verdicts(command, "tools/one-call") == {"not applicable"}
