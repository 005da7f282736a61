"""Writes cassettes, one recorder at a time: no file with a secret, no partial file. Reads and locks them, too.

A recorder keeps interactions as they came and scrubs them when it writes the whole file, which replaces the old one.
"""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from harness.api.dialects import parse_api_path
from harness.cassettes.format.bounded_file import read_bounded
from harness.cassettes.format.interaction import CassetteHeader, Interaction, find_client
from harness.cassettes.format.serializer import CassetteContent, dump_cassette, parse_cassette
from harness.cassettes.format.untrusted_text import Malformed, UnreadableRecording, decode_text
from harness.cassettes.scrubbing.leak_check import secrets_in
from harness.cassettes.scrubbing.mask_interactions import known_secrets, scrub_interactions
from harness.core.errors import HarnessError
from harness.core.shorten import pluralize

MAX_PLACES_LISTED = 5
"""Places of secrets that an error lists."""
LOCK_TIMEOUT = 0.1
"""Seconds in which a recorder that is just ending may release its lock."""
SAVE_INTERVAL = 5.0
"""Seconds between two writes of a growing cassette."""
SAVING_SWITCH_INTERVAL = 0.0005
"""Seconds after which threads that forward bytes run while a growing cassette is written."""
SAVE_PAUSE_FACTOR = 20
"""The next write is this many times later than the last one took, if that is more than `SAVE_INTERVAL`."""
WRITE_ERROR_FIXES = {
    errno.ENOSPC: "Free some space",
    errno.EDQUOT: "Free some space",
    errno.EFBIG: "Raise the limit on the size of a file (`ulimit -f`)",
}
"""What to do when the system refuses to write."""


class RecordError(HarnessError):
    """A cassette that cannot be written."""


class SecretFound(RecordError):
    """A recording that holds a secret and so is not written; the text names the places."""


class Recorder:
    """Records a cassette: `add` interactions, then `save`, or leave the `with` block of `open_recorder`.

    `existing` are interactions of the file that stay before the new ones, `secrets` values that must not be written. The
    header's date, dialect and client are filled in if they are empty.
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
        self._due = time.monotonic() + SAVE_INTERVAL

    def add(self, interaction: Interaction) -> None:
        """Add an interaction; it is scrubbed when the file is written."""
        self.interactions.append(interaction)

    def save_if_due(self, so_far: Callable[[], Sequence[Interaction]]) -> None:
        """Write all interactions so far if a write is due. Called often, so that a recorder that is killed loses little.

        A write that fails is tried again; the last one, by `save`, raises.
        """
        began = time.monotonic()
        if began < self._due:
            return
        self.interactions = [*so_far()]
        before = sys.getswitchinterval()
        sys.setswitchinterval(SAVING_SWITCH_INTERVAL)
        with suppress(HarnessError):
            self.save()
        sys.setswitchinterval(before)
        ended = time.monotonic()
        self._due = ended + max(SAVE_INTERVAL, SAVE_PAUSE_FACTOR * (ended - began))

    def save(self) -> None:
        """Write the cassette, unless there is no new interaction.

        SecretFound if it would hold a secret, RecordError if the file cannot be written; the old file is then unchanged.
        """
        if not self.interactions:
            return
        clean = scrub_interactions(self.interactions, self._secrets)
        header, secrets = self._complete_header(), known_secrets(self.interactions, self._secrets)
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
    """A recorder with the lock of its cassette, which is written at the end of the block, with or without an error."""
    with lock_cassette(path):
        recorder = Recorder(path, header, existing=existing, secrets=secrets)
        try:
            yield recorder
        finally:
            recorder.save()


def read_cassette(path: Path) -> CassetteContent:
    """The cassette of a file; UnreadableRecording if it is missing or invalid."""
    name = path.as_posix()
    try:
        return _check_addresses(parse_cassette(decode_text(read_bounded(path)), name), name)
    except FileNotFoundError:
        raise UnreadableRecording(f"{name}: there is no such cassette. Record it, or correct the name.") from None
    except OSError as problem:
        raise UnreadableRecording(
            f"{name}: cannot be read: {problem.strerror}. Give the path of a cassette."
        ) from problem
    except Malformed as problem:
        raise UnreadableRecording(f"{name}: {problem}. Give the path of a cassette.") from problem


def _check_addresses(content: CassetteContent, name: str) -> CassetteContent:
    """The content, if all its addresses are valid."""
    for number, interaction in enumerate(content.interactions, 1):
        try:
            urlsplit(interaction.uri)
        except ValueError as problem:
            where = f"{name}: exchange {number}: its address is none ({problem})"
            raise UnreadableRecording(f"{where}. Record it again, or mend that place.") from problem
    return content


@contextmanager
def lock_cassette(path: Path) -> Iterator[None]:
    """Holds the right to record a cassette, at most until the process ends; RecordError if another recorder has it."""
    import filelock  # late: it takes longer to import than all that only reads cassettes

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
        with suppress(OSError):  # first, so that nobody locks a file that is about to be removed
            os.unlink(lock.lock_file)
        lock.release()


def is_free(path: Path) -> bool:
    """Whether a cassette neither exists nor is being recorded."""
    return not (path.exists() or _lock_path(path).exists())


def _lock_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def replace_file(path: Path, text: str) -> None:
    """Replace a file as a whole; RecordError if that fails, and the file is unchanged."""
    with _explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        number, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(number, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(beside, _file_mode(path))
            os.replace(beside, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside)
            raise


def _file_mode(path: Path) -> int:
    """The permissions of the file that is replaced, or those of a new one."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


@contextmanager
def _explain_write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        way = WRITE_ERROR_FIXES.get(problem.errno or 0, "Make the folder writable, or record into another one")
        why = "the disk is full" if problem.errno == errno.ENOSPC else problem.strerror
        raise RecordError(
            f"{path.as_posix()}: cannot be written: {why}. What was there is unchanged. {way}."
        ) from problem


def _secret_found_text(path: Path, places: Sequence[str], written: int) -> str:
    more = f"\n  and {len(places) - MAX_PLACES_LISTED} more" if len(places) > MAX_PLACES_LISTED else ""
    listed = "".join(f"\n  {place}" for place in places[:MAX_PLACES_LISTED])
    before = f" The first {pluralize(written, 'exchange')} of this recording are there." if written else ""
    return (
        f"{path.as_posix()}: not written, because the recording still holds what looks secret:{listed}{more}\n"
        f"Leave it out of the request, or name its value as a secret, and record again.{before}"
    )
