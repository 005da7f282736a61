"""A client is run through cases in a process of its own, and judged."""

import pytest

from harness.examine.adapters import command_for
from harness.examine.run_cases import examine, select_cases


@pytest.mark.slow
@pytest.mark.parametrize(("adapter", "cells"), [("openai", 8), ("openai-agents", 8)])
def test_a_correct_client_passes(adapter, cells):
    pytest.importorskip({"openai": "openai", "openai-agents": "agents"}[adapter])
    found = examine(command_for(adapter), select_cases("*/one-call"))
    assert [cell.verdict for cell in found.cells] == ["pass"] * cells
