"""A script as plain data, as in YAML files and on the control plane; in a file each mistake has its line.

{"script": [turns…], "when": [{"instructions": "planner", "script": [turns…]}], "repeat": true, "citations": "delta"}

A turn is a line or a list of lines: items, then an ending, then faults. A line is a string, `"Hello."`, an object of
the wire, `{"type": "message", …}`, or the name of a builder with its arguments, `{"message": "Hello."}`. `repeat` plays
turns in a loop, those of all routes or of one. For the other members see `harness.world.scripting.settings`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.core.advice_wording import JSON, render_json
from harness.core.bounded_input import MAX_NESTING, find_excess
from harness.core.delivery import Fault
from harness.core.errors import NOWHERE, Place, ScriptError
from harness.core.exchange import Json
from harness.core.json_values import pick, without_nulls
from harness.core.text import show
from harness.ending import Ending, TurnLine
from harness.faults import Refusal
from harness.items.kind import Item
from harness.world.mock import Mock
from harness.world.route import CONDITIONS, Matcher, Repeated, Route, Turn, parse_turn
from harness.world.scripting.lines import parse_lines
from harness.world.scripting.settings import SETTINGS, SettingChange
from harness.world.scripting.validation import (
    BOOLEAN,
    TEXT,
    TEXT_LIST,
    InvalidData,
    LocationStep,
    ValueForm,
    check_json,
    check_list,
    check_members,
    errors_at,
)

Locate = Callable[[Sequence[LocationStep]], Place]
"""Finds the place of a part of the document."""
DOCUMENT_KEYS = ("script", "when", "repeat", *SETTINGS)
ROUTE_KEYS = ("turns", "when", "repeat")
_TURN_FORMS = "Pass a text, an item (`message: {text: …}`), or a list of these, an ending and faults."


@dataclass(frozen=True, slots=True)
class ScriptedRoute:
    """Turns and the conditions of their route; without conditions they answer what no other route does.

    `path` leads to the list of turns in the document.
    """

    conditions: Mapping[str, Matcher]
    turns: Sequence[Turn]
    path: Sequence[LocationStep] = ()

    def add_to(self, mock: Mock, locate: Locate) -> Route:
        """Add the route to a mock's script."""
        places = [
            [locate((*self.path, index)) for index in range(len(turn.turns))]
            if isinstance(turn, Repeated)
            else [locate((*self.path, index))]
            for index, turn in enumerate(self.turns)
        ]
        return add_route(mock, self.conditions).add_turns(self.turns, places)


@dataclass(frozen=True, slots=True)
class ScriptDocument:
    """A parsed script: its changes by the name of the setting, and its routes."""

    changes: Mapping[str, SettingChange]
    routes: Sequence[ScriptedRoute]

    def apply(self, mock: Mock, locate: Locate = lambda _: NOWHERE) -> Json:
        """Apply everything to a mock; returns how many turns wait on the routes, and what the settings created."""
        made, known = {}, mock.world.routed
        for name, change in self.changes.items():
            with errors_at(name):
                made[name] = change(mock)
        for routed in mock.world.routed[: len(mock.world.routed) - len(known)]:
            routed.place = locate(("route", f"{routed.method} {routed.path}"))
        waiting = sum(len(part.add_to(mock, locate).turns) for part in self.routes)
        return {"turns": waiting, **without_nulls(made)}


def add_route(mock: Mock, conditions: Mapping[str, Matcher]) -> Route:
    """Add a route to a World, or return its script if there are no conditions."""
    return mock.world.script.when(dict(conditions)) if conditions else mock.script()


def parse_sent_script(value: Json) -> ScriptDocument:
    """Parse a script sent to the control plane: one route with its `turns`, or a whole script."""
    return parse_route(value) if "turns" in value else parse_document(value, more_keys=ROUTE_KEYS[:1])


def parse_document(value: Any, more_keys: Sequence[str] = ()) -> ScriptDocument:
    """Parse a whole script; InvalidData for a mistake. `more_keys` are keys of other forms, also named in errors."""
    if isinstance(value, dict) and "routes" in value:
        raise InvalidData("no key 'routes', which is Python's. Did you mean 'when'?")
    own = check_members(value, "key", (*DOCUMENT_KEYS, *more_keys))
    # `repeat` alone scripts nothing, and is more likely a slip than meant.
    if not own.keys() - {"repeat"}:
        raise InvalidData(f"nothing is scripted. Add `script:`, `when:` or a setting: {', '.join(SETTINGS)}.")
    changes = {}
    for name in SETTINGS:
        if name in own:
            with errors_at(name):
                changes[name] = SETTINGS[name](check_json(own[name]))
    repeat = _parse_repeat(own)
    with errors_at("when"):
        routes = check_list(own["when"], "when") if "when" in own else []
        parts = [_parse_route(index, route, repeat) for index, route in enumerate(routes)]
    if "script" in own:
        parts.append(ScriptedRoute({}, _parse_turns("script", own, repeat), ("script",)))
    return ScriptDocument(changes, parts)


def parse_route(value: Json) -> ScriptDocument:
    """Parse one route: `{"when": {"instructions": "planner"}, "turns": [turns…]}`; without `when` the script."""
    own = check_members(value, "key", ROUTE_KEYS)
    with errors_at("when"):
        conditions = _parse_conditions({} if own.get("when") is None else own["when"])
    return ScriptDocument({}, [ScriptedRoute(conditions, _parse_turns("turns", own, False), ("turns",))])


def _parse_route(index: int, value: Any, repeat: bool) -> ScriptedRoute:
    with errors_at(index):
        own = check_members(value, "condition", (*CONDITIONS, "script", "repeat"))
        conditions = _parse_conditions(pick(own, *CONDITIONS))
        if not conditions or "script" not in own:
            raise InvalidData(f"a route has a condition ({', '.join(CONDITIONS)}) and a script. Add both.")
        return ScriptedRoute(conditions, _parse_turns("script", own, repeat), ("when", index, "script"))


def _parse_repeat(own: Json, default: bool = False) -> bool:
    with errors_at("repeat"):
        return bool(BOOLEAN.check("repeat", own.get("repeat", default)))


def _parse_conditions(value: Any) -> dict[str, Matcher]:
    found = {}
    for name, wanted in check_members(check_json(value), "condition", CONDITIONS).items():
        with errors_at(name):
            found[name] = _parse_condition(name, wanted)
    return found


_NAMES_OR_PATTERN = ValueForm(
    "a text, a list of names, or a pattern", lambda value: TEXT.is_valid(value) or TEXT_LIST.is_valid(value)
)
_TEXT_OR_PATTERN = ValueForm("a text, or a pattern", TEXT.is_valid)


def _parse_condition(name: str, value: Any) -> Matcher:
    """Parse the wanted value of a condition; `{"pattern": "…"}` is a regular expression."""
    if not isinstance(value, dict) or "pattern" not in value:
        wanted: Matcher = (_NAMES_OR_PATTERN if name == "tools" else _TEXT_OR_PATTERN).check(name, value)
        return wanted
    with errors_at("pattern"):
        pattern = TEXT.check("pattern", check_members(value, "member", ("pattern",))["pattern"])
        try:
            return re.compile(pattern)
        except re.error as problem:
            raise InvalidData(f"pattern is {render_json(pattern)}: {problem}. Use a regular expression.") from problem


def _parse_turns(name: str, own: Json, repeat: bool) -> Sequence[Turn]:
    with errors_at(name):
        turns = [_parse_turn(index, turn) for index, turn in enumerate(check_list(own[name], name))]
    return [Repeated(turns)] if _parse_repeat(own, repeat) else turns


def _parse_turn(index: int, value: Any) -> list[TurnLine]:
    with errors_at(index):
        if isinstance(value, dict | str):
            return _validate_lines(parse_lines(value))
        if not isinstance(value, list) or not value:
            raise InvalidData(f"{render_json(value)} is not a turn. {_TURN_FORMS}")
        lines: list[TurnLine] = []
        for place, line in enumerate(value):
            with errors_at(place):
                lines += parse_lines(line)
        return _validate_lines(lines)


_LINE_ORDER = (Item, Ending, Fault)
_ORDER = 'A turn is items, then an ending, then faults: [{"message": "Once"}, {"cut": {"after": 4}}].'
_REFUSAL_ALONE = "An error such as `rate_limit` is an answer by itself. Make it a separate turn."


def _validate_lines(lines: list[TurnLine]) -> list[TurnLine]:
    ranks = [next(rank for rank, kind in enumerate(_LINE_ORDER) if isinstance(line, kind)) for line in lines]
    if ranks != sorted(ranks) or ranks.count(1) > 1:
        raise InvalidData(_ORDER)
    if len(lines) > 1 and any(isinstance(line, Refusal) for line in lines):
        raise InvalidData(_REFUSAL_ALONE)
    route = Route({}, vocabulary=JSON)
    try:
        return parse_turn(lines, route)
    except ScriptError as problem:
        raise InvalidData(str(problem).removeprefix(f"{route}: ")) from problem


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _ScriptLoader(_Loader):  # type: ignore[misc]
    """Loads YAML with JSON's types only: a date stays a string."""


_ScriptLoader.add_constructor("tag:yaml.org,2002:timestamp", yaml.SafeLoader.construct_scalar)


@dataclass(frozen=True, slots=True)
class YamlScript:
    """A parsed YAML file; `node` provides the line numbers."""

    path: Path
    node: yaml.Node
    document: ScriptDocument

    def apply(self, mock: Mock) -> None:
        """Apply the script to a mock."""
        with locate_errors(self.path, self.node):
            self.document.apply(mock, lambda at: Place(str(self.path), find_line(self.node, at)))


def parse_yaml_script(path: Path, text: str) -> YamlScript:
    """Parse the text of a file; ScriptError with the line if something is unusable."""
    node, value = load_yaml(path, text)
    with locate_errors(path, node):
        return YamlScript(path, node, parse_document(value))


def parse_yaml_turns(text: str) -> Sequence[Turn]:
    """Parse a list of turns, or one turn that is not a list, as if below `script:`.

    ScriptError with the line if something is unusable.
    """
    path = Path("turns")
    node, value = load_yaml(path, text)
    with locate_errors(path, node, below=1):
        return parse_document({"script": value if isinstance(value, list) else [value]}).routes[0].turns


def load_yaml(path: Path | str, text: str, start: str = "`script:` and a list of items") -> tuple[yaml.Node, Any]:
    """Load plain data with its node; ScriptError with the line if the text is unusable, and for what an empty file lacks."""
    try:
        loader = _ScriptLoader(text)
        if (node := loader.get_single_node()) is None:
            raise ScriptError(f"{path}:1: the file is empty. Begin with {start}.")
        if excess := find_excess(node):
            line, problem = excess
            raise ScriptError(f"{path}:{line}: {problem}.")
        # YAML would silently take the last of two equal keys.
        for key in _duplicate_keys(node, set()):
            raise ScriptError(f"{path}:{key.start_mark.line + 1}: key {show(key.value)} is set twice. Remove one.")
        return node, loader.construct_object(node, deep=True)
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 1
        raise ScriptError(f"{path}:{line}: {problem.problem}.") from problem
    except RecursionError:
        raise ScriptError(f"{path}:1: nested more than {MAX_NESTING} levels deep.") from None
    except (yaml.YAMLError, ValueError) as problem:
        raise ScriptError(f"{path}:1: {str(problem).splitlines()[0]}.") from problem


@contextmanager
def locate_errors(path: Path | str, node: yaml.Node, below: int = 0) -> Iterator[None]:
    """Convert a mistake at a location in the document to an error with the line of the file.

    The file's content is nested `below` that many steps in the document.
    """
    try:
        yield
    except InvalidData as problem:
        raise ScriptError(f"{path}:{find_line(node, problem.path[below:])}: {problem}") from problem


def _duplicate_keys(node: yaml.Node, seen: set[int]) -> Iterator[yaml.Node]:
    """Yield the later of two equal keys, in mappings at any depth."""
    if id(node) in seen or isinstance(node, yaml.ScalarNode):
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        known = set[tuple[str, str]]()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in known:
                    yield key
                known.add((key.tag, key.value))
    for child in node.value:
        for part in child if isinstance(child, tuple) else (child,):
            yield from _duplicate_keys(part, seen)


def find_line(node: yaml.Node, at: Sequence[LocationStep]) -> int:
    """Return the line of a location; for a member the line of its name.

    If the document is not that deep, it is the line of the deepest step that exists.
    """
    line = node.start_mark.line + 1
    for step in at:
        mark, found = _find_child(node, step)
        if found is None:
            break
        line, node = mark.start_mark.line + 1, found
    return line


def _find_child(node: yaml.Node, step: LocationStep) -> tuple[yaml.Node, yaml.Node | None]:
    """Return the node that marks the line of a step (the name of a member, or the entry itself), and the child."""
    if isinstance(node, yaml.MappingNode):
        named = (pair for pair in reversed(node.value) if pair[0].value == str(step))
        key, value = next(named, (node, None))
        return key, value
    inside = node.value[step] if isinstance(node, yaml.SequenceNode) and isinstance(step, int) else None
    return inside or node, inside
