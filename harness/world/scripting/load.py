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

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.core.bounded_input import RAISE_ADVICE, read_bounded
from harness.core.errors import Malformed, ScriptError
from harness.core.exchange import Request
from harness.world.mock import Mock
from harness.world.script import Script
from harness.world.scripting.python_file import PythonRoute, PythonScript, run_script_file
from harness.world.scripting.yaml_file import YamlScript, parse_yaml_script
from harness.world.world import World


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
            PythonRoute({}, _model_that_raises(problem)).add_to(mock)


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
