"""Script files: `responses-harness serve --script FILE` applies one to every new World.

A Python file defines `script` (a turn, a list of turns, or a function that answers every request), `routes =
[({"instructions": "planner"}, [turns…])]`, `repeat = True`, or `setup(mock)`, which can do to every new World what a
test does to `mock`. A YAML file says the same with the builders' names:

    script:
      - message: "Hello."
      - function_call: {name: get_weather, arguments: {city: Paris}}
      - [{reasoning: "…"}, {message: "…"}]
      - [{message: "Once upon"}, {incomplete: max_output_tokens}]
      - [{message: "Once upon"}, {cut: {after: 4}}]
    when:
      - instructions: planner
        script: [{message: "Ask ops."}]
    repeat: true
    organization: {models: [gpt-4.1]}

Every mistake is a ScriptError that begins with `file:line:`; see `harness.world.scripting.document` and
`harness.world.scripting.settings` for all keys.
"""

import ast
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.core.bounded_input import RAISE_ADVICE, read_bounded
from harness.core.errors import INTERRUPTS, NOWHERE, HarnessError, Malformed, Place, ScriptError
from harness.core.exchange import Request
from harness.core.registry import suggest_name
from harness.core.text import show
from harness.world.mock import Mock
from harness.world.route import CONDITIONS, Matcher, Repeated, Route, Turn
from harness.world.script import Script
from harness.world.scripting.document import YamlScript, add_route, parse_yaml_script
from harness.world.world import World


@dataclass(frozen=True, slots=True)
class PythonRoute:
    """One route of a file: turns, which a single function repeats; without `conditions` it answers any request."""

    conditions: Mapping[str, Matcher]
    turns: Sequence[Turn]
    repeat: bool = False
    at: str = ""
    places: Sequence[Place] = (NOWHERE,)

    def add_to(self, mock: Mock) -> None:
        """Add this route to a mock's script; an invalid route is a ScriptError with its place in the file."""
        last = len(self.places) - 1
        try:
            route = add_route(mock, self.conditions)
            if self.repeat:
                route.add_turns([Repeated(self.turns)], [self.places])
            else:
                route.add_turns(self.turns, [[self.places[min(index, last)]] for index in range(len(self.turns))])
        except ScriptError as problem:
            raise ScriptError(f"{self.at}: {str(problem).removeprefix('script: ')}") from problem


@dataclass(frozen=True, slots=True)
class PythonScript:
    """A Python file after it ran: `setup` and the routes, conditional routes first."""

    path: Path
    setup: Callable[[Mock], Any] | None
    routes: tuple[PythonRoute, ...]

    def apply(self, mock: Mock) -> None:
        """Apply the script to a mock."""
        if self.setup:
            with _locate_errors(self.path):
                self.setup(mock)
        for part in self.routes:
            part.add_to(mock)


def run_script_file(path: Path, text: str) -> PythonScript:
    """Run a file and take its definitions; an unusable one is a ScriptError with its line."""
    module = ModuleType(f"harness_script_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses in the file look up their annotations there
    try:
        code = compile(text, str(path), "exec")
    except (SyntaxError, ValueError) as problem:
        raise ScriptError(f"{path}:{getattr(problem, 'lineno', 1)}: {getattr(problem, 'msg', problem)}.") from problem
    with _locate_errors(path):
        exec(code, module.__dict__)
    return _build_script(path, ast.parse(text), module)


@contextmanager
def _locate_errors(path: Path) -> Iterator[None]:
    """Convert an error in the file's own code to a ScriptError with the last line of the file in its traceback."""
    try:
        yield
    except INTERRUPTS:
        raise
    except BaseException as problem:
        frames = traceback.extract_tb(problem.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), 1)
        message = str(problem) if isinstance(problem, HarnessError) else f"{type(problem).__name__}: {problem}"
        raise ScriptError(f"{path}:{line}: {message}") from problem


def _build_script(path: Path, tree: ast.Module, module: ModuleType) -> PythonScript:
    script, routes, setup = (getattr(module, name, None) for name in ("script", "routes", "setup"))
    if script is None and not routes and setup is None:
        raise ScriptError(
            f"{path}:1: nothing is scripted. Define `script = [message('…')]`, `routes = […]` or `def setup(mock):`."
        )
    at = f"{path}:{_find_line(tree, 'routes')}: routes"
    if not isinstance(routes or [], list | tuple):
        raise ScriptError(f"{at} is {show(routes)}. Pass a list of ({{condition: text}}, [turns]).")
    parts = [
        replace(_parse_route(f"{at}[{index}]", route), places=_find_places(path, tree, "routes", index, 1))
        for index, route in enumerate(routes or [])
    ]
    if script is not None:
        at = f"{path}:{_find_line(tree, 'script')}: script"
        parts.append(PythonRoute({}, *_parse_turns(at, script), at, _find_places(path, tree, "script")))
    repeat = getattr(module, "repeat", False)
    if not isinstance(repeat, bool):
        raise ScriptError(
            f"{path}:{_find_line(tree, 'repeat')}: repeat is {show(repeat)}. Pass True to play turns again."
        )
    parts = [replace(part, repeat=repeat or part.repeat) for part in parts]
    return PythonScript(path, _check_setup(f"{path}:{_find_line(tree, 'setup')}: setup", setup), tuple(parts))


def _check_setup(at: str, setup: Any) -> Callable[[Mock], Any] | None:
    if setup is None:
        return None
    if not callable(setup) or inspect.iscoroutinefunction(setup) or inspect.isgeneratorfunction(setup):
        raise ScriptError(f"{at} is {show(setup)}. Pass a plain function of the World: `def setup(mock):`.")
    try:
        inspect.signature(setup).bind(None)
    except TypeError as problem:
        raise ScriptError(f"{at} cannot be called with the World alone: {problem}. `def setup(mock):`") from problem
    function: Callable[[Mock], Any] = setup
    return function


def _find_line(tree: ast.Module, name: str) -> int:
    """Return the line that defines a top-level name; 1 if there is no plain definition."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
        if any(name in (getattr(target, "id", ""), getattr(target, "name", "")) for target in targets):
            return node.lineno
    return 1


def _find_places(path: Path, tree: ast.Module, name: str, *steps: int) -> list[Place]:
    """Return the places of a list's turns, following `steps` from a top-level name; else the name's own line."""
    line = _find_line(tree, name)
    values = (getattr(node, "value", None) for node in tree.body if node.lineno == line)
    node: ast.AST | None = next(values, None)
    for step in steps:
        parts = _written_parts(node)
        node = parts[step] if step < len(parts) else None
        line = getattr(node, "lineno", line)
    return [Place(str(path), part.lineno) for part in _written_parts(node)] or [Place(str(path), line)]


def _written_parts(node: ast.AST | None) -> Sequence[ast.expr]:
    """Return the elements of a list or tuple literal; none for anything else."""
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else ()
    return () if any(isinstance(part, ast.Starred) for part in parts) else parts


def _parse_route(at: str, route: Any) -> PythonRoute:
    if not isinstance(route, list | tuple) or len(route) != 2 or not isinstance(route[0], dict) or not route[0]:
        raise ScriptError(f"{at} is {show(route)}. Pass ({{'instructions': 'planner'}}, [turns]).")
    conditions, script = route
    for name in conditions:
        if name not in CONDITIONS:
            raise ScriptError(f"{at}: no condition {show(name)}. {suggest_name(name, CONDITIONS)}")
    return PythonRoute(conditions, *_parse_turns(at, script), at)


def _parse_turns(at: str, script: Any) -> tuple[list[Turn], bool]:
    """Return the turns of a Python file, one or a list of them, and whether they are a function for every request."""
    turns = script if isinstance(script, list) else [script]
    if not turns:
        raise ScriptError(f"{at} is empty. Add turns: [message('…')].")
    return [_check_turn(at, turn) for turn in turns], callable(script) and not inspect.isgeneratorfunction(script)


def _check_turn(at: str, turn: Any) -> Any:
    if isinstance(turn, Iterator):
        raise ScriptError(f"{at}: {show(turn)} is not a turn. Pass the function itself, not its result.")
    if isinstance(turn, list | tuple) and not turn:
        raise ScriptError(f"{at} has an empty turn. Add items: [message('…')].")
    try:
        Route({}).script(turn)
    except ScriptError as problem:
        raise ScriptError(f"{at}{str(problem).removeprefix('script')}") from problem
    return turn


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """A script file that was read and tried on a World."""

    script: PythonScript | YamlScript

    def apply(self, mock: Mock) -> None:
        """Apply the script to a mock; if that fails, each request for its model is answered with the reason."""
        try:
            self.script.apply(mock)
        except ScriptError as problem:
            mock.world.script = Script()
            PythonRoute({}, [_model_that_raises(problem)], repeat=True).add_to(mock)


def load_script_file(path: Path) -> ScriptFile:
    """Read a `.py`, `.yaml` or `.yml` file and try it; ScriptError with file and line if it is unusable."""
    readers: dict[str, Callable[[Path, str], PythonScript | YamlScript]] = {
        ".py": run_script_file,
        ".yaml": parse_yaml_script,
        ".yml": parse_yaml_script,
    }
    if path.suffix not in readers:
        raise ScriptError(f"{path}: not a script. The name of a script file ends in {', '.join(readers)}.")
    try:
        text = read_bounded(path, RAISE_ADVICE).decode()
    except (OSError, UnicodeDecodeError, Malformed) as problem:
        why = "it is not UTF-8" if isinstance(problem, UnicodeDecodeError) else getattr(problem, "strerror", problem)
        raise ScriptError(f"{path}: cannot be read: {why}. Pass the path of a script file.") from problem
    script = readers[path.suffix](path, text)
    script.apply(Mock(World("trial")))
    return ScriptFile(script)


def _model_that_raises(problem: ScriptError) -> Callable[[Request], Any]:
    def model(_: Request) -> Any:
        raise problem

    return model
