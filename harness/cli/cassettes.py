"""`responses-harness cassettes`: lists cassettes with their age and last use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from harness.cli.support.app import ExitCode, make_console, print_json, print_note, print_text
from harness.core.errors import ConfigError
from harness.core.limits import STALE_DAYS
from harness.core.registry import suggest_name

if TYPE_CHECKING:
    from harness.verify.inventory import CassetteStatus
    from harness.verify.recorded_script import ScriptForm


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
    """List cassettes with their age, the client that made them, and their last replay on this machine.

    `--to-script` prints the answers of one cassette as a script for a test or `responses-harness serve --script`.
    """
    if to_script:
        _print_script(paths or [], to_script)
        return
    from harness.verify.inventory import list_cassettes

    listed = list(list_cassettes(paths or [Path("cassettes")], date.today(), stale_after))
    if not listed:
        raise ConfigError("no cassette found: pass the paths of recordings, or of their folders.")
    if as_json:
        print_json([{**asdict(cassette), "file": cassette.file.as_posix()} for cassette in listed])
    else:
        _print_inventory(listed)
    if any(cassette.is_broken or (fail_stale and cassette.stale) for cassette in listed):
        raise typer.Exit(ExitCode.FOUND)


def _print_script(paths: Sequence[Path], form: str) -> None:
    from harness.cassettes.files import read_cassette
    from harness.verify.recorded_script import SCRIPT_FORMS, read_script, write_script

    if form not in SCRIPT_FORMS:
        raise ConfigError(f"--to-script {form}: {suggest_name(form, SCRIPT_FORMS)}")
    if len(paths) != 1 or not paths[0].is_file():
        raise ConfigError("--to-script: pass the path of one cassette file.")
    script = read_script(read_cassette(paths[0]).interactions, paths[0].as_posix())
    print_text(write_script(script, cast("ScriptForm", form)))
    for why in script.left_out if form == "json" else ():
        print_note(f"not played: {why}")


def _print_inventory(listed: Sequence[CassetteStatus]) -> None:
    from rich.table import Table

    table = Table("cassette", "exchanges", "recorded", "days", "sdk", "replayed", "notes", box=None, pad_edge=False)
    for cassette in listed:
        age = "-" if cassette.age is None else str(cassette.age)
        cells = (cassette.recorded or "-", age, cassette.sdk or "-", cassette.replayed or "never", cassette.stale)
        table.add_row(cassette.file.as_posix(), str(cassette.exchanges), *cells)
    make_console().print(table)
