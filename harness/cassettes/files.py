"""Recordings and cassettes as files: lists, reads, locks and replaces them, and notes when they were replayed.

One recorder writes a cassette at a time, and never a partial file.
"""

import os
import shlex
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from difflib import get_close_matches
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

from harness.cassettes.format.interaction import PYTEST_COMMAND, CassetteHeader
from harness.cassettes.format.serializer import CassetteContent, dump_cassette, parse_cassette
from harness.cassettes.format.untrusted import UnreadableRecording, decode_text
from harness.core.bounded_input import read_bounded, refuse_other
from harness.core.errors import HarnessError, Malformed
from harness.report.replace_file import WRITE_ERROR_FIXES, describe_write_error, open_replacement

SUFFIXES = (".yaml", ".yml", ".json", ".jsonl", ".ndjson", ".har")
"""The suffixes of recordings, each optionally followed by `.gz`."""
_ADVICE = "Pass the path of a recording, or of a folder."


def files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the recordings at these paths: each file, and in each folder the files with a recording's suffix, sorted.

    UnreadableRecording for a path that does not exist, or a folder that cannot be listed. No folder is visited twice.
    """
    for path in paths:
        if path.is_dir():
            yield from _below(path)
            continue
        try:
            refuse_other(path)
        except FileNotFoundError:
            raise UnreadableRecording(
                f"{printable_path(path)}: no such file or folder. {_suggest_path(path)}"
            ) from None
        except OSError as problem:
            why = f"cannot be read: {problem.strerror}"
            raise UnreadableRecording(f"{printable_path(path)}: {why}. {_ADVICE}") from problem
        yield path


def _suggest_path(path: Path) -> str:
    """Name the path most similar to one at which nothing is, or a link to nothing, else advise."""
    with suppress(OSError):
        others = [name for name in os.listdir(path.parent) if name != path.name]
        if near := get_close_matches(path.name, others, 1):
            return f"Did you mean {printable_path(path.with_name(near[0]))!r}?"
    return _ADVICE


def _below(folder: Path) -> Iterator[Path]:
    def refuse(problem: OSError) -> None:
        raise UnreadableRecording(
            f"{problem.filename}: cannot be listed: {problem.strerror}. Make it readable, or leave it out."
        )

    seen = {os.path.realpath(folder)}
    for parent, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        real = {name: os.path.realpath(Path(parent, name)) for name in sorted(folders)}
        folders[:] = [name for name, where in real.items() if where not in seen]
        seen.update(real.values())
        here = (Path(parent, name) for name in sorted(names) if recording_suffix(name))
        yield from (file for file in here if file.is_file())


def recording_suffix(name: str) -> str:
    """Return the suffix of a recording's name, without `.gz`; empty for other files."""
    plain = name.lower().removesuffix(".gz")
    return next((suffix for suffix in SUFFIXES if plain.endswith(suffix)), "")


def printable_path(path: Path) -> str:
    """Return a path as text, with bytes that are not text replaced."""
    return path.as_posix().encode("utf-8", "replace").decode()


def note_replay(cassette: Path) -> None:
    """Record that a cassette is replayed now; errors are ignored."""
    with suppress(OSError):
        note = _note_of(cassette)
        note.parent.mkdir(parents=True, exist_ok=True)
        note.touch()


def last_replay_date(cassette: Path) -> str:
    """Return the day of the last replay (YYYY-MM-DD), or an empty string if none is known."""
    try:
        return datetime.fromtimestamp(_note_of(cassette).stat().st_mtime, UTC).date().isoformat()
    except OSError:
        return ""


def _note_of(cassette: Path) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = blake2b(os.fsencode(cassette.resolve()), digest_size=16).hexdigest()
    return cache / "responses-harness" / "last-replays" / name


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
    """Return whether a cassette neither exists nor is being recorded; the lock of a killed recorder is removed."""
    if path.exists() or not (lock := _lock_path(path)).exists():
        return not path.exists()
    import filelock

    attempt = filelock.FileLock(lock, timeout=0)
    try:
        attempt.acquire()
    except (filelock.Timeout, OSError):
        return False
    with suppress(OSError):
        os.unlink(lock)
    attempt.release()
    return True


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
