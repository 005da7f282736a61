"""A client is run through cases in a process of its own, and judged."""

import httpx
import pytest

from harness.examine.adapter import modes_of
from harness.examine.adapters import command_for
from harness.examine.run_cases import examine, select_cases
from tests.examine.reference.client import ReferenceClient
from tests.examine.reference.in_process import open_bench


@pytest.mark.slow
def test_a_correct_client_passes():
    pytest.importorskip("agents")
    found = examine(command_for("openai-agents"), select_cases("*/one-call"))
    assert [cell.verdict for cell in found.cells] == ["pass"] * 8


def test_a_client_that_raises_is_a_crash_with_its_reason():
    class Broken(ReferenceClient):
        async def run(self, task):
            raise LookupError("no loop")

    (case,) = select_cases("tools/one-call")
    with open_bench() as bench:
        cell = bench.run(case, next(iter(modes_of(case, Broken().declare()))), Broken())
    assert (cell.verdict, cell.requests, cell.ended) == ("crash", 0, "it dies")
    assert cell.view["row"]["id"] == f"{Broken().declare().client}::{case.id}[{cell.mode}]"
    assert cell.reasons[0].startswith("LookupError: no loop\n")


def test_a_request_with_a_key_of_its_own_is_a_failure():
    class Straying(ReferenceClient):
        async def run(self, task):
            asked = {"model": "gpt-4.1", "input": "hi"}
            httpx.post(f"{task.base_url}/responses", headers={"authorization": "Bearer sk-own"}, json=asked)
            return await super().run(task)

    (case,) = select_cases("answers/text")
    with open_bench() as bench:
        cell = bench.run(case, next(iter(modes_of(case, Straying().declare()))), Straying())
    assert (cell.verdict, "key" in cell.reason) == ("fail", True), cell.reasons
