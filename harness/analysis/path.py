"""The path of a journal: its agents, calls and messages in one line, and lists of them for tests to assert on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import orjson

from harness.analysis.call_ledger import MCP_CALL, Approval, Call, call_arguments, collect_calls, parse_arguments
from harness.analysis.flow import FlowStep, build_steps
from harness.analysis.lanes import CLIENT_LANE, HandOff, assign_lanes, without_probes
from harness.core.errors import NOWHERE, ConfigError, find_calling_place
from harness.core.exchange import Exchange, Json
from harness.core.json_values import as_object, as_string
from harness.core.registry import suggest_name
from harness.core.text import item_text, pluralize, quote, shorten
from harness.items.transcript import APPROVAL_REQUEST

_SILENT_TYPES = frozenset({"reasoning", "mcp_list_tools"})
"""Items that are not steps of a path."""
_WIDTH = 40
"""The maximum number of characters shown of a value, a message or an output."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step: the number of its exchange, the agent, and a description.

    `name` is the name of the call, else the type of the item; empty for a failure.
    """

    exchange: int
    agent: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Path:
    """The steps of a path; `str()` joins them in one line and names the agent wherever it changes."""

    steps: tuple[PathStep, ...] = ()

    def __str__(self) -> str:
        return " → ".join(self._words()) or "nothing happened"

    @property
    def agents(self) -> list[str]:
        """The agents in the order in which they took over, without `client`, which asks no model."""
        names = [step.agent for step in self.steps if step.agent != CLIENT_LANE]
        return [name for place, name in enumerate(names) if place == 0 or names[place - 1] != name]

    def first_of(self, name: str) -> PathStep | None:
        """Find the first step with this name."""
        return next((step for step in self.steps if step.name == name), None)

    @property
    def names(self) -> list[str]:
        """The distinct names of the steps, in order."""
        return list(dict.fromkeys(step.name for step in self.steps if step.name))

    def _words(self) -> Iterator[str]:
        agent = ""
        for step in self.steps:
            if step.agent != agent:
                yield step.agent
            agent = step.agent
            if step.text:
                yield step.text


def build_path(exchanges: Sequence[Exchange], hints: Sequence[str] = (), approvals: Iterable[Approval] = ()) -> Path:
    """Build the path of these exchanges; `hints` are names for agents, `approvals` the answers to approval requests."""
    calls = {call.call_id: call for call in collect_calls(exchanges)}
    answers = {approval.id: approval for approval in approvals}
    steps = build_steps(assign_lanes(without_probes(exchanges), hints))
    return Path(tuple(step for flow_step in steps for step in _steps_of(flow_step, calls, answers)))


def show_call(name: str, arguments: Any, result: str = "") -> str:
    """Render a call in one line: `get_weather(city=Paris) ✓ 18 °C`."""
    if isinstance(arguments, Mapping):
        shown = ", ".join(f"{member}={_show_value(value)}" for member, value in arguments.items())
    else:
        shown = _show_value(arguments)
    return " ".join(filter(None, [f"{name}({shorten(shown, 2 * _WIDTH)})", result]))


def show_outputs(outputs: Sequence[Any]) -> str:
    """Render the outputs of a call: the last one, and how many there were if more than one."""
    if not outputs:
        return "unanswered"
    output = outputs[-1]
    text = output if isinstance(output, str) else item_text({"output": output}) or _show_value(output)
    often = f" (answered {len(outputs)} times)" if len(outputs) > 1 else ""
    return f"✓ {_in_line(text)}{often}".strip()


def show_approval(approve: bool | None) -> str:
    """Render the answer to an approval request."""
    if approve is None:
        return "unanswered"
    return "approved" if approve else "denied"


def _steps_of(step: FlowStep, calls: Mapping[str, Call], approvals: Mapping[str, Approval]) -> Iterator[PathStep]:
    for item in step.output_items:
        kind = as_string(item.get("type")) or "message"
        if kind not in _SILENT_TYPES:
            name = as_string(item.get("name")) or kind
            yield PathStep(step.number, step.lane, name, _show_item(item, kind, name, calls, approvals))
    for end in filter(None, (step.status, step.failure)):
        yield PathStep(step.number, step.lane, "", shorten(end, 2 * _WIDTH))


def _show_item(item: Json, kind: str, name: str, calls: Mapping[str, Call], approvals: Mapping[str, Approval]) -> str:
    if kind == "message":
        return quote(item_text(item), _WIDTH)
    if call := calls.get(as_string(item.get("call_id"))):
        return show_call(name, call.parsed_arguments, show_outputs([output for _, output in call.outputs]))
    if kind == APPROVAL_REQUEST:
        known = approvals.get(as_string(item.get("id")))
        return show_call(name, parse_arguments(call_arguments(item)), show_approval(known.approve if known else None))
    if kind == MCP_CALL:
        error = item.get("error")
        result = f"✗ {_in_line(_show_value(error))}" if error else show_outputs([item.get("output")])
        return show_call(name, parse_arguments(call_arguments(item)), result)
    query = as_object(item.get("action")).get("query")
    return show_call(name, query) if query else name


def _show_value(value: Any) -> str:
    return _in_line(value if isinstance(value, str) else orjson.dumps(value, default=str).decode())


def _in_line(text: str) -> str:
    return shorten(" ".join(text.split()), _WIDTH)


SHOWN_PATH = 170
"""The maximum number of characters of a path within a line: pytest shows at most 240 of a value."""

EntryT = TypeVar("EntryT", bound=Call | Approval)
PathSource = Callable[[], Path]
"""Builds the path; called only when an assertion fails."""


class OnPath:
    """Part of a path, which a failing comparison shows."""

    @property
    def path(self) -> Path:
        """The whole path that this is part of."""
        raise NotImplementedError


class PathClaim:
    """A test's claim about a path, usable as a bool; its text states what really happened, then the path.

    `was_read` records whether the test evaluated the claim: a false claim that was never read was meant as an
    assertion. `place` is the line of the test that made a false claim.
    """

    __slots__ = ("_holds", "place", "text", "was_read")

    def __init__(self, holds: bool, text: str) -> None:
        self._holds, self.text = holds, text
        self.place = NOWHERE if holds else find_calling_place()
        self.was_read = False

    def __bool__(self) -> bool:
        self.was_read = True
        return self._holds

    def __str__(self) -> str:
        self.was_read = True
        return self.text

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class PathOwner:
    """The journal behind a list: `build_path` draws its path when an assertion fails, `note` collects false claims."""

    build_path: PathSource = Path
    note: Callable[[PathClaim], None] = lambda claim: None


NO_OWNER = PathOwner()


class _Entries(list[EntryT], OnPath, Generic[EntryT]):
    """Calls or approvals in the order in which the model made them."""

    noun = "call"

    def __init__(self, entries: Iterable[EntryT] = (), owner: PathOwner = NO_OWNER, name: str = "") -> None:
        super().__init__(entries)
        self._owner = owner
        self._name = name

    def __repr__(self) -> str:
        if not self:
            return f"<no {self._title}; the path: {self._short_path()}>"
        return f"[{', '.join(map(_show_entry, self))}]"

    __str__ = __repr__

    @property
    def path(self) -> Path:
        return self._owner.build_path()

    def named(self, name: str) -> Self:
        return self._keep((entry for entry in self if entry.name == name), name)

    @property
    def arguments(self) -> list[Any]:
        """The arguments of each as its tool receives them, `[{"city": "Paris"}]`; a string if they are not JSON."""
        return [parse_arguments(entry.arguments) for entry in self]

    @property
    def unanswered(self) -> Self:
        return self._keep((entry for entry in self if not _answers_of(entry)), self._name)

    def times(self, number: int) -> PathClaim:
        """Claim that there are exactly `number` of them: `assert mock.calls.named("get_weather").times(2)`.

        A false claim fails the test even without the `assert`.
        """
        if not isinstance(number, int) or number < 0:
            raise ConfigError(f"times({number!r}): pass a non-negative number.")
        wanted = "" if len(self) == number else f", not {number}"
        return self._claim(len(self) == number, f"{pluralize(len(self), self._title, self._plural)}{wanted}")

    def before(self, other: str | Sequence[Any]) -> PathClaim:
        """Claim that the first of these was made before the first call named `other`, or the first of other calls.

        The claim is false if either was never made, or if the model made both in one answer, that is at once.
        """
        mine, (name, its) = self._first(), self._first_of(other)
        if mine is None or its is None:
            return self._claim(False, f"there is no {self._title if mine is None else name}")
        this = self._name or self.noun
        if mine == its:
            return self._claim(False, f"{this} and {name} were made together, in the answer to request {mine}")
        order = "before" if mine < its else "after"
        return self._claim(mine < its, f"{this} (request {mine}) came {order} {name} (request {its})")

    @property
    def _title(self) -> str:
        return f"{self.noun} of {self._name}" if self._name else self.noun

    @property
    def _plural(self) -> str:
        return f"{self.noun}s of {self._name}" if self._name else f"{self.noun}s"

    def _keep(self, entries: Iterable[EntryT], name: str) -> Self:
        return type(self)(entries, self._owner, name)

    def _first(self) -> int | None:
        return min(map(_number_of, self), default=None)

    def _first_of(self, other: str | Sequence[Any]) -> tuple[str, int | None]:
        """Return how to name the others, and the number of the exchange with the first of them."""
        if isinstance(other, _Entries):
            return other._title, other._first()
        if not isinstance(other, str):
            raise ConfigError(f"before({other!r}): pass the name of a tool, or calls such as mock.calls.named('book').")
        path = self.path
        if step := path.first_of(other):
            return other, step.exchange
        near = suggest_name(other, path.names) if path.names else ""
        return f"call of {other}{f' ({near})' if near.startswith('Did') else ''}", None

    def _claim(self, holds: bool, text: str) -> PathClaim:
        claim = PathClaim(holds, f"{text}; the path: {self._short_path()}")
        if not holds:
            self._owner.note(claim)
        return claim

    def _short_path(self) -> str:
        return shorten(str(self.path), SHOWN_PATH, tail=SHOWN_PATH // 2)


class Calls(_Entries[Call]):
    """The calls that a client must execute, in the order in which the model made them."""

    def by(self, agent: str) -> Calls:
        """Keep those of one agent, named as in `mock.agents`."""
        return self._keep((call for call in self if call.agent == agent), self._name)


class Approvals(_Entries[Approval]):
    """The MCP calls that needed an approval, in the order in which it was requested."""

    noun = "approval"


def _show_entry(entry: Call | Approval) -> str:
    arguments = parse_arguments(entry.arguments)
    if isinstance(entry, Call):
        return show_call(entry.name or entry.type, arguments, show_outputs([output for _, output in entry.outputs]))
    return show_call(entry.name, arguments, show_approval(entry.approve))


def _answers_of(entry: Call | Approval) -> Sequence[Any]:
    return entry.outputs if isinstance(entry, Call) else entry.answers


def _number_of(entry: Call | Approval) -> int:
    return (entry.said if isinstance(entry, Call) else entry.asked) or 0


class Agents(list[str], OnPath):
    """The names of the agents in the order in which they took over; an agent that acts again is listed again.

    `hand_offs` are the call outputs that handed over from one agent to another.
    """

    def __init__(self, path: Path, hand_offs: Sequence[HandOff] = ()) -> None:
        super().__init__(path.agents)
        self.hand_offs = list(hand_offs)
        self._path = path

    @property
    def path(self) -> Path:
        """The whole path."""
        return self._path
