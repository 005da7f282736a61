"""Script files: what `harness serve --script FILE` makes every model say.

A Python file defines `script` (a turn, a list of turns, or a function that answers every request) and, if it likes,
`routes = [({"instructions": "planner"}, [turns…])]`. A YAML file says the same with the builders' names:

    script:
      - message: "Hello."
      - function_call: {name: get_weather, arguments: {city: Paris}}
      - [{reasoning: "…"}, {message: "…"}]
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
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import yaml

import harness.items  # noqa: F401  (registers every kind)
from harness.errors import HarnessError, ScriptError
from harness.exchange import Request
from harness.item import ITEMS, Item
from harness.script import CONDITIONS, Matcher, Route, Turn
from harness.world import World

Loaded = list[Turn] | FunctionType
"""Turns, or a function that answers every request."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one route of a file says; without `conditions` it answers any request."""

    conditions: dict[str, Matcher]
    turns: Loaded

    def add_to(self, world: World) -> None:
        """Script a World with it."""
        route = world.turns.when(dict(self.conditions)) if self.conditions else world.script()
        route.script(*(self.turns if isinstance(self.turns, list) else [_always(self.turns, route)]))


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
        raise ScriptError(f"{path}: a script is a file whose name ends in {', '.join(readers)}.")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8"
        raise ScriptError(f"{path}: cannot be read: {why}. Give --script the path of a script file.") from problem
    return readers[path.suffix](path, text)


def nearest(name: object, known: Collection[str]) -> str:
    """`Did you mean 'x'?`, or all names when none is near."""
    near = get_close_matches(str(name), known, 1)
    return f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."


# Python


def _python(path: Path, text: str) -> ScriptFile:
    module = ModuleType(f"harness_script_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except SyntaxError as problem:
        raise ScriptError(f"{path}:{problem.lineno}: {problem.msg}.") from problem
    except Exception as problem:
        raise _blamed(path, problem) from problem
    return _assembled(path, ast.parse(text), module)


def _blamed(path: Path, problem: Exception) -> ScriptError:
    """What the file's own code raised, with the last line of the file that it came through."""
    frames = traceback.extract_tb(problem.__traceback__)
    line = next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), 1)
    said = str(problem) if isinstance(problem, HarnessError) else f"{type(problem).__name__}: {problem}"
    return ScriptError(f"{path}:{line}: {said}")


def _assembled(path: Path, tree: ast.Module, module: ModuleType) -> ScriptFile:
    script, routes = getattr(module, "script", None), getattr(module, "routes", [])
    if script is None and not routes:
        raise ScriptError(f"{path}:1: the file says nothing. Define `script = [message('…')]` or `routes = […]`.")
    at = f"{path}:{_line(tree, 'routes')}"
    if not isinstance(routes, list | tuple):
        raise ScriptError(f"{at}: routes is {routes!r}. Give a list of ({{condition: text}}, [turns]).")
    parts = [_route(f"{at}: routes[{index}]", route, path) for index, route in enumerate(routes)]
    if script is not None:
        parts.append(Part({}, _turns(f"{path}:{_line(tree, 'script')}: script", script, path)))
    return ScriptFile(tuple(parts))


def _line(tree: ast.Module, name: str) -> int:
    """The line that defines a top-level name; 1 when none plainly does."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
            return node.lineno
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return node.lineno
    return 1


def _route(at: str, route: Any, path: Path) -> Part:
    if not isinstance(route, list | tuple) or len(route) != 2 or not isinstance(route[0], dict) or not route[0]:
        raise ScriptError(f"{at} is {route!r}. Give ({{'instructions': 'planner'}}, [turns]).")
    conditions, said = route
    for name in conditions:
        if name not in CONDITIONS:
            raise ScriptError(f"{at}: no condition {name!r}. {nearest(name, CONDITIONS)}")
    return Part(conditions, _turns(at, said, path))


def _turns(at: str, said: Any, path: Path) -> Loaded:
    """What a Python file calls a script: one turn, a list of them, or a function for every request."""
    if inspect.isfunction(said) and not inspect.isgeneratorfunction(said):
        return _plain(said, at, path)
    turns = list(said) if isinstance(said, list | tuple) else [said]
    if any(isinstance(turn, Iterator) for turn in turns):
        raise ScriptError(f"{at} holds a generator or iterator. Give the generator function itself, each key runs its own.")
    try:
        Route({}).script(*turns)
    except ScriptError as problem:
        raise ScriptError(f"{at}{str(problem).removeprefix('script')}") from problem
    if not turns or any(isinstance(turn, list | tuple) and not turn for turn in turns):
        raise ScriptError(f"{at} has an empty turn or none. Give items: message('…').")
    return [_plain(turn, at, path) if inspect.isfunction(turn) else turn for turn in turns]


def _plain(function: FunctionType, at: str, path: Path) -> FunctionType: ...
