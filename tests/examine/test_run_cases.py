"""A client is run through cases in a process of its own, and judged."""

from __future__ import annotations

import pytest

from harness.examine.adapters import command_for
from harness.examine.run_cases import examine, select_cases


@pytest.mark.slow
def test_a_correct_client_passes():
    found = examine(command_for("openai"), select_cases("*/one-call"))
    assert {cell.verdict for cell in found.cells} == {"pass"}
    assert len(found.cells) == 8
