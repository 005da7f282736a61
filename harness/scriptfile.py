"""Script files: what `harness serve --script FILE` makes every model say.

A Python file defines `script` (a turn, a list of turns, or a function that answers every request) and, if it likes,
`routes = [({"instructions": "planner"}, [turns…])]`. A YAML file says the same with the builders' names:

    script:
      - message: "Hello."
      - function_call: {name: get_weather, arguments: {city: Paris}}
      - [{reasoning: "…"}, {message: "…"}]
      - [{message: "Once upon"}, {incomplete: max_output_tokens}]
    when:
      - instructions: planner
        script: [{message: "Ask ops."}]
    repeat: true

Every mistake is a ScriptError that begins with `file:line:`.
"""

from __future__ import annotations

import ast
import inspect
import sys
import traceback
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import cycle
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

import harness.items  # noqa: F401  (registers every kind)
from harness.ending import ENDINGS, Line
from harness.errors import HarnessError, ScriptError
from harness.exchange import Request
from harness.item import ITEMS
from harness.script import CONDITIONS, Matcher, Route, Turn
from harness.world import World

Model = Callable[[Request], Any]
"""A function that answers every request with a turn."""

LINES: Mapping[str, Callable[..., Line]] = {**{name: kind.builder for name, kind in ITEMS.items()}, **ENDINGS}
"""What a line of a YAML script may be, by name."""

TIMESTAMP = "tag:yaml.org,2002:timestamp"


@dataclass(frozen=True, slots=True)
class Part:
    """What one route of a file says: turns, or a function; without `conditions` it answers any request."""

    conditions: dict[str, Matcher]
    said: list[Turn] | Model

    def add_to(self, world: World) -> None:
        """Script a World with it."""
        route = world.turns.when(dict(self.conditions)) if self.conditions else world.script()
        route.script(*(self.said if isinstance(self.said, list) else [_always(self.said, route)]))


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """A script file that was read: its parts, the conditional ones first."""

    parts: tuple[Part, ...]

    def apply(self, world: World) -> None:
        """Script a World with all of it."""
        for part in self.parts:
            part.add_to(world)


def load(path: Path) -> ScriptFile:
    """Read a `.py`, `.yaml` or `.yml` file; what cannot be used in it is a ScriptError with file and line."""
    readers: dict[str, Callable[[Path, str], ScriptFile]] = {".py": _python, ".yaml": _yaml, ".yml": _yaml}
    if path.suffix not in readers:
        raise ScriptError(f"{path}: not a script. The name of a script file ends in {', '.join(readers)}.")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8"
        raise ScriptError(f"{path}: cannot be read: {why}. Give the path of a script file.") from problem
    return readers[path.suffix](path, text)


def nearest(name: object, known: Collection[str]) -> str:
    """`Did you mean 'x'?`, or all names when none is near."""
    near = get_close_matches(str(name), known, 1)
    return f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."


def _always(model: Model, route: Route) -> Model:
    """A turn that is never spent: the function answers request after request, also after it has failed once."""

    def always(request: Request) -> Generator[Any, Request, None]:
        try:
            while True:
                request = yield model(request)
        except ScriptError:
            route.script(always)
            raise

    return always


def _again(turns: list[list[Line]]) -> Model:
    """A turn that tells all these over and over."""

    def again(_: Request) -> Generator[list[Line], Request, None]:
        # A generator takes the request that a Route sends in; cycle itself would not.
        yield from (turn for turn in cycle(turns))

    return again


# Python


def _python(path: Path, text: str) -> ScriptFile:
    module = ModuleType(f"harness_script_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        code = compile(text, str(path), "exec")
    except (SyntaxError, ValueError) as problem:
        raise ScriptError(f"{path}:{getattr(problem, 'lineno', 1)}: {getattr(problem, 'msg', problem)}.") from problem
    with _blaming(path):
        exec(code, module.__dict__)
    return _assembled(path, ast.parse(text), module)


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """What the file's own code raises becomes a ScriptError with the last line of the file that it came through."""
    try:
        yield
    except Exception as problem:
        frames = traceback.extract_tb(problem.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), 1)
        said = str(problem) if isinstance(problem, HarnessError) else f"{type(problem).__name__}: {problem}"
        raise ScriptError(f"{path}:{line}: {said}") from problem


def _assembled(path: Path, tree: ast.Module, module: ModuleType) -> ScriptFile:
    script, routes = getattr(module, "script", None), getattr(module, "routes", [])
    if script is None and not routes:
        raise ScriptError(f"{path}:1: nothing is scripted. Define `script = [message('…')]` or `routes = […]`.")
    at = f"{path}:{_line(tree, 'routes')}: routes"
    if not isinstance(routes, list | tuple):
        raise ScriptError(f"{at} is {routes!r}. Give a list of ({{condition: text}}, [turns]).")
    parts = [_route(f"{at}[{index}]", route, path) for index, route in enumerate(routes)]
    if script is not None:
        parts.append(Part({}, _said(f"{path}:{_line(tree, 'script')}: script", script, path)))
    return ScriptFile(tuple(parts))


def _line(tree: ast.Module, name: str) -> int:
    """The line that defines a top-level name; 1 when none plainly does."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
        if any(name in (getattr(target, "id", ""), getattr(target, "name", "")) for target in targets):
            return node.lineno
    return 1


def _route(at: str, route: Any, path: Path) -> Part:
    if not isinstance(route, list | tuple) or len(route) != 2 or not isinstance(route[0], dict) or not route[0]:
        raise ScriptError(f"{at} is {route!r}. Give ({{'instructions': 'planner'}}, [turns]).")
    conditions, said = route
    for name in conditions:
        if name not in CONDITIONS:
            raise ScriptError(f"{at}: no condition {name!r}. {nearest(name, CONDITIONS)}")
    return Part(conditions, _said(at, said, path))


def _said(at: str, said: Any, path: Path) -> list[Turn] | Model:
    """What a Python file gives as a script: one turn, a list of them, or a function for every request."""
    turns = said if isinstance(said, list) else [said]
    if not turns:
        raise ScriptError(f"{at} is empty. Give turns: [message('…')].")
    guarded = [_guarded(at, turn, path) for turn in turns]
    if callable(said) and not inspect.isgeneratorfunction(said):
        return guarded[0]  # type: ignore[no-any-return]
    return guarded


def _guarded(at: str, turn: Any, path: Path) -> Any:
    """A turn that was looked at; a function is wrapped, so that what it raises names the file and line."""
    if isinstance(turn, Iterator) or inspect.iscoroutinefunction(turn) or inspect.isasyncgenfunction(turn):
        raise ScriptError(
            f"{at}: {turn!r} is not a turn. Give the function itself, not what it returns, and no async one."
        )
    if inspect.isgeneratorfunction(turn):
        return _guarded_generator(turn, path)
    if callable(turn):
        return _guarded_function(at, turn, path)
    if turn in ([], ()):
        raise ScriptError(f"{at} holds an empty turn. Give items: [message('…')].")
    try:
        Route({}).script(turn)
    except ScriptError as problem:
        raise ScriptError(f"{at}{str(problem).removeprefix('script')}") from problem
    return turn


def _guarded_generator(turn: Model, path: Path) -> Model:
    def guarded(request: Request) -> Generator[Any, Request, None]:
        with _blaming(path):
            yield from turn(request)

    return guarded


def _guarded_function(at: str, turn: Model, path: Path) -> Model:
    def guarded(request: Request) -> Any:
        with _blaming(path):
            said = turn(request)
        if said == []:
            raise ScriptError(f"{at}: the function returned no item. Return an item or a list of items.")
        return said

    return guarded


# YAML


class _Loader(yaml.SafeLoader):
    """YAML with the values that JSON has: a date stays a text."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [pair for pair in pairs if pair[0] != TIMESTAMP]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _yaml(path: Path, text: str) -> ScriptFile:
    try:
        loader = _Loader(text)
        return _Document(path, loader).read(loader.get_single_node())
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 1
        raise ScriptError(f"{path}:{line}: {problem.problem}.") from problem
    except yaml.YAMLError as problem:
        raise ScriptError(f"{path}:1: {str(problem).splitlines()[0]}.") from problem


@dataclass(frozen=True, slots=True)
class _Document:
    """A YAML document, read node by node so that every mistake has its line."""

    path: Path
    loader: _Loader

    def wrong(self, node: yaml.Node, text: str) -> ScriptError:
        return ScriptError(f"{self.path}:{node.start_mark.line + 1}: {text}")

    def value(self, node: yaml.Node) -> Any:
        return self.loader.construct_object(node, deep=True)

    def read(self, node: yaml.Node | None) -> ScriptFile:
        if node is None:
            raise ScriptError(f"{self.path}:1: the file is empty. Begin with `script:` and a list of items.")
        members = self.members(node, "key", ("script", "when", "repeat"))
        if "script" not in members and "when" not in members:
            raise self.wrong(node, "nothing is scripted. Give `script:` or `when:`.")
        repeat = self.value(members["repeat"]) if "repeat" in members else False
        if not isinstance(repeat, bool):
            raise self.wrong(members["repeat"], f"repeat is {repeat!r}. It is true or false.")
        parts = [self.route(route, repeat) for route in self.listed(members.get("when"), "when")]
        if "script" in members:
            parts.append(Part({}, self.turns(members["script"], repeat)))
        return ScriptFile(tuple(parts))

    def members(self, node: yaml.Node, what: str, known: Collection[str]) -> dict[str, yaml.Node]:
        """The members of a mapping by name, each known and given once."""
        if not isinstance(node, yaml.MappingNode):
            raise self.wrong(node, f"{self.value(node)!r} stands where names are expected: {', '.join(known)}.")
        self.loader.flatten_mapping(node)
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = str(key.value)
            if name not in known:
                raise self.wrong(key, f"no {what} {name!r}. {nearest(name, known)}")
            if name in found:
                raise self.wrong(key, f"{what} {name!r} is given twice. Remove one.")
            found[name] = value
        return found

    def listed(self, node: yaml.Node | None, what: str) -> list[yaml.Node]:
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            raise self.wrong(node, f"{what} is {self.value(node)!r}. Give a list with at least one entry.")
        return list(node.value)

    def route(self, node: yaml.Node, repeat: bool) -> Part:
        members = self.members(node, "condition", (*CONDITIONS, "script"))
        conditions = {name: self.wanted(name, members[name]) for name in members if name != "script"}
        if not conditions or "script" not in members:
            raise self.wrong(node, f"a route has a condition ({', '.join(CONDITIONS)}) and a script. Give both.")
        return Part(conditions, self.turns(members["script"], repeat))

    def wanted(self, name: str, node: yaml.Node) -> Matcher:
        wanted = self.value(node)
        names = name == "tools" and isinstance(wanted, list) and all(isinstance(tool, str) for tool in wanted)
        if not names and not isinstance(wanted, str):
            form = "a text or a list of names" if name == "tools" else "a text"
            raise self.wrong(node, f"{name} is {wanted!r}. Give {form}.")
        return wanted  # type: ignore[no-any-return]

    def turns(self, node: yaml.Node, repeat: bool) -> list[Turn]:
        turns = [self.turn(entry) for entry in self.listed(node, "script")]
        return [_again(turns)] if repeat else list(turns)

    def turn(self, node: yaml.Node) -> list[Line]:
        alone = isinstance(node, yaml.MappingNode)
        return [self.line(entry) for entry in ([node] if alone else self.listed(node, "a turn"))]

    def line(self, node: yaml.Node) -> Line:
        if not isinstance(node, yaml.MappingNode) or len(node.value) != 1:
            form = "An item is one name with its arguments: `message: {text: …}`."
            raise self.wrong(node, f"{self.value(node)!r} is no item. {form}")
        ((name, said),) = self.members(node, "item", LINES).items()
        return self.built(name, said)

    def built(self, name: str, node: yaml.Node) -> Line:
        builder = LINES[name]
        signature = inspect.signature(builder)
        known = [each.name for each in signature.parameters.values() if each.kind is not each.VAR_POSITIONAL]
        if isinstance(node, yaml.MappingNode):
            self.members(node, f"{name} argument", known)
        said = self.value(node)
        named, alone = (said, ()) if isinstance(said, dict) else ({}, () if said is None else (said,))
        try:
            bound = signature.bind(*alone, **named)
        except TypeError as problem:
            raise self.wrong(node, f"{name}: {problem}. Its arguments: {', '.join(known)}.") from problem
        try:
            return builder(*bound.args, **bound.kwargs)
        except ScriptError as problem:
            raise self.wrong(node, str(problem)) from problem
