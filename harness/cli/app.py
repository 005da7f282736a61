"""The typer app that the commands register with, and how they print."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from harness.core.errors import ConfigError, HarnessError
from harness.core.registry import suggest_name

if TYPE_CHECKING:
    from rich.console import Console

DISTRIBUTION = "responses-harness"
"""The name of the installed package."""
REDRAW_SECONDS = 0.1
"""Seconds after which a bar is drawn anew."""
PIPED_WIDTH = 1000
"""Columns when the output is no terminal: nothing wraps, so that a line can be searched for."""


class _CommandGroup(TyperGroup):
    """The commands; what only the user can fix ends any of them with one message and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except HarnessError as problem:
            typer.echo(f"harness: {problem}", err=True)
            raise typer.Exit(2) from problem


app = typer.Typer(
    cls=_CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A strict mock of the OpenAI Responses API: it refuses what the API refuses, word for word.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"{DISTRIBUTION} {version(DISTRIBUTION)}")
        raise typer.Exit


@app.callback()
def harness(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options of the command itself."""


def refuse_outside_checkout(name: str) -> None:
    """Register a hidden command that ends with a ConfigError, whatever its arguments: it needs the project's sources."""

    def refuse() -> None:
        raise ConfigError(f"`harness {name}` needs a checkout of the project; an installed package cannot run it.")

    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(name, hidden=True, context_settings=anything)(refuse)


def require_known(what: str, name: str, all_known: Iterable[str]) -> str:
    """The name itself when it is one of these; else a ConfigError with the nearest."""
    names = list(dict.fromkeys(all_known))
    if name not in names:
        raise ConfigError(f"no {what} {name!r}. {suggest_name(name, names)}")
    return name


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def make_console(stderr: bool = False) -> Console:
    """The console of stdout, or of stderr; it marks nothing up, texts are printed as they are."""
    from rich.console import Console

    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, width=None if terminal else PIPED_WIDTH, highlight=False, markup=False, emoji=False)


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """What is told how many of how many are done, with a bar on stderr where that is a terminal.

    No thread draws it: what is done meanwhile may fork.
    """
    from rich.progress import Progress

    console, drawn = make_console(stderr=True), [0.0]
    with Progress(console=console, transient=True, auto_refresh=False, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(what, total=None)

        def tell(done: int, total: int) -> None:
            due = monotonic() - drawn[0] > REDRAW_SECONDS
            bar.update(task, completed=done, total=total, refresh=due)
            drawn[0] = monotonic() if due else drawn[0]

        yield tell


@contextmanager
def call_on_signals(end: Callable[[], object]) -> Iterator[None]:
    """SIGINT, SIGTERM and a terminal that closes call `end`, also before a server listens to them or raises them again."""
    signals = [signal.SIGINT, signal.SIGTERM]
    hung_up = getattr(signal, "SIGHUP", None)
    if hung_up and signal.getsignal(hung_up) is not signal.SIG_IGN:  # it is below nohup
        signals.append(hung_up)
    before = [signal.signal(each, lambda *_: end()) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)
