"""The typer app that the commands register with, and how they print."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from harness.errors import ConfigError, HarnessError

if TYPE_CHECKING:
    from rich.console import Console

PIPED = 1000
"""Columns when the output is no terminal: nothing wraps, so that a line can be searched for."""


class _Commands(TyperGroup):
    """The commands; what only the user can fix ends any of them with one message and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except HarnessError as problem:
            typer.echo(f"harness: {problem}", err=True)
            raise typer.Exit(2) from problem


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="A strict mock of the OpenAI Responses API: it refuses what the API refuses, word for word.",
)


def known(what: str, name: str, all_known: Iterable[str]) -> str:
    """The name itself when it is one of these; else a ConfigError with the nearest."""
    names = list(dict.fromkeys(all_known))
    if name not in names:
        near = get_close_matches(name, names, 1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(names)}."
        raise ConfigError(f"no {what} {name!r}. {hint}")
    return name


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def console_of(stderr: bool = False) -> Console:
    """The console of stdout, or of stderr; it marks nothing up, texts are printed as they are."""
    from rich.console import Console

    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    return Console(stderr=stderr, width=None if terminal else PIPED, highlight=False, markup=False, emoji=False)


@contextmanager
def ended_by_signals(end: Callable[[], object]) -> Iterator[None]:
    """SIGINT and SIGTERM call `end`, also before a server listens to them and when it raises them again."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, lambda *_: end()) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)
