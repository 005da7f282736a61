"""`harness cassettes`: lists cassettes, their age, and the cost of recording them again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from harness.cli.support.app import ExitCode, make_console, print_json, print_text
from harness.core.errors import ConfigError
from harness.core.limits import STALE_DAYS
from harness.core.registry import suggest_name

if TYPE_CHECKING:
    from harness.live.inventory import CassetteStatus
    from harness.verify.script_code import ScriptForm

MAX_UNUSED = 3
"""How many unused exchanges of a cassette are named; the JSON lists all."""


def cassettes(
    paths: Annotated[list[Path] | None, typer.Argument(metavar="PATH", help="Cassettes, or folders of them.")] = None,
    stale_after: Annotated[
        int, typer.Option(min=0, metavar="DAYS", help="The age from which a recording is stale.")
    ] = STALE_DAYS,
    fail_stale: Annotated[
        bool, typer.Option("--fail-stale", help="Exit with 1 if a cassette is stale, not only if one cannot be read.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    to_script: Annotated[
        str, typer.Option("--to-script", metavar="FORM", help="Print one cassette as a script: python, yaml or json.")
    ] = "",
) -> None:
    """List cassettes: age, what uses them, how to record them again.

    Shows also the SDK version then and now, and the maximum cost of recording stale ones again. `--to-script` prints the
    answers of one cassette as a script for a test or `harness serve --script`.
    """
    if to_script:
        _print_script(paths or [], to_script)
        return
    import harness.contract.rules  # noqa: F401  (registers every rule)
    from harness.live.inventory import list_cassettes

    listed = list(list_cassettes(paths or [Path("cassettes")], date.today(), stale_after))
    if not listed:
        raise ConfigError("no cassette found: pass the paths of recordings, or of their folders.")
    if as_json:
        print_json(
            [
                {**asdict(cassette), "file": cassette.file.as_posix(), "cost": cassette.cost._asdict()}
                for cassette in listed
            ]
        )
    else:
        _print_inventory(listed)
    if any(cassette.is_broken or (fail_stale and cassette.stale) for cassette in listed):
        raise typer.Exit(ExitCode.FOUND)


def _print_script(paths: Sequence[Path], form: str) -> None:
    from harness.cassettes.recording.writer import read_cassette
    from harness.verify.recorded_script import read_script
    from harness.verify.script_code import SCRIPT_FORMS, write_script

    if form not in SCRIPT_FORMS:
        raise ConfigError(f"--to-script {form}: {suggest_name(form, SCRIPT_FORMS)}")
    if len(paths) != 1 or not paths[0].is_file():
        raise ConfigError("--to-script: pass the path of one cassette file.")
    script = read_script(read_cassette(paths[0]).interactions, paths[0].as_posix())
    print_text(write_script(script, cast("ScriptForm", form)))
    for why in script.left_out if form == "json" else ():
        print_text(f"harness: not played: {why}", err=True)


def _print_inventory(listed: Sequence[CassetteStatus]) -> None:
    from rich.table import Table

    console = make_console()
    table = Table(
        "cassette", "exchanges", "recorded", "days", "sdk", "now", "replayed", "notes", box=None, pad_edge=False
    )
    for cassette in listed:
        notes = "; ".join([*cassette.stale, *_use_notes(cassette)])
        age = "-" if cassette.age is None else str(cassette.age)
        cells = (
            cassette.recorded or "-",
            age,
            cassette.sdk or "-",
            cassette.now or "-",
            cassette.replayed or "never",
            notes,
        )
        table.add_row(cassette.file.as_posix(), str(cassette.exchanges), *cells)
    console.print(table)
    for text in _rerecord_lines(listed):
        console.print(text)


def _use_notes(cassette: CassetteStatus) -> Iterator[str]:
    """Yield notes about unused parts of a cassette."""
    if cassette.orphan:
        yield "nothing names it"
    if cassette.unused:
        more = f" and {len(cassette.unused) - MAX_UNUSED} more" if cassette.unused[MAX_UNUSED:] else ""
        yield f"no test replays {', '.join(cassette.unused[:MAX_UNUSED])}{more}"


def _rerecord_lines(listed: Sequence[CassetteStatus]) -> Iterator[str]:
    """Yield the commands that record stale cassettes again, each with its cost."""
    from harness.live.client.budget import sum_budgets
    from harness.live.inventory import plan_rerecording

    costs = plan_rerecording(listed)
    yield from (f"{command}   # {cost}" for command, cost in costs.items())
    if len(costs) > 1:
        yield f"in all: {sum_budgets(costs.values())}"
    unknown = [
        cassette.file.as_posix() for cassette in listed if cassette.stale and not cassette.orphan and not cassette.again
    ]
    yield from (f"{file}: no known command records it again" for file in unknown)
