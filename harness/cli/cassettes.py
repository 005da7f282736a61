"""`responses-harness cassettes`: lists cassettes with their age and last use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import cast

import typer
from rich.table import Table

from harness.cassettes.files import files, last_replay_date, read_cassette
from harness.cassettes.format.interaction import Interaction, find_client
from harness.cassettes.format.recorded import Recorded
from harness.cassettes.format.serializer import CassetteContent
from harness.cassettes.format.untrusted import NotARecording
from harness.cli.program import (
    ExitCode,
    Options,
    argument,
    make_console,
    option,
    print_json,
    print_note,
    print_text,
)
from harness.core.errors import ConfigError, HarnessError
from harness.core.limits import STALE_DAYS
from harness.core.registry import suggest_name
from harness.verify.read_files import read_recording
from harness.verify.recorded_script import SCRIPT_FORMS, ScriptForm, read_script, write_script


@dataclass(frozen=True, kw_only=True)
class CassettesOptions(Options):
    """The options of `responses-harness cassettes`."""

    paths: list[Path] | None = argument(None, "Cassettes, or folders of them.", metavar="PATH")
    stale_after: int = option(STALE_DAYS, "The age from which a recording is stale.", min=0, metavar="DAYS")
    fail_stale: bool = option(False, "Exit with 1 if a cassette is stale, not only if one cannot be read.")
    as_json: bool = option(False, "Print JSON.", "--json")
    to_script: str = option("", "Print one cassette as a script: python, yaml or json.", metavar="FORM")


def cassettes(options: CassettesOptions) -> None:
    """List cassettes by age, with the client that recorded each and its last replay on this machine.

    `--to-script` prints the answers of one cassette as a script for a test or `responses-harness serve --script`.
    """
    if options.to_script:
        _print_script(options.paths or [], options.to_script)
        return

    listed = list(list_cassettes(options.paths or [Path("cassettes")], date.today(), options.stale_after))
    if not listed:
        raise NotARecording("no cassette found: pass the paths of recordings, or of their folders.")
    if options.as_json:
        print_json([{**asdict(cassette), "file": cassette.file.as_posix()} for cassette in listed])
    else:
        _print_inventory(listed)
    if any(cassette.is_broken or (options.fail_stale and cassette.stale) for cassette in listed):
        raise typer.Exit(ExitCode.FOUND)


def _print_script(paths: Sequence[Path], form: str) -> None:
    if form not in SCRIPT_FORMS:
        raise ConfigError(f"--to-script {form}: {suggest_name(form, SCRIPT_FORMS)}")
    if len(paths) != 1 or not paths[0].is_file():
        raise ConfigError("--to-script: pass the path of one cassette file.")
    script = read_script(read_cassette(paths[0]).interactions, paths[0].as_posix())
    print_text(write_script(script, cast("ScriptForm", form)))
    for why in script.left_out if form == "json" else ():
        print_note(f"not played: {why}")


def _print_inventory(listed: Sequence[CassetteStatus]) -> None:
    table = Table("cassette", "exchanges", "recorded", "days", "sdk", "replayed", "notes", box=None, pad_edge=False)
    for cassette in listed:
        age = "-" if cassette.age is None else str(cassette.age)
        cells = (cassette.recorded or "-", age, cassette.sdk or "-", cassette.replayed or "never", cassette.stale)
        table.add_row(cassette.file.as_posix(), str(cassette.exchanges), *cells)
    make_console().print(table)


@dataclass(frozen=True, slots=True)
class CassetteStatus:
    """One cassette: `recorded` is the day of its newest exchange, `age` is in days (None if unknown).

    `sdk` is the client that sent its requests; `stale` says why it should be recorded again, empty if it should not;
    `replayed` is the day of the last replay on this machine, empty if none is known. A file that cannot be read to its
    end `is_broken`.
    """

    file: Path
    exchanges: int
    recorded: str
    age: int | None
    sdk: str
    stale: str
    replayed: str
    is_broken: bool = False


def list_cassettes(paths: Sequence[Path], today: date, stale_after: int = STALE_DAYS) -> Iterator[CassetteStatus]:
    """List the cassettes at these paths, in order, ignoring other files. UnreadableRecording for a missing path."""
    for file in files(paths):
        exchanges, problem = list[Recorded](), ""
        try:
            exchanges += read_recording(file)
        except NotARecording:
            continue
        except HarnessError as error:
            problem = str(error).removeprefix(f"{file.as_posix()}: ").partition(". ")[0]
        content = _read_content(file)
        header = content.header
        recorded = (header and header.recorded) or max(_recording_days(content, exchanges), default="")
        age = _age_in_days(recorded, today)
        sdk = (
            (header.sdk, header.sdk_version)
            if header and header.sdk
            else find_client([Interaction(exchange.method, exchange.path, exchange.headers) for exchange in exchanges])
        )
        yield CassetteStatus(
            file=file,
            exchanges=sum("socket" not in exchange.flags for exchange in exchanges)
            + sum(bool(interaction.frames) for interaction in content.interactions),
            recorded=recorded,
            age=age,
            sdk=" ".join(filter(None, sdk)),
            stale=f"it cannot be read: {problem}" if problem else _age_reason(age, stale_after),
            replayed=last_replay_date(file),
            is_broken=bool(problem),
        )


def _read_content(file: Path) -> CassetteContent:
    """Read a cassette of the harness; empty for a recording by another recorder."""
    try:
        return read_cassette(file)
    except HarnessError:
        return CassetteContent(None, ())


def _recording_days(content: CassetteContent, exchanges: Sequence[Recorded]) -> Iterator[str]:
    """Yield the day on which each exchange was recorded or published."""
    yield from (str(interaction.origin.get("date", "")) for interaction in content.interactions)
    if not any(interaction.origin for interaction in content.interactions):
        yield from (exchange.date[:10] for exchange in exchanges)


def _age_in_days(recorded: str, today: date) -> int | None:
    try:
        # The day may be only a year or a month.
        return (today - date.fromisoformat((recorded + "-01-01")[:10])).days if recorded else None
    except ValueError:
        return None


def _age_reason(age: int | None, stale_after: int) -> str:
    if age is None:
        return "it does not say when it was recorded"
    return f"it is {age} days old" if age > stale_after else ""
