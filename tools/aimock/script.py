"""Converts fixtures to a script: each becomes a route; fixtures that differ only in their place become its turns.

As in aimock, the first fixture that matches a request answers it, every time, unless it has a `sequenceIndex`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

import harness.endpoints  # noqa: F401  (registers every item and ending)
from harness.core.bounded_input import read_bounded
from harness.core.errors import ConfigError, Malformed
from harness.core.exchange import Json
from harness.verify.recorded_script import ScriptForm, as_comments, write_form
from harness.world.scripting.document import parse_route
from harness.world.scripting.lines import indent, python_call, python_imports, python_turn, python_value
from harness.world.scripting.validation import InvalidData, errors_at
from tools.aimock.matchers import ConvertedMatch, convert_match, escape_pattern
from tools.aimock.turns import DELIVERY, Line, convert_turn

_MEMBERS = ("match", "response", "chaos", "metadata", *DELIVERY)
EVERY_REQUEST = {"model": "*"}
"""Conditions that every request meets, for a route without conditions that precedes other routes."""


@dataclass(frozen=True, slots=True)
class ImportedRoute:
    """Turns for requests that meet conditions; with `repeat` they start over at the end."""

    conditions: Json
    turns: Sequence[Sequence[Line]]
    repeat: bool


@dataclass(slots=True)
class ImportedScript:
    """The script of some fixtures: `routes` in the order in which they are tried.

    `left_out` are the fixtures that could not be converted, and `dropped` the parts of others that could not, each with
    its place and the reason.
    """

    routes: list[ImportedRoute] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)

    @property
    def document(self) -> Json:
        """The script in the form of a script file."""
        last = self.routes[-1] if self.routes and not self.routes[-1].conditions else None
        repeat = last.repeat if last else all(route.repeat for route in self.routes)
        when = [_write_route(route, repeat) for route in self.routes if route is not last]
        script = {"script": _write_turns(last.turns)} if last else {}
        return {**({"when": when} if when else {}), **script, **({"repeat": True} if repeat else {})}


def _write_route(route: ImportedRoute, repeat: bool) -> Json:
    own = {} if route.repeat == repeat else {"repeat": route.repeat}
    return {**(route.conditions or EVERY_REQUEST), "script": _write_turns(route.turns), **own}


def _write_turns(turns: Sequence[Sequence[Line]]) -> list[Any]:
    return [turn[0] if len(turn) == 1 else [*turn] for turn in turns]


@dataclass(frozen=True, slots=True)
class _Converted:
    """A converted fixture, with its place."""

    place: str
    match: ConvertedMatch
    lines: Sequence[Line]

    @property
    def index(self) -> int | None:
        return self.match.turn if self.match.sequence is None else self.match.sequence


def import_fixtures(paths: Sequence[Path]) -> ImportedScript:
    """Convert the fixtures in files, and in all JSON files of folders. ConfigError if none can be converted."""
    script, converted = ImportedScript(), list[_Converted]()
    files = [file for path in paths for file in _list_files(path)]
    for file in files:
        name = file.as_posix()
        try:
            fixtures = _read_fixtures(file)
        except Malformed as problem:
            script.left_out.append(f"{name}: {problem}")
            continue
        converted += _convert(script, name, fixtures)
    script.routes = _keep_case([*_make_routes(script, converted)])
    if not script.routes:
        shown = "\n  ".join(script.left_out)
        where = ", ".join(path.as_posix() for path in paths)
        raise ConfigError(
            f"no fixture could be converted:\n  {shown}"
            if shown
            else f'{where}: no fixtures found. Pass JSON files of aimock, {{"fixtures": […]}}, or folders of them.'
        )
    return script


def _keep_case(routes: Sequence[ImportedRoute]) -> list[ImportedRoute]:
    """Match strings case-sensitively, by a pattern, where ignoring case could match what another route is meant for."""
    texts: dict[str, list[str]] = {}
    for route in routes:
        for name, wanted in route.conditions.items():
            if isinstance(wanted, str):
                texts.setdefault(name, []).append(wanted)
    written = {name: "\n".join(wanted) for name, wanted in texts.items()}
    folded = {name: text.casefold() for name, text in written.items()}

    def keep(name: str, wanted: Any) -> Any:
        if not isinstance(wanted, str) or folded[name].count(wanted.casefold()) == written[name].count(wanted):
            return wanted
        return {"pattern": escape_pattern(wanted)}

    return [
        replace(route, conditions={name: keep(name, wanted) for name, wanted in route.conditions.items()})
        for route in routes
    ]


def _list_files(path: Path) -> Iterator[Path]:
    """List the files of a folder in aimock's order: its own by name, then those of its subfolders."""
    if not path.is_dir():
        yield path
        return
    inside = sorted(path.iterdir())
    yield from (file for file in inside if file.suffix == ".json" and not file.is_dir())
    for folder in inside:
        if folder.is_dir() and not folder.is_symlink():
            yield from _list_files(folder)


def _read_fixtures(file: Path) -> list[Any]:
    """Read the fixtures of a file. Malformed if it has none."""
    try:
        content = orjson.loads(read_bounded(file))
    except OSError as problem:
        raise Malformed(f"it cannot be read: {problem.strerror}. Pass the path of a file of fixtures.") from problem
    except orjson.JSONDecodeError as problem:
        raise Malformed(f"it is not JSON: {problem}. Pass a file of fixtures.") from problem
    fixtures = content.get("fixtures") if isinstance(content, dict) else None
    if not isinstance(fixtures, list):
        raise Malformed(
            'it has no list "fixtures". Pass a file of aimock, {"fixtures": [{"match": …, "response": …}]}.'
        )
    return fixtures


def _convert(script: ImportedScript, file: str, fixtures: Sequence[Any]) -> Iterator[_Converted]:
    """Convert each fixture of a file, and record those that cannot be converted, or only in part."""
    for index, fixture in enumerate(fixtures):
        place = f"{file}: fixtures[{index}]"
        try:
            with errors_at():
                if not isinstance(fixture, dict):
                    raise InvalidData("it is not an object. Add match and response.")
                match, turn = convert_match(fixture.get("match")), convert_turn(fixture)
            _try_turn(turn.lines)
        except InvalidData as problem:
            steps = f".{problem.location}" if problem.location else ""
            script.left_out.append(f"{place}{steps}: {problem}")
            continue
        unknown = [f"{name} is not played" for name in fixture if name not in _MEMBERS]
        script.dropped.extend(f"{place}: {loss}" for loss in (*turn.dropped, *unknown))
        yield _Converted(place, match, turn.lines)


def _try_turn(lines: Sequence[Line]) -> None:
    """Check that a script accepts such a turn. InvalidData at `response` if not."""
    with errors_at("response"):
        try:
            parse_route({"turns": _write_turns([lines])})
        except InvalidData as problem:
            raise InvalidData(str(problem)) from problem


def _make_routes(script: ImportedScript, converted: Sequence[_Converted]) -> Iterator[ImportedRoute]:
    """Build the routes, each in the place of its first fixture; fixtures that can never answer are recorded."""
    open_to_all = ""
    for group in _group(converted):
        first = group[0]
        # aimock tries its fixtures in order: after one that matches everything, no other is reached.
        if open_to_all:
            why = f"it never answers: {open_to_all} before it answers every request"
            script.left_out.extend(f"{member.place}: {why}. Move it up." for member in group)
            continue
        repeat = first.match.sequence is None
        turns = [member.lines for member in _in_order(script, group, has_gaps=repeat)]
        if not turns:
            continue
        if repeat and not first.match.conditions:
            open_to_all = first.place
        yield ImportedRoute(first.match.conditions, turns, repeat)


def _group(converted: Sequence[_Converted]) -> list[list[_Converted]]:
    """Group the fixtures that differ only in their place in a sequence or in a conversation."""
    groups: dict[bytes, list[_Converted]] = {}
    for fixture in converted:
        match = fixture.match
        kind = "turn" if match.sequence is None else f"sequence of turn {match.turn}"
        groups.setdefault(orjson.dumps([kind, match.conditions]), []).append(fixture)
    return [*groups.values()]


def _in_order(script: ImportedScript, group: Sequence[_Converted], has_gaps: bool) -> Iterator[_Converted]:
    """Yield the fixtures of a group in order, one for each place; a sequence ends at its first gap."""
    places: dict[int | None, _Converted] = {}
    for fixture in group:
        if fixture.index in places:
            why = f"it never answers: {places[fixture.index].place} has the same matchers"
            script.left_out.append(f"{fixture.place}: {why}. Change them, or remove it.")
        else:
            places[fixture.index] = fixture
    if has_gaps and None in places and 0 in places:
        why = f"it is not played: {places[0].place} with turnIndex 0 begins the conversation"
        script.left_out.append(f"{places.pop(None).place}: {why}. Remove one of them.")
    if has_gaps:
        yield from (places[index] for index in sorted(places, key=lambda index: -1 if index is None else index))
        return
    for number, index in enumerate(sorted(places, key=lambda index: index or 0)):
        if index == number:
            yield places[index]
        else:
            why = f"sequenceIndex {index} never comes: no fixture with the same matchers has {number}"
            script.left_out.append(f"{places[index].place}: {why}. Add it, or count from 0.")


def write_imported(script: ImportedScript, form: ScriptForm) -> str:
    """Render converted fixtures; in Python as a `setup(mock)`, whose lines also work inside a test."""
    told = [*(f"not converted: {why}" for why in script.left_out), *(f"not played: {why}" for why in script.dropped)]
    return write_form(script.document, as_comments(told), form, _python_routes(script.routes))


def _python_routes(routes: Sequence[ImportedRoute]) -> Iterator[str]:
    conditions = [wanted for route in routes for wanted in route.conditions.values()]
    if any(isinstance(wanted, dict) for wanted in conditions):
        yield from ("import re", "")
    yield from python_imports([turn for route in routes for turn in route.turns])
    yield from ("", "", "def setup(mock):")
    for number, route in enumerate(routes, 1):
        known = route.conditions or ({} if number == len(routes) else EVERY_REQUEST)
        found = [f"{name}={_condition(wanted)}" for name, wanted in known.items()]
        target = f"{python_call('mock.when', found)}.script" if found else "mock.script"
        turns = [python_turn(turn) for turn in route.turns]
        yield indent(python_call(target, [*turns, *(["repeat=True"] if route.repeat else [])]))


def _condition(wanted: Any) -> str:
    if not isinstance(wanted, dict):
        return python_value(wanted)
    pattern = wanted["pattern"]
    is_raw = not set('"\r\n').intersection(pattern) and not pattern.endswith("\\")
    return f're.compile(r"{pattern}")' if is_raw else f"re.compile({python_value(pattern)})"
