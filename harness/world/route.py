"""The scripted turns of the model, and routes: conditions with the turns that they lead to.

A turn is an item, a string (a message), a list of these with or without an ending (`harness.ending`), a function of the
request that returns one of these, or a generator function that yields turns; `Repeated` turns never end.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from re import Pattern
from types import GeneratorType
from typing import Any, TypeGuard

from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.answers.prompt import TOOL_BRINGERS
from harness.answers.response import check_item, check_response_members
from harness.api.http.bodies import copy_body
from harness.core.advice_wording import PYTHON, Vocabulary
from harness.core.delivery import Fault
from harness.core.errors import NOWHERE, Place, ScriptError, describe_code, find_calling_place, raise_as_script_error
from harness.core.exchange import Json, Request
from harness.core.json_values import Dumpable, as_object, as_string, objects_in
from harness.core.registry import named_arguments
from harness.core.text import show
from harness.ending import DEFAULT_ENDING, Ending, ResponseMembers, TurnLine, split_ending
from harness.faults import Refusal, ScriptedRefusal
from harness.items import message
from harness.items.kind import Item
from harness.items.transcript import Transcript
from harness.world.scripting.lines import is_plain_line, parse_lines
from harness.world.scripting.validation import InvalidData

Matcher = str | Pattern[str] | Callable[[Any], bool] | Sequence[str]
CONDITIONS = ("instructions", "tools", "model", "input", "user", "call_id", "agent")


def condition_value(request: Request, transcript: Transcript, what: str) -> Any:
    """Read the value that a condition is compared with: a string for most, a list of names for `tools`.

    The items are those that the model reads, wherever they lie: in the request, in the response or conversation that it
    continues, or behind a reference. The parameter `instructions` holds for its own request only.
    """
    body: Json = as_object(request.body)
    if what == "tools":
        tools = [*(body.get("tools") or ()), *_added_tools(transcript)]
        return list(dict.fromkeys(tool.get("name") or tool.get("server_label") or tool.get("type") for tool in tools))
    if what == "instructions":
        leading = [_item_text(item) for item in transcript.items if item.get("role") in INSTRUCTION_ROLES]
        return "\n".join(filter(None, [body.get("instructions"), *leading]))
    if what == "input":
        return _last_text(item for item in reversed(transcript.items) if item.get("type") != "reasoning")
    if what == "user":
        return _last_text(item for item in reversed(transcript.items) if _is_user(item))
    if what == "call_id":
        return "\n".join(_answered_calls(transcript.items))
    if what == "agent":
        # Foundry has had both members; frameworks for OpenAI name their agents in the metadata, if at all.
        agent = body.get("agent_reference") or body.get("agent") or {}
        return agent.get("name") or (body.get("metadata") or {}).get("agent") or ""
    return body.get(what) or ""


def _added_tools(transcript: Transcript) -> Iterator[Json]:
    for kind in TOOL_BRINGERS:
        for item in transcript.items_of(kind):
            yield from item.get("tools") or ()


def _item_text(item: Json) -> str:
    content = item.get("content", item.get("output", ""))
    if isinstance(content, str):
        return content
    return "\n".join(as_string(part.get("text")) for part in objects_in(content))


def _last_text(newest_first: Iterable[Json]) -> str:
    return next((text for item in newest_first if (text := _item_text(item))), "")


def _is_user(item: Json) -> bool:
    return item.get("role") == "user"


def _answered_calls(items: Sequence[Json]) -> Iterator[str]:
    """Yield the ids of the calls that have an output after the last user message."""
    last = max((place for place, item in enumerate(items) if _is_user(item)), default=-1)
    outputs = (item for item in items[last + 1 :] if "output" in item and isinstance(item.get("call_id"), str))
    yield from (item["call_id"] for item in outputs)


def is_matcher(name: str, wanted: Any) -> bool:
    """Return whether a condition accepts this value: a string, a pattern of strings, a function; names for `tools`."""
    if isinstance(wanted, Pattern):
        return isinstance(wanted.pattern, str)
    is_names = isinstance(wanted, list | tuple | set | frozenset) and all(isinstance(entry, str) for entry in wanted)
    return isinstance(wanted, str) or callable(wanted) or (name == "tools" and is_names)


def is_match(name: str, wanted: Matcher, actual: Any) -> bool:
    """Return whether a request's value meets a condition.

    A string is searched for case-insensitively (`model`: a shell pattern), a compiled pattern is searched for, a
    function decides by itself; for `tools` every wanted name must be declared, and a pattern must match one of them.
    """
    if callable(wanted):
        return bool(wanted(actual))
    if isinstance(wanted, Pattern):
        return any(wanted.search(text) for text in ([actual] if isinstance(actual, str) else actual))
    if name == "tools":
        return set([wanted] if isinstance(wanted, str) else wanted) <= set(actual)
    if name == "model":
        # Names of models are compared as the API does: case matters.
        return fnmatchcase(actual, str(wanted))
    return str(wanted).casefold() in actual.casefold()


@dataclass(frozen=True, slots=True)
class Repeated:
    """Turns that repeat for ever; functions among them are called each time."""

    turns: Sequence[Turn]


PlainLine = Mapping[str, Any] | Dumpable
"""A line as JSON, `{"type": "message", …}`, or as an object of an SDK."""
Turn = (
    str
    | TurnLine
    | PlainLine
    | Sequence[str | TurnLine | PlainLine]
    | Callable[[Request], Any]
    | Iterator[Any]
    | Repeated
)

PLAIN = (Item, list, Ending, Fault)
"""The turns that were read when they were scripted; all others are code."""
MAX_VALIDATED = 1000
"""The number of valid items that a route remembers; bounded because a function may return a new one each time."""


@dataclass(slots=True)
class Route:
    """A condition and its turns, one taken per request; `replayed` counts how often a repeated first turn was played.

    `places` holds where the turns were scripted: for one that plays several, a place for each or a single one for all.
    `made_at` is where the condition was scripted; a route that `is_empty` was never given a turn.
    """

    conditions: dict[str, Matcher]
    turns: deque[Turn] = field(default_factory=deque)
    places: deque[Sequence[Place]] = field(default_factory=deque)
    taken: int = 0
    replayed: int = 0
    validated_items: dict[int, Item] = field(default_factory=dict)
    vocabulary: Vocabulary = PYTHON
    made_at: Place = NOWHERE
    is_empty: bool = True

    @named_arguments
    def script(self, *turns: Turn, repeat: bool = False) -> Route:
        """Add turns, with `repeat` in a loop; an invalid turn is a ScriptError here, not in the middle of a test."""
        if not isinstance(repeat, bool) or (repeat and not turns):
            raise ScriptError(f"{self}: repeat is {show(repeat)}. Pass True, after the turns to repeat.")
        made = (Repeated(turns),) if repeat else turns
        return self.add_turns(made, [[find_calling_place()]] * len(made))

    def add_turns(self, turns: Sequence[Turn], places: Sequence[Sequence[Place]]) -> Route:
        """Add turns that were scripted at these places; see `script`."""
        self.turns.extend([_read_turn(turn, self) for turn in turns])
        self.places.extend(places)
        self.is_empty = self.is_empty and not turns
        return self

    def unmet_conditions(self, request: Request, transcript: Transcript) -> list[tuple[str, Matcher, Any]]:
        """List the conditions that a request does not meet: name, wanted value, actual value."""
        wants = self.conditions.items()
        found = ((name, wanted, condition_value(request, transcript, name)) for name, wanted in wants)
        return [condition for condition in found if not self._is_met(*condition)]

    def _is_met(self, name: str, wanted: Matcher, actual: Any) -> bool:
        try:
            return is_match(name, wanted, actual)
        except BaseException as problem:
            raise_as_script_error(problem, f"{self}: the condition `{name}` raised ")

    def next(self, request: Request) -> list[TurnLine]:
        """Take the next turn and return its lines.

        A generator provides its next yield; once it returns, it provides no lines and is dropped.
        """
        turn = self.turns[0]
        if callable(turn) and inspect.isgeneratorfunction(turn):
            # The generator is called once, with the first request; it waits where it yields.
            turn = self.turns[0] = turn(_lend(request))
        if isinstance(turn, Repeated):
            turn = turn.turns[self.replayed % len(turn.turns)]
            self.replayed += 1
        elif not isinstance(turn, Iterator):
            self._drop_first()
        # A plain turn was read when it was scripted.
        lines = _as_lines(turn) if isinstance(turn, PLAIN) else self._run(turn, request)
        if not lines:
            self._drop_first()
            return lines
        self.taken += 1
        if isinstance(lines[0], Refusal):
            raise ScriptedRefusal(lines[0])
        return lines

    def _run(self, turn: Any, request: Request) -> list[TurnLine]:
        """Return the lines that a function or generator provides; none at the end of a generator."""
        if callable(turn):
            returned = self._call_user_code(turn, _lend(request))
        elif (returned := self._call_user_code(_resume_turns, turn, request)) is _EXHAUSTED:
            return []  # the script looks for the next turn, for the same request
        try:
            return parse_turn(returned, self)
        except ScriptError as problem:
            self.taken += 1
            raise ScriptError(str(problem), [f"  at {describe_code(turn)}, which returned it"]) from problem

    def _drop_first(self) -> None:
        self.turns.popleft()
        self.places.popleft()

    def _call_user_code(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function or generator of the user; what it raises becomes a ScriptError with its place and frames."""
        try:
            return function(*args)
        except BaseException as problem:
            raise_as_script_error(problem, f"{self}: a turn raised ")

    def has_begun(self, turn: Turn) -> bool:
        """Return whether a turn that plays several, such as a generator, has played one."""
        if isinstance(turn, Repeated):
            return self.replayed > 0
        return isinstance(turn, Iterator) and _is_started(turn)

    def __str__(self) -> str:
        return self.vocabulary.name_route(self.conditions)


_EXHAUSTED = object()


def _as_lines(turn: Any) -> list[TurnLine]:
    return turn if isinstance(turn, list) else [turn]


def _lend(request: Request) -> Request:
    """Copy a request, so that user code may change its body."""
    return request._replace(body=copy_body(request.body))


def _resume_turns(turn: Iterator[Any], request: Request) -> Any:
    try:
        return turn.send(_lend(request)) if _is_started(turn) else next(turn)
    except StopIteration:
        return _EXHAUSTED


def _is_started(turn: Iterator[Any]) -> TypeGuard[GeneratorType[Any, Any, Any]]:
    return isinstance(turn, GeneratorType) and turn.gi_suspended


def _read_turn(turn: Any, route: Route) -> Turn:
    """Parse a scripted value into lines, or return the code that will provide them."""
    if isinstance(turn, Repeated):
        for repeated in turn.turns:
            if isinstance(repeated, Iterator) or inspect.isgeneratorfunction(repeated):
                raise ScriptError(
                    f"{route}: {describe_code(repeated)} cannot be repeated. Use a loop in the generator."
                )
        return Repeated([_read_turn(repeated, route) for repeated in turn.turns])
    if inspect.iscoroutinefunction(turn) or inspect.isasyncgenfunction(turn):
        raise ScriptError(
            f"{route}: {describe_code(turn)} is async, so not a turn. Pass a plain function or generator."
        )
    if isinstance(turn, type):
        raise ScriptError(f"{route}: {turn.__name__} is a class, so not a turn. Pass an instance, or a function.")
    if isinstance(turn, Iterator) or (callable(turn) and not is_plain_line(turn)):
        code: Turn = turn
        return code
    lines = parse_turn(turn, route)
    return lines[0] if len(lines) == 1 else lines


def parse_turn(turn: Any, route: Route) -> list[TurnLine]:
    """Parse a turn into its lines: items, then an optional ending; ScriptError for anything else."""
    given = turn if isinstance(turn, list | tuple) else [turn]
    # A turn that is repeated a thousand times is checked only once.
    if len(given) == 1 and isinstance(only := given[0], Item) and route.validated_items.get(id(only)) is only:
        return [only]
    lines = [line for part in given for line in _parse_line(part, route)]
    if isinstance(lines[-1] if lines else None, Fault):
        return _parse_faulty_turn(lines, route)
    ending = lines[-1] if lines and isinstance(lines[-1], Ending) else None
    items = lines[:-1] if ending else lines
    if not items and not (ending and (ending.is_empty or ending.status != DEFAULT_ENDING.status)):
        raise ScriptError(
            f"{route}: {show(turn)} is an empty turn. Pass an item; for a response without output use empty(): "
            "`from harness.ending import empty`, in a file `empty:`."
        )
    if items and ending and ending.is_empty:
        raise ScriptError(f"{route}: empty() is a response without output. Remove it, or the items before it.")
    for item in items:
        if not isinstance(item, Item):
            raise ScriptError(f"{route}: {show(item)} {_NOT_LAST if isinstance(item, Ending) else _NO_TURN}")
        if route.validated_items.get(id(item)) is not item:
            _validate_item(item, route)
    return lines


def _parse_line(line: Any, route: Route) -> list[Any]:
    """Parse a string as a message, and plain data and objects of an SDK into lines; other lines stay unchanged."""
    if isinstance(line, str):
        return [message(line)]
    if not is_plain_line(line):
        return [line]
    try:
        return [*parse_lines(line)]
    except InvalidData as problem:
        raise ScriptError(f"{route}: {f'{problem.location}: ' if problem.location else ''}{problem}") from problem
    except ScriptError as problem:
        raise ScriptError(f"{route}: {problem}") from problem


def _parse_faulty_turn(lines: list[TurnLine], route: Route) -> list[TurnLine]:
    """Check a turn that ends with faults: a refusal must be alone, all others follow items."""
    if isinstance(lines[0], Refusal) and len(lines) == 1:
        return lines
    spoken = [line for line in lines if not isinstance(line, Fault)]
    faults = lines[len(spoken) :]
    if refusal := next((line for line in lines if isinstance(line, Refusal)), None):
        raise ScriptError(f"{route}: {show(refusal)} is an answer by itself. Make it a separate turn.")
    for line in faults:
        if isinstance(line, ResponseMembers) and (problem := check_response_members(line.members)):
            raise ScriptError(f"{route}: {problem}")
        if isinstance(line, ResponseMembers) and line.usage and split_ending(lines)[1].status == "failed":
            raise ScriptError(f"{route}: usage: a failed response has none. Leave it out, or end with incomplete().")
    if not all(isinstance(line, Fault) for line in faults):
        raise ScriptError(f"{route}: a fault must come last: cut([reasoning('…'), …], after=4).")
    return [*parse_turn(spoken, route), *faults]


_NOT_LAST = "is not the last line of its turn. Give it last: [message('Once'), incomplete()]."
_NO_TURN = (
    "is not a turn. Pass an item (message('hi'), function_call('f', {})), a text, a list of these, a function of the "
    "request that returns one of these, or a generator function that yields them."
)


def _validate_item(item: Item, route: Route) -> None:
    """Check an item against the API's schemas, once, when it is first scripted."""
    if finding := check_item(item):
        raise ScriptError(f"{route}: {item.type} is not valid output of the API: {finding.message}")
    if len(route.validated_items) >= MAX_VALIDATED:
        route.validated_items.clear()
    route.validated_items[id(item)] = item
