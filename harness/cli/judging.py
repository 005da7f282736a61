"""`harness verify`: recordings held to the contract."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from harness.cli.app import console_of
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.verify import Tally


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
    console = console_of()
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
