"""The `harness` command: serve, rules, schemas, demo.

Exit codes: 0 done, 1 the check or the demo failed, 2 a mistake in what was asked, said in one message on stderr.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from harness.errors import ConfigError, HarnessError

if TYPE_CHECKING:
    from rich.console import Console

    from harness.mock import Mock
    from harness.rule import Rule

ANY_KEY = "sk-anything"
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


def main() -> None:
    """Run the command line; `harness` and `python -m harness` end here."""
    app(prog_name="harness")


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes a free one.")] = 8765,
    script: Annotated[Path | None, typer.Option(help="What the model says: a .py or .yaml file.")] = None,
    keys: Annotated[str, typer.Option(help="The only API keys that are known, by commas.")] = "",
    models: Annotated[str, typer.Option(help="The only models that are known, by commas.")] = "",
) -> None:
    """Serve the mock until it is interrupted; every key that starts with `sk-` sees a world of its own."""
    import uvicorn

    from harness.server import bind, config

    mock = _mock(script, _names(keys), _names(models))
    listening = bind(host, port)
    server = uvicorn.Server(config(mock))
    url = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/v1"
    key = next(iter(_names(keys)), ANY_KEY)
    with _ended_by_signals(server):
        typer.echo(f"Serving {url}\nexport OPENAI_BASE_URL={url}\nexport OPENAI_API_KEY={key}")
        sys.stdout.flush()
        server.run(sockets=[listening])
    listening.close()


def _mock(script: Path | None, keys: Sequence[str], models: Sequence[str]) -> Mock:
    from harness.fallback import small_talk
    from harness.mock import Mock
    from harness.organization import Organization

    organization = Organization(models=frozenset(models) if models else None)
    if script is None:
        return Mock(keys or None, organization=organization, fallback=small_talk)
    from harness.scriptfile import load

    return Mock(keys or None, organization=organization, prepare=load(script).apply)


def _names(listed: str) -> list[str]:
    return [name for part in listed.split(",") if (name := part.strip())]


@contextmanager
def _ended_by_signals(server: Any) -> Iterator[None]:
    """SIGINT and SIGTERM end the server, also before uvicorn listens to them and when it raises them again."""

    def end(*_: Any) -> None:
        server.should_exit = True

    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, end) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)


@app.command()
def rules(
    id: Annotated[str, typer.Argument(help="The rule to explain; without it all are listed.", show_default=False)] = "",
    area: Annotated[str, typer.Option(help="Only the rules of this area.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    assumed: Annotated[bool, typer.Option("--assumed", help="Only what is assumed, not known.")] = False,
) -> None:
    """List why the API refuses requests, in order of precedence, or explain one rule."""
    import harness.rules  # noqa: F401  (registers every rule)
    from harness.catalogue import explained, told
    from harness.rule import RULES

    if id:
        rule = RULES[_known("rule", id, RULES)]
        _print_json(told(rule)) if as_json else _print_lines(explained(rule))
        return
    if area:
        _known("area", area, {rule.area: None for rule in RULES.values()})
    chosen = [r for r in RULES.values() if r.area == (area or r.area) and (r.level == "assumed" or not assumed)]
    if as_json:
        _print_json([{"id": r.id, "area": r.area, "level": r.level, "summary": r.summary} for r in chosen])
    else:
        _print_table(chosen)
