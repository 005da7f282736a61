"""The typer app, and what its commands share: options as dataclasses, exit codes, printing, progress, signals."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, dataclass, field, fields
from enum import IntEnum
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from harness.core.errors import COMMAND, DISTRIBUTION, ConfigError, HarnessError, add_section
from harness.core.registry import suggest_name
from harness.core.text import escape_controls
from harness.report.replace_file import WRITE_ERROR_FIXES, describe_write_error

if TYPE_CHECKING:
    from rich.console import Console


REDRAW_SECONDS = 0.1
"""The minimum time between two updates of a progress bar, in seconds."""
PIPED_WIDTH = 1 << 30
"""Columns if the output is not a terminal, so that no line is ever wrapped."""
WHOLE_SENTENCE = 1 << 10
"""Characters of a command's summary in the help: enough for its whole first sentence."""
_TRAILING_BLANKS = re.compile(r"[ \t]+$", re.M)


class ExitCode(IntEnum):
    """The exit codes of commands; the page "The command line" says when each command uses which.

    `responses-harness record -- COMMAND` and other runners exit with the code of their command, unless it is 0.
    """

    OK = 0
    """Done, and nothing was found."""
    FOUND = 1
    """Something was found, or a check failed."""
    NOTHING_JUDGED = 2
    """The command line or a file is wrong, or there was nothing to judge; one message on stderr says which."""
    INTERRUPTED = 130
    """Ctrl-C; not an error for `serve` and `record`, which run until then."""


@contextmanager
def exit_with_problem() -> Iterator[None]:
    """End the command with one message and ExitCode.NOTHING_JUDGED for a HarnessError or a full disk."""
    try:
        yield
    except HarnessError as problem:
        print_note(add_section(str(problem), problem.section))
        raise typer.Exit(ExitCode.NOTHING_JUDGED) from problem
    except OSError as problem:
        if problem.errno not in WRITE_ERROR_FIXES:
            raise
        why = f"{describe_write_error(problem)}. {WRITE_ERROR_FIXES[problem.errno]}, or set TMPDIR"
        said = f"{problem.filename or 'a temporary file'}: cannot be written: {why}."
        print_note(add_section(said, "options-and-files"))
        raise typer.Exit(ExitCode.NOTHING_JUDGED) from problem


class _CommandGroup(TyperGroup):
    """The commands of `responses-harness`."""

    def invoke(self, ctx: Any) -> Any:
        with exit_with_problem():
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands with whole sentences; the inherited method cuts them at the width of the terminal."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [
            (name, command.get_short_help_str(WHOLE_SENTENCE))
            for name, command in commands
            if command and not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class Command(TyperCommand):
    """A command of `responses-harness`; its help shows options by group, if they have one."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the arguments and options, a section for each group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            title = "Arguments" if parameter.param_type_name == "argument" else "Options"
            if record := parameter.get_help_record(ctx):
                groups.setdefault(getattr(parameter, "rich_help_panel", None) or title, []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line, without taking the next option for the value of one that lacks its own.

        A trailing `--` comes from a variable that is not set: `serve -- $COMMAND` would run forever.
        """
        if args[-1:] == ["--"]:
            raise typer.BadParameter("no COMMAND after --. Add one, or omit the --.", ctx=ctx)
        left = super().parse_args(ctx, args)
        names = {name for parameter in self.params for name in parameter.opts if name.startswith("-")}
        for parameter in self.params:
            if str(value := ctx.params.get(parameter.name)) in names:
                option = parameter.opts[0]
                raise typer.BadParameter(f"{option} needs a value, and {value} is an option.", ctx=ctx)
        return left


app = typer.Typer(
    cls=_CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A strict mock of the OpenAI Responses API, which refuses what the API refuses, word for word.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print_text(f"{DISTRIBUTION} {version(DISTRIBUTION)}")
        raise typer.Exit


@app.callback()
def harness(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the command itself."""


def require_known(what: str, name: str, all_known: Iterable[str], listing: str = "") -> str:
    """Return a known name.

    Otherwise raise ConfigError with the nearest one, and with the command `listing` them all.
    """
    names = list(dict.fromkeys(all_known))
    if name not in names:
        nearest = suggest_name(name, names)
        more = f" `{listing}` lists them." if listing and nearest.startswith("The nearest") else ""
        raise ConfigError(f"no {what} {name!r}. {nearest}{more}")
    return name


def check_test_file(file: Path | None) -> None:
    """Raise BadParameter for a file of `--write-test` that pytest would not read."""
    if file and file.suffix != ".py":
        raise typer.BadParameter(f"--write-test {file}: pytest reads files of Python. Pass a name like test_cases.py.")


def print_text(text: str, *, err: bool = False, newline: bool = True) -> None:
    """Print text with control characters escaped; all output of commands goes through here or `make_console`."""
    typer.echo(escape_controls(text), err=err, nl=newline)


def print_note(text: str) -> None:
    """Print a message on stderr, after the name of the command; a closed stderr is ignored."""
    with suppress(OSError):
        print_text(f"{COMMAND}: {text}", err=True)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print_text(json.dumps(value, ensure_ascii=False, indent=2))


class _TrimmedStream:
    """A stream for a file or pipe that drops trailing blanks, with which rich pads tables."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(_TRAILING_BLANKS.sub("", text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def make_console(stderr: bool = False) -> Console:
    """Make a console for stdout or stderr that prints text without markup, with control characters escaped.

    For a file or pipe it neither pads nor wraps.
    """
    from rich.console import Console
    from rich.text import Text

    class SafeConsole(Console):
        """A console that escapes all text before it is measured, wrapped and styled."""

        def render_str(self, text: str, **how: Any) -> Text:
            return super().render_str(escape_controls(text), **how)

    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return SafeConsole(stderr=stderr, highlight=False, markup=False, emoji=False)
    plain = cast("IO[str]", _TrimmedStream(stream))
    return SafeConsole(file=plain, width=PIPED_WIDTH, highlight=False, markup=False, emoji=False)


def print_rows(rows: Sequence[Mapping[str, str]], as_json: bool) -> None:
    """Print rows with the same members as a table, or as JSON."""
    from rich.table import Table

    if as_json:
        print_json(rows)
        return
    table = Table(*(rows[0] if rows else ()), box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row.values())
    make_console().print(table)


def print_page(title: str, doc: str, sections: Iterable[tuple[str, list[str]]]) -> None:
    """Print a rule or a loss as a page: title, documentation, and sections of lines."""
    from rich.padding import Padding

    console = make_console()
    console.print(f"{title}\n\n{doc}")
    for heading, lines in sections:
        console.print(f"\n{heading}", style="bold")
        for text in lines:
            if text.startswith(("{", "[")):  # JSON stays in one piece
                console.print(f"  {text}", soft_wrap=True)
            else:
                console.print(Padding(text, (0, 0, 0, 2), expand=False))


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function `(done, total)` that updates a progress bar on stderr, if that is a terminal.

    No thread draws the bar, since the work may fork.
    """
    from rich.progress import Progress

    if not sys.stderr.isatty():  # where older releases of rich print an empty line
        yield lambda done, total: None
        return
    console, drawn = make_console(stderr=True), [0.0]
    with Progress(console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task(what, total=None)

        def update(done: int, total: int) -> None:
            due = monotonic() - drawn[0] > REDRAW_SECONDS
            bar.update(task, completed=done, total=total, refresh=due)
            drawn[0] = monotonic() if due else drawn[0]

        yield update


@contextmanager
def call_on_signals(handle: Callable[[int], object]) -> Iterator[None]:
    """Call `handle` with the number of a SIGINT, SIGTERM or SIGHUP during a `with` block."""
    signals = [signal.SIGINT, signal.SIGTERM]
    hung_up = getattr(signal, "SIGHUP", None)
    if hung_up and signal.getsignal(hung_up) is not signal.SIG_IGN:  # ignored under nohup
        signals.append(hung_up)
    before = [signal.signal(caught, lambda number, _: handle(number)) for caught in signals]
    try:
        yield
    finally:
        for caught, handler in zip(signals, before, strict=True):
            signal.signal(caught, handler)


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a command: the fields that `option` and `argument` declare.

    Its `GROUPS`, if it has any, name the fields that the help shows below each title.
    """

    context: typer.Context | None = None

    @property
    def given(self) -> dict[str, str]:
        """The options on the command line by field, as they were written."""
        context = self.context
        if context is None:
            return {}
        written = {parameter.name: parameter for parameter in context.command.params if parameter.name}
        sources = {name: context.get_parameter_source(name) for name in written}
        return {
            name: parameter.opts[0]
            if parameter.param_type_name == "option"
            else str(getattr(parameter, "metavar", name)).rstrip(".")
            for name, parameter in written.items()
            if (source := sources[name]) is not None and source.name == "COMMANDLINE"
        }

    def refuse_others(self, taken: Collection[str], why: str) -> None:
        """Raise BadParameter, with the reason `why`, if any option but the `taken` ones is on the command line."""
        if others := [written for field, written in self.given.items() if field not in taken]:
            raise typer.BadParameter(f"{why}. Omit {', '.join(others)}.")


def option(default: Any, help_text: str, *names: str, **settings: Any) -> Any:
    """Declare a field as an option, named after the field unless names are given."""
    return field(default=default, metadata={"names": names, "make": partial(typer.Option, help=help_text, **settings)})


def argument(default: Any, help_text: str, **settings: Any) -> Any:
    """Declare a field as an argument, which is required if its default is `...`."""
    given = {} if default is ... else {"default": default}
    return field(**given, metadata={"names": (), "make": partial(typer.Argument, help=help_text, **settings)})


def completes(list_names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Make the completion of an option from a function that lists its values; it is called only if a shell asks."""
    return lambda incomplete: [name for name in list_names() if name.startswith(incomplete)]


def to_typer(command: Callable[..., None]) -> Callable[..., None]:
    """Turn a command, a function of its options, into a function with the parameters that typer reads.

    Arguments come first. Flags have no opposite: there is no `--no-json`.
    """
    made: type[Options] = next(iter(get_type_hints(command).values()))
    panels = {name: title for title, names in getattr(made, "GROUPS", {}).items() for name in names.split()}
    types, hints = get_type_hints(made), dict[str, Any]({"context": typer.Context})
    parameters = [Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)]
    declared = [member for member in fields(made) if member.metadata]
    for member in sorted(declared, key=lambda member: member.metadata["make"].func is typer.Option):
        kind, names = types[member.name], member.metadata["names"]
        if kind is bool and not names:
            names = (f"--{member.name.replace('_', '-')}",)
        panel = panels.get(member.name)
        hints[member.name] = Annotated[kind, member.metadata["make"](*names, rich_help_panel=panel)]
        default = Parameter.empty if member.default is MISSING else member.default
        parameters.append(
            Parameter(member.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[member.name])
        )

    def run(context: typer.Context, **values: Any) -> None:
        command(made(context=context, **values))

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = hints
    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    return run
