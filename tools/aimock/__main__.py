"""`python -m tools.aimock PATH…`: converts the fixtures of aimock into a script."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from harness.cli.program import Options, argument, option, print_note, print_text
from harness.core.errors import ConfigError
from harness.core.registry import suggest_name
from harness.verify.recorded_script import SCRIPT_FORMS, ScriptForm
from tools.aimock.script import import_fixtures, write_imported
from tools.program import make_program

FORMS_BY_SUFFIX = {".yaml": "yaml", ".yml": "yaml", ".py": "python"}
"""The form of a script file by its suffix."""


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(Options):
    """The options of the command."""

    paths: list[Path] = argument(..., "Fixture files of aimock, or folders of them.", metavar="PATH")
    to: str = option("", "python, yaml or json (default: by the suffix of FILE, else yaml).", metavar="FORM")
    output: Path | None = option(None, "The file to write; must not exist.", "--output", "-o", metavar="FILE")


def convert(options: ConvertOptions) -> None:
    """Convert aimock fixtures to a script: each becomes a route with its turns.

    Features without an equivalent are listed on stderr, with file, place and reason. They are not failures: the command
    exits with 2 only if nothing could be converted or written.
    """
    output = options.output
    form = _find_form(options.to, output)
    if output and output.exists():
        raise ConfigError(f"{output.as_posix()}: already exists. Remove it, or choose another name.")
    script = import_fixtures(options.paths)
    text = write_imported(script, form)
    if output:
        try:
            output.write_text(f"{text}\n", encoding="utf-8", newline="\n")
        except OSError as problem:
            raise ConfigError(f"{output.as_posix()}: cannot be written: {problem.strerror}.") from problem
    else:
        print_text(text)
    for why in script.left_out:
        print_note(f"not converted: {why}")
    for why in script.dropped:
        print_note(f"not played: {why}")
    turns = sum(len(route.turns) for route in script.routes)
    where = f", written to {output.as_posix()}" if output else ""
    print_note(f"{turns} converted, {len(script.left_out)} not{where}")


def _find_form(to: str, output: Path | None) -> ScriptForm:
    """Return the form of a script by its option and its file name; ConfigError if they contradict each other."""
    by_name = FORMS_BY_SUFFIX.get(output.suffix) if output else None
    if to and to not in SCRIPT_FORMS:
        raise ConfigError(f"--to {to}: {suggest_name(to, SCRIPT_FORMS)}")
    if to and by_name and to != by_name:
        raise ConfigError(f"--to {to}: a file {output.name if output else ''} holds {by_name}. Omit --to.")
    return cast("ScriptForm", to or by_name or "yaml")


app = make_program(convert)

if __name__ == "__main__":
    app()
