"""The journal of a recording: its scrubbed exchanges, in a file beside the cassette until the cassette is composed.

    {"header": {…}}
    {"number": 3, "text": "- request: …", "is_socket": false, "is_whole": true}

A line replaces earlier ones of its number; one without a text removes it. `text` is the exchange as the cassette will
contain it, `is_whole` false if it was still in progress. A recorder that was killed leaves its journal; the next one
composes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from harness.cassettes.files import CassetteInUse, RecordError, explain_write_errors, journal_path, lock_cassette
from harness.cassettes.format.interaction import CassetteHeader
from harness.cassettes.format.serializer import DumpedExchange, compose_cassette
from harness.core.text import pluralize
from harness.report.replace_file import open_replacement

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_OWNER_ONLY = 0o600


class JournalEntry(NamedTuple):
    """An exchange in a journal."""

    number: int
    text: str
    is_socket: bool
    is_whole: bool


class Journal:
    """The journal of a cassette, created with its first line. What cannot be written, as the disk is full, is kept."""

    def __init__(self, cassette: Path) -> None:
        self.path = journal_path(cassette)
        self.header = CassetteHeader()
        self.damaged_count = 0
        self._descriptor: int | None = None
        self._starts: dict[int, int] = {}
        self._unwritten: dict[int, JournalEntry] = {}
        self._is_header_written = False

    def read(self) -> None:
        """Read the journal that another recorder has left; a last line that it did not finish does not count."""
        start = 0
        with self.path.open("rb") as lines:
            for line in lines:
                try:
                    read = orjson.loads(line)
                    if "header" in read:
                        self.header = CassetteHeader(**read["header"])
                    else:
                        self._note(JournalEntry(**read), start)
                except (ValueError, TypeError):
                    self.damaged_count += line.endswith(b"\n")
                start += len(line)

    def set_header(self, header: CassetteHeader) -> None:
        """Note the header of the cassette, which is written before the next exchange, unless it is there."""
        self._is_header_written = self._is_header_written and header == self.header
        self.header = header

    def append(self, entry: JournalEntry) -> None:
        """Append an exchange; UnicodeError for a text that no file can contain."""
        entry.text.encode()
        self._unwritten[entry.number] = entry
        self._write_unwritten()

    def _write_unwritten(self) -> None:
        with suppress(OSError):  # tried again later
            if not self._is_header_written:
                self._write({"header": asdict(self.header)})
                self._is_header_written = True
            for number in [*self._unwritten]:
                start = self._write(self._unwritten[number]._asdict())
                self._note(self._unwritten.pop(number), start)

    def _write(self, line: dict[str, Any]) -> int:
        """Append a line and return where it begins; OSError leaves the file as it was."""
        if self._descriptor is None:
            self._descriptor = os.open(self.path, _APPEND, _OWNER_ONLY)
        data = memoryview(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        start = os.fstat(self._descriptor).st_size
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            os.ftruncate(self._descriptor, start)
            raise
        return start

    def _note(self, entry: JournalEntry, start: int) -> None:
        self._starts.pop(entry.number, None)
        if entry.text:
            self._starts[entry.number] = start

    @property
    def unwritten_count(self) -> int:
        """The number of exchanges that are only in the memory."""
        return len(self._unwritten)

    def sync(self) -> None:
        """Force what was written to the disk."""
        if self._unwritten:
            self._write_unwritten()
        if self._descriptor is not None:
            with suppress(OSError):
                os.fsync(self._descriptor)

    def entries(self) -> Iterator[JournalEntry]:
        """Yield the exchanges in the order of their requests."""
        with self.path.open("rb") if self._starts else nullcontext() as lines:
            for number in sorted({*self._starts, *self._unwritten}):
                entry = self._unwritten.get(number)
                if entry is None and lines:
                    lines.seek(self._starts[number])
                    entry = JournalEntry(**orjson.loads(lines.readline()))
                if entry and entry.text:
                    yield entry

    def compose(self, path: Path, *, only_whole: bool = True) -> int:
        """Write the cassette and return how many exchanges it has; RecordError leaves the file as it was."""
        written = 0

        def exchanges() -> Iterator[DumpedExchange]:
            nonlocal written
            for entry in self.entries():
                if entry.is_whole or not only_whole:
                    written += 1
                    yield DumpedExchange(entry.text, entry.is_socket)

        with explain_write_errors(path), open_replacement(path) as out:
            for part in compose_cassette(self.header, exchanges()):
                out.write(part.encode())
        return written

    def has_whole(self) -> bool:
        """Return whether there is an exchange that has ended."""
        return any(entry.is_whole for entry in self.entries())

    def close(self) -> None:
        """Close the file, which stays."""
        self.sync()
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = None

    def remove(self) -> None:
        """Remove the file."""
        self.close()
        with suppress(OSError):
            self.path.unlink()


class Recovered(NamedTuple):
    """The exchanges of a recording that was ended before its cassette was written: their file and number."""

    file: Path
    exchange_count: int
    damaged_count: int

    def __str__(self) -> str:
        """Describe what was recovered, and where it is."""
        noun = "exchange" if self.exchange_count == 1 else "exchanges"
        damaged = f", without {pluralize(self.damaged_count, 'damaged line')}" if self.damaged_count else ""
        text = f"recovered {self.exchange_count:,} {noun} of a recording that was ended{damaged}"
        return f"{text}: {self.file.as_posix()}"


def recover_recording(path: Path) -> Recovered | None:
    """Compose the journal that an ended recorder of a cassette has left, under the lock of the cassette.

    The exchanges get a file of their own beside the cassette, as that is about to be recorded.
    """
    journal = Journal(path)
    try:
        journal.read()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise RecordError(
            f"{journal.path.as_posix()}: the journal of a recording that was ended cannot be read: "
            f"{problem.strerror}. Make it readable, or remove it."
        ) from problem
    count = 0
    if any(True for _ in journal.entries()):
        count = journal.compose(file := recovered_path(path), only_whole=False)
    elif journal.damaged_count:
        raise RecordError(
            f"{journal.path.as_posix()}: not a journal of a recording, as its name says. Remove or rename it."
        )
    journal.remove()
    return Recovered(file, count, journal.damaged_count) if count else None


def recover_recordings(folder: Path) -> Iterator[Recovered]:
    """Compose the journals in a folder whose recorders have ended."""
    for file in sorted(folder.glob(".*.y*ml.journal")):
        path = file.with_name(file.name[1:].removesuffix(".journal"))
        with suppress(CassetteInUse), lock_cassette(path):
            if recovered := recover_recording(path):
                yield recovered


def recovered_path(path: Path) -> Path:
    """Return a file that is not there yet: `weather.recovered.yaml`, `weather.recovered-2.yaml`, …"""
    names = (f"{path.stem}.recovered{f'-{number}' if number > 1 else ''}{path.suffix}" for number in count(1))
    return next(file for name in names if not (file := path.with_name(name)).exists())
