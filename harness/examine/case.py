"""A case: something that the API may do during a task, and what a correct client shows its user."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import wraps
from itertools import chain, repeat
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar

from harness.core.errors import ConfigError, RegistrationError
from harness.core.exchange import Exchange, Request
from harness.core.registry import Registry, suggest_name
from harness.examine.task import Outcome, Task, Tool, string_parameters
from harness.world.mock import Mock
from harness.world.route import Turn

Severity = Literal["must", "should", "may"]
SEVERITIES = ("must", "should", "may")
AREAS = ("answers", "tools", "state", "agents", "streams", "errors", "dialects")
RESPONSES_STATES = ("replay", "stateless", "chain", "conversation")
THREAD = "thread"
STATES = (*RESPONSES_STATES, THREAD)
"""How a client may keep a session; see `Task.state`."""
FEATURES = {
    "tools": "runs the functions of a task",
    "custom_tools": "runs tools that take a text",
    "deferred_tools": "declares tools with `defer_loading`, beside the API's own search for them",
    "hosted_tools": "sends tools of the API",
    "structured": "asks for output of a JSON schema",
    "reasoning": "shows summaries of the model's reasoning",
    "incomplete": "tells its user that an answer was cut, and why",
    "handoffs": "several agents, one hands over to another",
    "agent_tools": "an agent asks another one as a tool",
    "tool_approvals": "asks its user before a function runs",
    "mcp_approvals": "asks its user about the calls of remote MCP servers",
    "guardrails": "checks an answer and stops",
    "background": "runs in the background",
    "resume": "resumes a stream that was cut",
    "compaction": "compacts its history",
    "shortening": "leaves old messages of its history out",
    "timeout": "gives up on a request after a time that its user sets",
    "options": "passes members of the request on as they are",
    "project_agents": "calls an agent of a Foundry project",
}
"""What a client may be able to do beyond sending a prompt; an adapter names the features that it supports."""

ASKED = Task(prompts=("How is the weather?",))
ASKED_TWICE = Task(prompts=("How is the weather?", "And tomorrow?"))
REASONING_MODEL = "gpt-5"
WEATHER = Tool("get_weather", "The weather of a city.", string_parameters("city"), returns="18 °C")
DEPLOY = Tool("deploy", "Deploy a version.", string_parameters("ref"), returns="live")
WITH_TOOL = Task(prompts=ASKED.prompts, tools=(WEATHER,))


class ToolCall(NamedTuple):
    """One execution of a tool of the task."""

    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """The result of a case: what the client showed, the `mock` with its journal, and the tools that really ran."""

    task: Task
    outcome: Outcome
    mock: Mock
    executions: Sequence[ToolCall]

    @property
    def exchanges(self) -> list[Exchange]:
        """The client's requests and their answers."""
        return self.mock.exchanges


Check = Callable[[ObservedRun], Iterator[str]]
"""Yields a line for everything that a correct client would have shown or done differently."""
Expected = ParamSpec("Expected")
_OF_FAILURES: set[Check] = set()


def check(look: Callable[Concatenate[ObservedRun, Expected], Iterator[str]]) -> Callable[Expected, Check]:
    """Turn a function of a run and of expected values into one that makes a check of these values."""

    @wraps(look)
    def make(*expected: Expected.args, **named: Expected.kwargs) -> Check:
        return lambda seen: look(seen, *expected, **named)

    return make


def check_of_failure(look: Callable[Concatenate[ObservedRun, Expected], Iterator[str]]) -> Callable[Expected, Check]:
    """Mark the checks that a function makes as met by a failed run, too: a case with one may fail."""
    make = check(look)

    @wraps(look)
    def make_and_note(*expected: Expected.args, **named: Expected.kwargs) -> Check:
        _OF_FAILURES.add(made := make(*expected, **named))
        return made

    return make_and_note


Script = Callable[[Mock], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCase:
    """One entry of the catalogue.

    `does` is what the API does, `source` why that is legal and how it is known, `shows` what a correct client shows.
    `needs` are the features (`FEATURES`) without which a client cannot run the case; `states`, `streams` and
    `dialects` limit its modes. With `fails`, which some checks imply, the task may end in an error (if it must, a
    check requires that); `refused` names the rules whose refusal the case provokes, `losses` the losses that belong to
    it. With `spare`, which an explicit `fails` implies, turns of the script may be left. `seconds` is the time limit of
    one run.
    """

    id: str
    title: str
    does: str
    source: str
    shows: str
    severity: Severity = "must"
    task: Task = ASKED
    script: Script
    checks: tuple[Check, ...]
    needs: frozenset[str] = frozenset()
    states: tuple[str, ...] = RESPONSES_STATES
    streams: tuple[bool, ...] = (False, True)
    dialects: tuple[str, ...] = ("openai",)
    fails: bool = False
    refused: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    spare: bool = False
    seconds: float = 10

    @property
    def area(self) -> str:
        """The part of the catalogue that the case belongs to."""
        return self.id.partition("/")[0]


CASES: Registry[ClientCase] = Registry("case")
"""All cases by id; filled by importing `harness.examine.cases`."""


Entry = TypeVar("Entry")


def select_entries(entries: Mapping[str, Entry], pattern: str, missing: str) -> list[Entry]:
    """Select the entries whose ids match patterns such as `streams/*`, separated by commas.

    ConfigError, which begins with `missing`, for a pattern without a match.
    """
    wanted = [glob.strip() for glob in pattern.split(",")]
    for glob in wanted:
        if not any(fnmatchcase(id, glob) for id in entries):
            raise ConfigError(f"{missing} {glob!r}. {suggest_name(glob, entries)}")
    return [entry for id, entry in entries.items() if any(fnmatchcase(id, glob) for glob in wanted)]


def turns(*each: Turn) -> Script:
    """Build a script of these turns, for any request."""
    return lambda mock: mock.script(*each)


def always(*every: Turn) -> Script:
    """Build a script of these turns that repeats the last one for as long as the client asks."""

    def model(request: Request) -> Iterator[Any]:
        answers = chain(every, repeat(every[-1]))
        while True:  # no `yield from`: each request is sent in, which `chain` cannot take
            yield next(answers)

    return turns(model)


def case(
    id: str, *, checks: Sequence[Check], task: Task = ASKED, needs: Sequence[str] = (), **words: Any
) -> ClientCase:
    """Register a case; `words` are the other members of `ClientCase`."""
    implied = {name for name, wanted in _IMPLIED.items() if wanted(task)}
    words = {"fails": not _OF_FAILURES.isdisjoint(checks), "spare": words.get("fails", False), **words}
    made = ClientCase(id=id, checks=tuple(checks), task=task, needs=frozenset({*needs, *implied}), **words)
    if problem := _problem(made):
        raise RegistrationError(f"case {id}: {problem}")
    return CASES.add(id, made)


_IMPLIED: Mapping[str, Callable[[Task], bool]] = {
    "tools": lambda task: any(not tool.custom for tool in task.tools),
    "custom_tools": lambda task: any(tool.custom for tool in task.tools),
    "deferred_tools": lambda task: any(tool.deferred for tool in task.tools),
    "tool_approvals": lambda task: any(tool.needs_approval for tool in task.tools),
    "hosted_tools": lambda task: bool(task.hosted_tools),
    "mcp_approvals": lambda task: bool(task.hosted_tools and task.approvals),
    "handoffs": lambda task: any(agent.handoffs for agent in task.agents),
    "agent_tools": lambda task: any(agent.ask for agent in task.agents),
    "guardrails": lambda task: bool(task.guardrail),
    "timeout": lambda task: task.timeout is not None,
    "compaction": lambda task: task.compact_after is not None,
    "shortening": lambda task: task.keep_last is not None,
    "options": lambda task: bool(task.options),
    "project_agents": lambda task: bool(task.project_agent),
}


def _problem(made: ClientCase) -> str | None:
    wrong: Mapping[str, bool] = {
        f"the area must be one of {', '.join(AREAS)}": made.area not in AREAS,
        f"severity must be one of {', '.join(SEVERITIES)}": made.severity not in SEVERITIES,
        f"needs must be some of {', '.join(FEATURES)}": not made.needs <= set(FEATURES),
        f"states must be some of {', '.join(STATES)}": not set(made.states) <= set(STATES),
        "it has no check": not made.checks,
        "title, does, source and shows must say something": not all((made.title, made.does, made.source, made.shows)),
    }
    return next((text for text, is_wrong in wrong.items() if is_wrong), None)
