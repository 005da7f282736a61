"""Programs in Go and Java, by plain HTTP, as the command of `responses-harness serve -- COMMAND`."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.support.processes import run
from tests.support.texts.pages import fenced

pytestmark = pytest.mark.slow
PROGRAMS = Path(__file__).parent / "programs"
PAGE = Path(__file__).parents[2] / "docs/cookbook/other-languages.md"
SCRIPT = next(block.text for block in fenced(PAGE) if block.language == "yaml")
COMMANDS = {
    "go": ["go", "run", str(PROGRAMS / "weather.go")],
    "java": ["java", str(PROGRAMS / "Weather.java")],
}


@pytest.fixture(params=COMMANDS)
def command(request: pytest.FixtureRequest) -> list[str]:
    command = COMMANDS[request.param]
    if not shutil.which(command[0]):
        pytest.skip(f"there is no {command[0]} here")
    return command


def serve(folder: Path, script: str, command: list[str]) -> tuple[int, str, str]:
    """Return what the command printed, what the mock says of it, and the exit code."""
    (folder / "weather.yaml").write_text(script, encoding="utf-8")
    serve = [sys.executable, "-m", "harness", "serve", "--script", str(folder / "weather.yaml"), "--", *command]
    done = run(serve, timeout=100)
    return done.returncode, done.stdout, done.stderr


def test_a_loop_with_a_tool_and_a_stream(command: list[str], tmp_path: Path) -> None:
    code, printed, told = serve(tmp_path, SCRIPT, command)
    assert (code, printed) == (0, "It is 18 degrees in Paris.\n"), told
    assert told == "responses-harness: 2 requests, nothing is wrong\n"


def test_an_unused_turn_is_reported(command: list[str], tmp_path: Path) -> None:
    code, printed, told = serve(tmp_path, f'{SCRIPT}  - message: "Anything else?"\n', command)
    assert (code, printed) == (1, "It is 18 degrees in Paris.\n"), told
    assert '1 turn of the script was never used.\n  where   script: message "Anything else?"' in told


def test_an_error_ends_the_program(command: list[str], tmp_path: Path) -> None:
    code, printed, told = serve(tmp_path, "script: [{http_error: {status: 429, message: Slow down.}}]", command)
    assert (code, printed) == (1, ""), told
    assert "429" in told
    assert "Slow down." in told
