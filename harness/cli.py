"""The `harness` command: serve, rules, verify, schemas, demo.

Exit codes: 0 done, 1 something was found or the check failed, 2 a mistake in what was asked, said in one message on stderr.
"""

from __future__ import annotations

import gc
import json
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from harness.errors import ConfigError, HarnessError

if TYPE_CHECKING:
    from rich.console import Console

    from harness.mock import Mock
    from harness.organization import Organization
    from harness.rule import Rule
    from harness.verify import Tally

JOURNAL = 1000
"""Exchanges a served World keeps, so that a server can run for days."""
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
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 8765,
    script: Annotated[Path | None, typer.Option(help="What the model says: a .py or .yaml file.")] = None,
    keys: Annotated[str, typer.Option(help="The only API keys that are known, by commas.")] = "",
    models: Annotated[str, typer.Option(help="The only models that are known, by commas.")] = "",
    zdr: Annotated[bool, typer.Option("--zdr", help="Zero Data Retention: nothing is stored for any key.")] = False,
    dialect: Annotated[str, typer.Option(help="openai, azure or foundry; without it all three, by the path.")] = "",
    assistants: Annotated[str, typer.Option(help="v2, or gone as since the sunset: 404.")] = "v2",
) -> None:
    """Serve the mock until it is interrupted; every key that starts with `sk-` sees a world of its own."""
    import uvicorn

    from harness.dialect import OPENAI, ROOTS
    from harness.server import bind, config

    mock = _mock(script, _names(keys), _account(_names(models), zdr, assistants), dialect or None)
    listening = bind(host, port)
    server = uvicorn.Server(config(mock))
    url = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}{ROOTS[dialect or OPENAI]}"
    key = next(iter(_names(keys)), ANY_KEY)
    # What a World stores only grows: collecting it over and over would cost a tenth of the time of an answer.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    with _ended_by_signals(server):
        typer.echo(f"Serving {url}\nexport OPENAI_BASE_URL={url}\nexport OPENAI_API_KEY={key}")
        sys.stdout.flush()
        server.run(sockets=[listening])
    listening.close()


def _mock(script: Path | None, keys: Sequence[str], account: Organization | None, dialect: str | None) -> Mock:
    from harness.fallback import small_talk
    from harness.mock import Mock

    if script is None:
        return Mock(keys or None, organization=account, fallback=small_talk, journal=JOURNAL, dialect=dialect)
    from harness.scriptfile import load

    return Mock(keys or None, organization=account, prepare=load(script).apply, journal=JOURNAL, dialect=dialect)


def _account(models: Sequence[str], zdr: bool, assistants: str) -> Organization | None:
    from harness.organization import ORDINARY, Organization

    made = Organization(models=frozenset(models) or None, zdr=zdr, assistants=assistants)
    return None if made == ORDINARY else made


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
    name: Annotated[str, typer.Argument(metavar="[ID]", help="The rule to explain; without it all are listed.")] = "",
    area: Annotated[str, typer.Option(help="Only the rules of this area.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    assumed: Annotated[bool, typer.Option("--assumed", help="Only what is assumed, not known.")] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="How well each area is known, and what proves it.")
    ] = False,
) -> None:
    """List why the API refuses requests, in order of precedence, or explain one rule."""
    from harness.catalogue import row, told
    from harness.rule import RULES

    if coverage:
        if name or area or assumed:
            raise typer.BadParameter("--coverage is of all rules; give it alone, or with --json.")
        _print_coverage(as_json)
        return
    if name:
        rule = RULES[_known("rule", name, RULES)]
        _print_json(told(rule)) if as_json else _print_rule(rule)
        return
    if area:
        _known("area", area, {rule.area: None for rule in RULES.values()})
    chosen = [r for r in RULES.values() if area in ("", r.area) and (r.level == "assumed" or not assumed)]
    if as_json:
        _print_json([row(rule) for rule in chosen])
    else:
        _print_table(chosen)


def _print_coverage(as_json: bool) -> None:
    """Rules by area and evidence level, then every rule that claims evidence no cassette shows, with the reason."""
    from dataclasses import asdict

    from harness import evidence
    from harness.rule import RULES

    cassettes = evidence.load()
    rows, gaps = evidence.rows(RULES, cassettes), evidence.gaps(RULES, cassettes)
    if as_json:
        _print_json({"areas": rows, "gaps": [asdict(gap) for gap in gaps]})
        return
    console = _console()
    console.print(evidence.table(rows))
    for gap in gaps:
        console.print(f"no cassette  {gap.rule}  ({gap.level}): {gap.reason}")


def _known(what: str, name: str, known: Iterable[str]) -> str:
    names = list(dict.fromkeys(known))
    if name not in names:
        near = get_close_matches(name, names, 1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(names)}."
        raise ConfigError(f"no {what} {name!r}. {hint}")
    return name


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def _console() -> Console:
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else PIPED, highlight=False, markup=False, emoji=False)


def _print_table(chosen: Sequence[Rule]) -> None:
    from rich.table import Table

    from harness.catalogue import row

    table = Table("id", "area", "level", "summary", box=None, pad_edge=False)
    for rule in chosen:
        table.add_row(*row(rule).values())
    _console().print(table)


def _print_rule(rule: Rule) -> None:
    """A rule as a page: what it says, the API's words, examples, evidence, what to do about it."""
    from rich.padding import Padding

    from harness.catalogue import sections

    console = _console()
    console.print(f"{rule.id}  ({rule.area}, {rule.level})\n\n{rule.doc}")
    for title, lines in sections(rule):
        console.print(f"\n{title}", style="bold")
        for text in lines:
            console.print(Padding(text, (0, 0, 0, 2), expand=False))


@app.command()
def verify(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Recordings, or folders of them.")],
    as_json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the whole report; - is stdout.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Files judged side by side.")] = 1,
    respell: Annotated[
        bool, typer.Option("--respell", help="Also: would the mock, scripted with an answer, tell its stream alike?")
    ] = False,
) -> None:
    """Judge recorded exchanges: vcrpy and other cassettes, HAR, JSON lines.

    Would the mock take what the API took, and refuse in the same words what it refused? Do the answers and streams conform?
    """
    from tempfile import TemporaryDirectory

    from harness.verify import verify as judged

    with TemporaryDirectory(prefix="harness-verify-") as folder:
        tally = judged(paths, Path(folder), jobs, respelled=respell)
        _report(tally, as_json)
    if not tally.counts["exchanges"] and not tally.counts["unreadable"]:
        raise ConfigError(
            f"no recording in {', '.join(map(str, paths))}: give cassettes (YAML, JSON), HAR or JSON lines."
        )
    raise typer.Exit(0 if tally.clean else 1)


def _report(tally: Tally, as_json: Path | None) -> None:
    from harness import report

    if as_json == Path("-"):
        report.write(tally, sys.stdout.buffer)
        return
    if as_json is not None:
        with _writing(as_json) as out:
            report.write(tally, out)
    console = _console()
    console.print(report.table(tally))
    for text in report.lines(tally):
        console.print(text)


@contextmanager
def _writing(file: Path) -> Iterator[IO[bytes]]:
    try:
        with file.open("wb") as out:
            yield out
    except OSError as problem:
        raise ConfigError(f"{file}: cannot be written: {problem.strerror}. Give another file to --json.") from problem


@app.command()
def schemas(
    sync: Annotated[bool, typer.Option("--sync", help="Write the schemas from the installed openai SDK.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Are the files what the SDK, the lock and overlays say?")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="What the installed SDK or the document would change.")] = False,
    openapi: Annotated[str, typer.Option(help="The official OpenAPI document, a path or URL.")] = "",
) -> None:
    """Make, check or compare the schemas."""
    if sync + check + diff != 1:
        raise typer.BadParameter("give exactly one of --sync, --check, --diff.")
    if check and openapi:
        raise typer.BadParameter("--openapi goes with --sync or --diff.")
    from harness import sync as schemas_of
    from harness.schema import directory

    document = openapi or None
    if check:
        problems = schemas_of.check(directory())
        typer.echo("\n".join(problems or ["ok"]))
        raise typer.Exit(1 if problems else 0)
    told = schemas_of.sync(directory(), document) if sync else schemas_of.diff(directory(), document)
    typer.echo("\n".join(map(str, told)) or "nothing changes")


@app.command()
def demo() -> None:
    """Two agents against the mock, then a request that the API refuses, and its repair; needs no network and no key."""
    from harness.demo import NotRefusedError, story
    from harness.mock import Mock

    console = _console()
    try:
        for text in story(Mock()):
            console.print(text)
    except NotRefusedError as problem:
        typer.echo(f"harness: {problem}", err=True)
        raise typer.Exit(1) from problem
