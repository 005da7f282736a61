"""Lists cassettes: how old each is, which client made it, and when it was last replayed here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from harness.cassettes.files import files, last_replay_date, read_cassette
from harness.cassettes.format.interaction import Interaction, find_client
from harness.cassettes.format.recorded import Recorded
from harness.cassettes.format.serializer import CassetteContent
from harness.core.errors import HarnessError
from harness.core.limits import STALE_DAYS
from harness.verify.read_files import NotARecording, read_recording


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
        sdk = (header.sdk, header.sdk_version) if header and header.sdk else _find_client(exchanges)
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


def _find_client(exchanges: Iterable[Recorded]) -> tuple[str, str]:
    return find_client([Interaction(exchange.method, exchange.path, exchange.headers) for exchange in exchanges])
