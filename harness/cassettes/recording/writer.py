"""Reads, locks and replaces cassette files: one recorder at a time, and never a partial file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from harness.cassettes.format.interaction import PYTEST_COMMAND, CassetteHeader
from harness.cassettes.format.serializer import CassetteContent, dump_cassette, parse_cassette
from harness.cassettes.format.untrusted import UnreadableRecording, decode_text
from harness.core.bounded_input import read_bounded
from harness.core.errors import HarnessError, Malformed
from harness.report.replace_file import WRITE_ERROR_FIXES, describe_write_error, open_replacement

LOCK_TIMEOUT = 0.1
"""Seconds to wait for a recorder that is just ending to release its lock."""


class RecordError(HarnessError):
    """Raised for a cassette that cannot be written."""

    section = "recordings"


class CassetteInUse(RecordError):
    """Raised for a cassette that another recorder is writing."""


def read_cassette(path: Path) -> CassetteContent:
    """Read a cassette file; UnreadableRecording if it is missing or invalid."""
    name = path.as_posix()
    try:
        return _check_addresses(parse_cassette(decode_text(read_bounded(path)), name), name)
    except FileNotFoundError:
        way = "Record it, or correct the name."
        if (journal := journal_path(path)).exists():
            way = f"The exchanges in {journal.as_posix()} are recovered when it is recorded again."
        raise UnreadableRecording(f"{name}: no such cassette. {way}") from None
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
    import filelock  # late: it takes longer to import than everything needed to read cassettes

    lock = filelock.FileLock(_lock_path(path), timeout=LOCK_TIMEOUT)
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except filelock.Timeout:
            raise CassetteInUse(
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


def journal_path(path: Path) -> Path:
    """Return the file that holds the exchanges of a cassette until it is written."""
    return path.with_name(f".{path.name}.journal")


def replace_file(path: Path, text: str) -> None:
    """Replace a file atomically; RecordError if that fails, leaving the file unchanged."""
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_replacement(path) as out:
            out.write(text.encode())


@contextmanager
def explain_write_errors(path: Path) -> Iterator[None]:
    """Raise RecordError, saying why a cassette cannot be written, for an OSError in the block."""
    try:
        yield
    except OSError as problem:
        way = WRITE_ERROR_FIXES.get(problem.errno or 0, "Make the folder writable, or record into another one")
        raise RecordError(
            f"{path.as_posix()}: cannot be written: {describe_write_error(problem)}. Nothing was changed. {way}."
        ) from problem


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
