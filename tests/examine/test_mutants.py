"""Each case catches something that no other case of its area does: a mutant of the reference client."""

from collections.abc import Iterator

import pytest

from harness.core.registry import import_modules
from harness.examine.adapter import Mode, modes_of
from harness.examine.case import AREAS, CASES, ClientCase
from tests.examine.mutants.mutant import MUTANTS, Mutant
from tests.examine.reference.client import ReferenceClient
from tests.examine.reference.in_process import Bench, open_bench
from tests.support.slow import slow_except

DOMINATED = {
    *("agents/approval-one", "agents/hand-off", "agents/hand-off-then-call"),
    *("agents/mcp-approval-one", "agents/nested", "agents/nested-call"),
    *("dialects/assistants-text", "dialects/assistants-tool", "dialects/project-agent", "dialects/text"),
    *("streams/call-in-bytes", "streams/crlf", "streams/event-by-event"),
    *("streams/odd-chunks", "streams/one-chunk", "streams/paced"),
    *("tools/one-call", "tools/parallel-calls"),
}
"""The simplest cases: whatever breaks one of these breaks others, too. They say first what is wrong."""
SWEPT = {f"streams/cut-after-{events}" for events in range(12)} - {f"streams/cut-after-{n}" for n in (0, 5, 11)}
"""Of the streams that are cut after each event, the mutants of all but the first, one in the middle and the last."""
import_modules("tests.examine.mutants", (*AREAS, "assistants", "project_agents"))
CAUGHT = sorted(set(MUTANTS) - SWEPT)
QUICK = [place for place, case in enumerate(CAUGHT) if case.startswith(("state/", "agents/approval"))]


def caught_by(mutant: Mutant, bench: Bench) -> set[str]:
    """The cases that this client does not meet, of one area, in the mode of the mutant: those of `must`, and its own."""
    client = ReferenceClient(mutant.session)
    area = mutant.case.partition("/")[0]
    cases = [
        case for case in CASES.values() if case.area == area and (case.severity == "must" or case.id == mutant.case)
    ]
    runs = [(case, mode) for case in cases if (mode := mode_named(mutant.mode, case, client))]
    return {cell.case for cell in bench.run_each(runs, client) if cell.verdict != "pass"}


def mode_named(name: str, case: ClientCase, client: ReferenceClient) -> Mode | None:
    """Return the mode of a case with this name; None when it does not run in it."""
    return next((mode for mode in modes_of(case, client.declare()) if str(mode) == name), None)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with open_bench() as bench:
        yield bench


@pytest.mark.parametrize("case", slow_except(QUICK, CAUGHT))
def test_a_mutant_is_caught_by_its_case_alone(case, bench):
    assert caught_by(MUTANTS[case], bench) == {case}


def test_each_case_has_a_mutant():
    required = {case.id for case in CASES.values() if case.severity == "must"}
    assert set(MUTANTS) <= set(CASES)
    assert required - set(MUTANTS) == DOMINATED
