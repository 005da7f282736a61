"""Writes cassettes, one recorder at a time: never a file with a secret, never a partial file.

Also reads and locks them.

A recorder keeps interactions as they were received, and scrubs them when it writes the file, which it replaces
atomically.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from harness.api.http.dialects import parse_api_path
from harness.cassettes.format.interaction import PYTEST_COMMAND, CassetteHeader, Interaction, find_client
from harness.cassettes.format.serializer import CassetteContent, dump_cassette, parse_cassette
from harness.cassettes.format.untrusted import UnreadableRecording, decode_text
from harness.cassettes.scrubbing.leak_check import secrets_in
from harness.cassettes.scrubbing.mask_interactions import known_secrets, scrub_interactions
from harness.core.bounded_file import read_bounded
from harness.core.errors import HarnessError, Malformed
from harness.core.extras import require_extra
from harness.core.text.shorten import pluralize
from harness.report.replace_file import WRITE_ERROR_FIXES, describe_write_error, open_replacement

MAX_PLACES_LISTED = 5
"""How many places of secrets an error lists."""
LOCK_TIMEOUT = 0.1
"""Seconds to wait for a recorder that is just ending to release its lock."""
SAVE_INTERVAL = 0.2
"""Seconds between two writes of a growing cassette; a killed recorder loses no more than that."""
SAVING_SWITCH_INTERVAL = 0.0005
"""The interpreter's switch interval, in seconds, during a write, so that threads forwarding bytes keep running."""
SAVE_PAUSE_FACTOR = 20
"""The pause before the next write is this many times the duration of the last one, but at least `SAVE_INTERVAL`."""


class RecordError(HarnessError):
    """Raised for a cassette that cannot be written."""

    section = "recordings"


class SecretFound(RecordError):
    """Raised for a recording that contains a secret and is not written; the text names the places."""


class Recorder:
    """Records a cassette: `add` interactions, then `save`, or leave the `with` block of `open_recorder`.

    `existing` are interactions of the file that are kept before the new ones, `secrets` values that must not be
    written. The header's date, dialect and client are filled in if empty.
    """

    def __init__(
        self, path: Path, header: CassetteHeader, *, existing: Sequence[Interaction] = (), secrets: Iterable[str] = ()
    ) -> None:
        self.path = path
        self.interactions: list[Interaction] = []
        self._header = header
        self._existing = tuple(existing)
        self._secrets = tuple(secrets)
        self._written = 0
        self._extent = 0
        self._due = time.monotonic() + SAVE_INTERVAL

    def add(self, interaction: Interaction) -> None:
        """Add an interaction; it is scrubbed when the file is written."""
        self.interactions.append(interaction)

    def save_if_due(self, so_far: Callable[[], Sequence[Interaction]]) -> None:
        """Write all interactions so far if there is anything new and a write is due; to be called often.

        A failed write is retried later; the last one, by `save`, raises its error.
        """
        began = time.monotonic()
        if began < self._due:
            return
        self.interactions = [*so_far()]
        extent = sum(
            1 + len(interaction.chunks) + len(interaction.frames) + (not interaction.cut)
            for interaction in self.interactions
        )
        if extent == self._extent:
            self._due = began + SAVE_INTERVAL
            return
        before = sys.getswitchinterval()
        sys.setswitchinterval(SAVING_SWITCH_INTERVAL)
        with suppress(HarnessError):
            self.save()
            self._extent = extent
        sys.setswitchinterval(before)
        ended = time.monotonic()
        self._due = ended + max(SAVE_INTERVAL, SAVE_PAUSE_FACTOR * (ended - began))

    def save(self) -> None:
        """Write the cassette, unless it has no new interactions.

        SecretFound if it would contain a secret, RecordError if the file cannot be written; the old file is then
        unchanged.
        """
        if not self.interactions:
            return
        clean = scrub_interactions(self.interactions, self._secrets)
        header, secrets = self._complete_header(), known_secrets(self.interactions, self._secrets)
        # A command line that contains a secret is dropped: it only informs readers.
        if header.command and secrets_in(dump_cassette(header, ()), secrets):
            header = replace(header, command="")
        text = dump_cassette(header, (*self._existing, *clean))
        if places := secrets_in(text, secrets):
            raise SecretFound(_secret_found_text(self.path, places, self._written))
        replace_file(self.path, text)
        self._written = len(self.interactions)

    def _complete_header(self) -> CassetteHeader:
        header, (sdk, version) = self._header, find_client(self.interactions)
        return replace(
            header,
            recorded=header.recorded or datetime.now(UTC).date().isoformat(),
            dialect=header.dialect or parse_api_path(urlsplit(self.interactions[0].uri).path).dialect,
            sdk=header.sdk or sdk,
            sdk_version=header.sdk_version or version,
        )


@contextmanager
def open_recorder(
    path: Path, header: CassetteHeader, *, existing: Sequence[Interaction] = (), secrets: Iterable[str] = ()
) -> Iterator[Recorder]:
    """Open a recorder under its cassette's lock.

    The cassette is written at the end of the block, even after an error.
    """
    with lock_cassette(path):
        recorder = Recorder(path, header, existing=existing, secrets=secrets)
        try:
            yield recorder
        finally:
            recorder.save()


def read_cassette(path: Path) -> CassetteContent:
    """Read a cassette file; UnreadableRecording if it is missing or invalid."""
    name = path.as_posix()
    try:
        return _check_addresses(parse_cassette(decode_text(read_bounded(path)), name), name)
    except FileNotFoundError:
        raise UnreadableRecording(f"{name}: no such cassette. Record it, or correct the name.") from None
    except OSError as problem:
        raise UnreadableRecording(
            f"{name}: cannot be read: {problem.strerror}. Pass the path of a cassette."
        ) from problem
    except Malformed as problem:
        raise UnreadableRecording(f"{name}: {problem}. Pass the path of a cassette.") from problem


def _check_addresses(content: CassetteContent, name: str) -> CassetteContent:
    """Raise UnreadableRecording for an invalid URL, or return the content."""
    for number, interaction in enumerate(content.interactions, 1):
        try:
            urlsplit(interaction.uri)
        except ValueError as problem:
            where = f"{name}: exchange {number}: its URL is invalid ({problem})"
            raise UnreadableRecording(f"{where}. Record it again, or fix that place.") from problem
    return content


@contextmanager
def lock_cassette(path: Path) -> Iterator[None]:
    """Hold the right to record a cassette, at most until the process ends; RecordError if another recorder holds it."""
    require_extra("recording", "filelock", "record")
    import filelock  # late: it takes longer to import than everything needed to read cassettes

    lock = filelock.FileLock(_lock_path(path), timeout=LOCK_TIMEOUT)
    with _explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise RecordError(
                f"{path.as_posix()}: another recorder is writing this cassette. Wait for it, or record into another "
                "file; tests that share one are recorded with `pytest -n 0`."
            ) from None
    try:
        yield
    finally:
        with suppress(OSError):  # first, so that no other recorder locks a file about to be removed
            os.unlink(lock.lock_file)
        lock.release()


def is_free(path: Path) -> bool:
    """Return whether a cassette neither exists nor is being recorded."""
    return not (path.exists() or _is_held(_lock_path(path)))


def _is_held(lock: Path) -> bool:
    """Return whether a recorder holds a lock file; one left behind by a killed recorder is removed."""
    if not lock.exists():
        return False
    require_extra("recording", "filelock", "record")
    import filelock

    attempt = filelock.FileLock(lock, timeout=0)
    try:
        attempt.acquire()
    except (filelock.Timeout, OSError):
        return True
    with suppress(OSError):
        os.unlink(lock)
    attempt.release()
    return False


def _lock_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def replace_file(path: Path, text: str) -> None:
    """Replace a file atomically; RecordError if that fails, leaving the file unchanged."""
    with _explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_replacement(path) as out:
            out.write(text.encode())


@contextmanager
def _explain_write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        way = WRITE_ERROR_FIXES.get(problem.errno or 0, "Make the folder writable, or record into another one")
        raise RecordError(
            f"{path.as_posix()}: cannot be written: {describe_write_error(problem)}. Nothing was changed. {way}."
        ) from problem


def _secret_found_text(path: Path, places: Sequence[str], written: int) -> str:
    more = f"\n  and {len(places) - MAX_PLACES_LISTED} more" if len(places) > MAX_PLACES_LISTED else ""
    listed = "".join(f"\n  {place}" for place in places[:MAX_PLACES_LISTED])
    before = f" The first {pluralize(written, 'exchange')} of this recording are there." if written else ""
    return (
        f"{path.as_posix()}: not written, because the recording still contains possible secrets:{listed}{more}\n"
        f"Leave it out of the request, or name its value as a secret, and record again.{before}"
    )


def count_unused(path: Path, used: Collection[int]) -> int:
    """Return how many HTTP exchanges are not among these numbers, which count from 0."""
    plain = [interaction for interaction in read_cassette(path).interactions if not interaction.frames]
    return sum(number not in used for number in range(len(plain)))


def prune_cassette(path: Path, used: Collection[int]) -> int:
    """Remove the HTTP exchanges that are not among these numbers (from 0), and return how many; WebSockets are kept."""
    with lock_cassette(path):
        content = read_cassette(path)
        plain = [interaction for interaction in content.interactions if not interaction.frames]
        sockets = [interaction for interaction in content.interactions if interaction.frames]
        kept = [interaction for number, interaction in enumerate(plain) if number in used]
        if len(kept) < len(plain):
            replace_file(path, dump_cassette(content.header or CassetteHeader(), [*kept, *sockets]))
        return len(plain) - len(kept)


def recording_header(path: Path, mode: str, test: str) -> CassetteHeader:
    """Return the header of a cassette that a test (its pytest id) records, with the command of all its tests."""
    known = read_cassette(path).header if mode == "new" and path.exists() else None
    words = shlex.split(known.command) if known else []
    before = words[len(PYTEST_COMMAND) :] if tuple(words[: len(PYTEST_COMMAND)]) == PYTEST_COMMAND else []
    return CassetteHeader(command=shlex.join([*PYTEST_COMMAND, *dict.fromkeys([*before, test.partition("[")[0]])]))
