"""`responses-harness check`: checks script files and recordings before they are committed."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson
import typer

from harness.cassettes.format.har_and_vcr import parse_interactions
from harness.cassettes.format.untrusted import parse_yaml_documents
from harness.cassettes.scrubbing.leak_check import secrets_in
from harness.cli.program import ExitCode, Options, argument, print_text
from harness.core.bounded_input import explain_read_errors, read_bounded
from harness.core.errors import Malformed, ScriptError
from harness.core.secret_prefixes import TOKEN_PATTERN
from harness.explain.refusal import resolve_path
from harness.world.scripting.load import load_script_file

_IS_RECORDING = re.compile(r'^[ \t]*+(?:\{[ \t]*+)?"?(?:interactions|log|request)"?\s*+:', re.M)
"""Members that recordings have at the beginning of a line: of a cassette, of HAR, of a JSON line."""

_LINE = re.compile(r"line (\d+): what has")


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Options):
    """The options of `responses-harness check`."""

    files: list[Path] = argument(..., "Script files and recordings.", metavar="FILE")


def check(options: CheckOptions) -> None:
    """Check script files and recordings: scripts must be valid, recordings must not contain secrets.

    Files are distinguished by content; nothing is sent or written. Python script files are executed.
    """
    problems = [problem for file in options.files for problem in _find_problems(file)]
    for problem in problems:
        print_text(problem)
    if problems:
        raise typer.Exit(ExitCode.FOUND)
    print_text(f"{len(options.files)} checked")


def _find_problems(file: Path) -> Iterator[str]:
    """Yield what is wrong with a file, a line each; ConfigError if it cannot be read."""
    if file.suffix != ".py" and _is_recording(text := _read_text(file)):
        yield from _find_secrets(file, text)
        return
    try:
        load_script_file(file)
    except ScriptError as problem:
        yield str(problem)


def _is_recording(text: str) -> bool:
    """Return whether a text is a recording, by its first members or by the parser for the JSON of any recorder."""
    if _IS_RECORDING.search(text):
        return True
    try:
        return parse_interactions(orjson.loads(text)) is not None
    except (orjson.JSONDecodeError, Malformed):
        return False


def _read_text(file: Path) -> str:
    with explain_read_errors(str(file), "Pass script files and recordings."):
        return read_bounded(file).decode()


def _find_secrets(file: Path, text: str) -> Iterator[str]:
    """Yield the places of a recording that seem to hold a secret; JSON lines are searched one by one."""
    if file.suffix not in (".jsonl", ".ndjson"):
        yield from (f"{file}: {place}. Mask it, or record it again." for place in _name_once(text))
        return
    for number, line in enumerate(text.splitlines(), 1):
        yield from (f"{file}:{number}: {place}. Mask it, or record it again." for place in _name_once(line))


def _name_once(text: str) -> Iterator[str]:
    """Yield the places of secrets, and a line only if none of its secrets is at the place of a member."""
    places, lines, members = secrets_in(text), text.splitlines(), set[str]()
    with suppress(Malformed):
        for document in parse_yaml_documents(text):
            values = (str(resolve_path(document, place.partition(": ")[0])[1]) for place in places)
            members |= {token[0] for value in values for token in TOKEN_PATTERN.finditer(value)}
    for place in places:
        line = _LINE.match(place)
        tokens = {token[0] for token in TOKEN_PATTERN.finditer(lines[int(line[1]) - 1])} if line else set()
        if not tokens or not tokens <= members:
            yield place
