"""A script as plain data: what YAML files and the control plane say.

{"script": [turns…], "when": [{"instructions": "planner", "script": [turns…]}], "repeat": true, "citations": "delta"}

A turn is a line or a list of lines: items, then an ending, then faults. A line is an object of the wire,
`{"type": "message", …}`, or the name of a builder with its arguments, `{"message": "Hello."}`. `repeat` tells turns over
and over, those of all routes or of one. What else there is: `harness.world.scripting.settings`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import harness.items  # noqa: F401  (registers every kind)
from harness.core.errors import ScriptError
from harness.core.exchange import Json, Request
from harness.ending import TurnLine, line_from_wire
from harness.faults import NON_ITEM_LINES
from harness.items.kind import ITEMS
from harness.world.script import CONDITIONS, Matcher, Route, Turn, lines_of
from harness.world.scripting.settings import SETTINGS, Change
from harness.world.scripting.validation import FLAG, TEXT, TEXTS, Form, Misplaced, at, listed, members, plain
from harness.world.world import World

LINES: Mapping[str, Callable[..., TurnLine]] = {
    **{name: kind.builder for name, kind in ITEMS.items()},
    **NON_ITEM_LINES,
}
"""What a line may be, by the name of its builder."""
KEYS = ("script", "when", "repeat", *SETTINGS)


@dataclass(frozen=True, slots=True)
class Part:
    """Turns and the conditions under which they are said; without any they answer what no other route does."""

    conditions: Mapping[str, Matcher]
    turns: Sequence[Turn]

    def add_to(self, world: World) -> Route:
        """Script a World with it."""
        return route_of(world, self.conditions).script(*self.turns)


@dataclass(frozen=True, slots=True)
class Document:
    """A script that was read: what it changes, by the name of the setting, and what it says."""

    changes: Mapping[str, Change]
    parts: Sequence[Part]

    def apply(self, world: World) -> Json:
        """Script a World with all of it; returns how many turns wait on its routes, and what the settings made."""
        made = {}
        for name, change in self.changes.items():
            with at(name):
                made[name] = change(world)
        waiting = sum(len(part.add_to(world).turns) for part in self.parts)
        return {"turns": waiting, **{name: each for name, each in made.items() if each is not None}}


def route_of(world: World, conditions: Mapping[str, Matcher]) -> Route:
    """A new route of a World, or its script where there are no conditions."""
    return world.turns.when(dict(conditions)) if conditions else world.script()


def read(said: Any) -> Document:
    """A whole script; a mistake is a Misplaced."""
    own = members(said, "key", KEYS)
    if not own.keys() - {"repeat"}:
        raise Misplaced(f"nothing is scripted. Give `script:`, `when:` or a setting: {', '.join(SETTINGS)}.")
    changes = {}
    for name in SETTINGS:
        if name in own:
            with at(name):
                changes[name] = SETTINGS[name](plain(own[name]))
    repeat = _repeats(own)
    with at("when"):
        routes = listed(own["when"], "when") if "when" in own else []
        parts = [_route(index, each, repeat) for index, each in enumerate(routes)]
    if "script" in own:
        parts.append(Part({}, _turns("script", own, repeat)))
    return Document(changes, parts)


def read_route(said: Json) -> Document:
    """One route: `{"when": {"instructions": "planner"}, "turns": [turns…]}`; without `when` the script."""
    own = members(said, "key", ("turns", "when", "repeat"))
    with at("when"):
        conditions = _conditions({} if own.get("when") is None else own["when"])
    return Document({}, [Part(conditions, _turns("turns", own, False))])


def _route(index: int, said: Any, repeat: bool) -> Part:
    with at(index):
        own = members(said, "condition", (*CONDITIONS, "script", "repeat"))
        conditions = _conditions({name: own[name] for name in CONDITIONS if name in own})
        if not conditions or "script" not in own:
            raise Misplaced(f"a route has a condition ({', '.join(CONDITIONS)}) and a script. Give both.")
        return Part(conditions, _turns("script", own, repeat))


def _repeats(own: Json, otherwise: bool = False) -> bool:
    with at("repeat"):
        return bool(FLAG.check("repeat", own.get("repeat", otherwise)))


def _conditions(said: Any) -> dict[str, Matcher]:
    found = {}
    for name, wanted in members(plain(said), "condition", CONDITIONS).items():
        with at(name):
            found[name] = _wanted(name, wanted)
    return found


_NAMES = Form("a text, a list of names, or a pattern", lambda value: TEXT.fits(value) or TEXTS.fits(value))
_WORDS = Form("a text, or a pattern", TEXT.fits)


def _wanted(name: str, said: Any) -> Matcher:
    """What a condition looks for; `{"pattern": "…"}` is a regular expression."""
    if not isinstance(said, dict) or "pattern" not in said:
        wanted: Matcher = (_NAMES if name == "tools" else _WORDS).check(name, said)
        return wanted
    with at("pattern"):
        pattern = TEXT.check("pattern", members(said, "member", ("pattern",))["pattern"])
        try:
            return re.compile(pattern)
        except re.error as problem:
            raise Misplaced(f"pattern is {pattern!r}: {problem}. Give a regular expression.") from problem


def _turns(name: str, own: Json, repeat: bool) -> Sequence[Turn]:
    with at(name):
        turns = [_turn(index, turn) for index, turn in enumerate(listed(own[name], name))]
    return [_again(turns)] if _repeats(own, repeat) else turns


def _turn(index: int, said: Any) -> list[TurnLine]:
    with at(index):
        if isinstance(said, dict):
            return _judged([_line(said)])
        lines = []
        for place, each in enumerate(listed(said, "a turn")):
            with at(place):
                lines.append(_line(each))
        return _judged(lines)


def _judged(lines: list[TurnLine]) -> list[TurnLine]:
    route = Route({})
    try:
        return lines_of(lines, route)
    except ScriptError as problem:
        raise Misplaced(str(problem).removeprefix(f"{route}: ")) from problem


def _line(said: Any) -> TurnLine:
    if not isinstance(said, dict) or ("type" not in said and len(said) != 1):
        form = 'An item is one name with its arguments, `message: {text: …}`, or `{"type": "message", …}`.'
        raise Misplaced(f"{said!r} is no item. {form}")
    plain(said)
    if "type" in said:
        TEXT.check("type", said["type"])
        return line_from_wire(said, NON_ITEM_LINES)
    ((name, arguments),) = members(said, "item", LINES).items()
    with at(name):
        return _built(name, arguments)


def _built(name: str, said: Any) -> TurnLine:
    signature = inspect.signature(LINES[name])
    known = [each.name for each in signature.parameters.values() if each.kind is not each.VAR_POSITIONAL]
    named = members(said, f"{name} argument", known) if isinstance(said, dict) else {}
    alone = () if said is None or isinstance(said, dict) else (said,)
    try:
        bound = signature.bind(*alone, **named)
    except TypeError as problem:
        raise Misplaced(f"{name}: {problem}. Its arguments: {', '.join(known)}.") from problem
    return LINES[name](*bound.args, **bound.kwargs)


def _again(turns: list[list[TurnLine]]) -> Turn:
    """A turn that tells all these over and over."""

    def again(_: Request) -> Generator[list[TurnLine], Request, None]:
        # A generator takes the request that a Route sends in; cycle itself would not.
        yield from (turn for turn in cycle(turns))

    return again
