"""Each case catches something that no other case of its area does: a mutant of the reference client."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from harness.core.errors import RegistrationError
from harness.core.registry import import_modules
from harness.examine.adapter import Mode, modes_of
from harness.examine.case import AREAS, CASES, WEATHER, ClientCase, case
from harness.examine.checks import shows
from harness.examine.task import Task
from harness.examine.tool_server import serve_tools
from tests.examine.mutants.mutant import MUTANTS, Mutant
from tests.examine.reference.client import ReferenceClient, ReferenceSession
from tests.examine.reference.in_process import LONGEST, Bench, open_bench

DOMINATED = {
    *("agents/approval-one", "agents/hand-off", "agents/hand-off-then-call"),
    *("agents/mcp-approval-one", "agents/nested", "agents/nested-call"),
    *("dialects/assistants-text", "dialects/assistants-tool", "dialects/project-agent", "dialects/text"),
    *("streams/call-in-bytes", "streams/crlf", "streams/event-by-event"),
    *("streams/odd-chunks", "streams/one-chunk", "streams/paced"),
    *("state/stateless", "tools/one-call", "tools/order-of-outputs", "tools/parallel-calls"),
}
"""The simplest cases: whatever breaks one of these breaks others, too. They say first what is wrong."""
SWEPT = {f"streams/cut-after-{events}" for events in range(12)} - {f"streams/cut-after-{n}" for n in (0, 5, 11)}
"""Of the streams that are cut after each event, the mutants of all but the first, one in the middle and the last."""
import_modules("tests.examine.mutants", (*AREAS, "assistants", "project_agents"))


def caught_by(mutant: Mutant, cases: Iterable[ClientCase], bench: Bench) -> set[str]:
    """The cases that this client does not meet, in the mode of the mutant."""
    client = ReferenceClient(mutant.session)
    runs = [(case, mode) for case in cases if (mode := mode_named(mutant.mode, case, client))]
    return {cell.case for cell in bench.run_each(runs, client) if cell.verdict != "pass"}


def mode_named(name: str, case: ClientCase, client: ReferenceClient) -> Mode | None:
    """Return the mode of a case with this name; None when it does not run in it."""
    return next((mode for mode in modes_of(case, client.declare()) if str(mode) == name), None)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with open_bench() as bench:
        yield bench


@pytest.mark.parametrize("area", AREAS)
def test_a_mutant_is_caught_by_its_case(area, bench):
    cases = [case for case in CASES.values() if case.area == area and case.id in MUTANTS]
    assert [case.id for case in cases if not caught_by(MUTANTS[case.id], [case], bench)] == []


@pytest.mark.slow
@pytest.mark.parametrize("id", sorted(set(MUTANTS) - SWEPT))
def test_a_mutant_is_caught_by_its_case_alone(id, bench):
    area = [case for case in CASES.values() if case.area == CASES[id].area]
    assert caught_by(MUTANTS[id], [case for case in area if case.severity == "must" or case.id == id], bench) == {id}


class RunsTwice(ReferenceSession):
    """A client that executes each tool twice."""

    def execute(self, tool: Any, arguments: Any) -> str:
        super().execute(tool, arguments)
        return super().execute(tool, arguments)


NOT_EXECUTED = {
    *("agents/approval-denied", "agents/hand-off", "agents/nested", "agents/nested-stream", "agents/nested-twice"),
    *(
        "agents/two-hand-offs-at-once",
        "answers/incomplete-call",
        "streams/cut-after-a-call",
        "streams/cut-within-a-call",
    ),
    *("tools/arguments-no-json", "tools/recovers-from-no-json", "tools/unknown-tool"),
}
"""Cases with tools of which none is executed, or only in place of a call that no client can execute."""


@pytest.mark.parametrize("of", [*AREAS, pytest.param(LONGEST, marks=pytest.mark.slow)])
def test_a_tool_that_is_executed_twice_is_a_failure(of, bench):
    client = ReferenceClient(RunsTwice)
    with_tools = [case for case in CASES.values() if case.task.tools]
    cases = [case for case in with_tools if of == (LONGEST if case.id == LONGEST else case.area)]
    cells = bench.run_each([(case, next(iter(modes_of(case, client.declare())))) for case in cases], client)
    assert {cell.case for cell in cells if cell.verdict == "pass"} <= NOT_EXECUTED


def test_each_case_has_a_mutant():
    required = {case.id for case in CASES.values() if case.severity == "must"}
    assert set(MUTANTS) <= set(CASES)
    assert required - set(MUTANTS) == DOMINATED


WORDS = ("title", "does", "source", "shows")


@pytest.mark.parametrize(
    ("id", "changes", "problem"),
    [
        ("other/a", {}, "case other/a: the area must be one of answers, "),
        ("answers/a", {"severity": "shall"}, "severity must be one of must, should, may"),
        ("answers/a", {"needs": ["magic"]}, "needs must be some of "),
        ("answers/a", {"states": ("asleep",)}, "states must be some of replay, "),
        ("answers/a", {"checks": ()}, "it has no check"),
        *(("answers/a", {name: ""}, "must say something") for name in WORDS),
    ],
)
def test_a_case_that_says_too_little_is_not_registered(id: str, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(RegistrationError, match=problem):
        case(id, **{"checks": [shows("x")], "script": lambda mock: None, **dict.fromkeys(WORDS, "x"), **changes})
    assert id not in CASES


def test_a_tool_behind_a_url_answers_with_its_result_or_its_error() -> None:
    with serve_tools() as server:
        offered = server.offer("run", Task(prompts=(), tools=(WEATHER, replace(WEATHER, name="broken", raises="No."))))
        answers = [httpx.post(url, content=b"{}") for url in (*(tool.url for tool in offered.tools), server._address)]
    text = "text/plain; charset=utf-8"
    assert [(answer.status_code, answer.headers["content-type"], answer.text) for answer in answers] == [
        (200, "application/json", r'"18 \u00b0C"'),
        (500, text, "No."),
        (404, text, "no tool at /"),
    ]
