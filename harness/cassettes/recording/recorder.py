"""Records a cassette: a thread scrubs each exchange once, when it has ended, and appends it to the journal.

The cassette is composed from the journal at the end. A secret or an id that is learned only after an exchange that
contains it was appended is masked in that one, too: the journal gets a new line for it.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from urllib.parse import urlsplit

from harness.api.http.dialects import parse_api_path
from harness.cassettes.files import RecordError, lock_cassette
from harness.cassettes.format.interaction import CassetteHeader, Interaction, find_client
from harness.cassettes.format.serializer import (
    DumpedExchange,
    compose_cassette,
    dump_cassette,
    dump_exchange,
    parse_cassette,
)
from harness.cassettes.recording.journal import Journal, JournalEntry, Recovered, recover_recording, recovered_path
from harness.cassettes.scrubbing.leak_check import secrets_in
from harness.cassettes.scrubbing.mask_interactions import Scrubber, decode_bodies, known_secrets
from harness.cassettes.scrubbing.mask_text import Unsearchable
from harness.cassettes.scrubbing.masks import SeenWords
from harness.core.text import pluralize

MAX_PLACES_LISTED = 5
"""How many places of secrets an error lists."""
SYNC_INTERVAL = 0.2
"""Seconds between two times that the journal is forced to the disk and looks at exchanges in progress."""
MAX_WAITING = 2
"""How many exchanges may wait to be scrubbed; new requests then wait, too, as what waits is lost with the process."""
WAITING_POLL = 0.002
"""Seconds between two looks at whether a request still has to wait."""
PROGRESS_PAUSE_FACTOR = 20
"""Exchanges in progress are appended again only after this many times the duration of the last time."""


class SecretFound(RecordError):
    """Raised for a recording that contains a secret and is not written; the text names the places."""


class _Leak(Exception):
    """Raised for an exchange that still seems to contain secrets, at these places."""

    def __init__(self, places: Sequence[str]) -> None:
        self.places = places


class Recorder:
    """Records a cassette: `add` interactions, then `save`, or leave the `with` block of `open_recorder`.

    `secrets` are values that must not be written. The header's date, dialect and client are filled in if empty.
    `recovered` is what an earlier recorder of the cassette had left, `existing` are interactions of the file that are
    kept before the new ones, `in_progress` returns exchanges that have not ended. Also observes a `Recording`.
    """

    def __init__(
        self, path: Path, header: CassetteHeader, *, secrets: Iterable[str] = (), recovered: Recovered | None = None
    ) -> None:
        self.path = path
        self.recovered = recovered
        self.existing: Sequence[Interaction] = ()
        self.in_progress: Callable[[], Mapping[int, Interaction]] = dict
        self._header = replace(header, recorded=header.recorded or datetime.now(UTC).date().isoformat())
        self._secrets = tuple(secrets)
        self._drop_secret_command(self._secrets)
        self._scrubber = Scrubber(self._secrets)
        self._seen = SeenWords()
        self._journal = Journal(path)
        self._problems: dict[int, Exception] = {}
        self._dialect: tuple[float, str] = (float("inf"), "")
        self._client: tuple[float, tuple[str, str]] = (float("inf"), ("", ""))
        self._ended: SimpleQueue[tuple[int, Interaction] | None] = SimpleQueue()
        self._count = 0
        self._extents: dict[int, int] = {}
        self._due = self._progress_due = 0.0
        self._thread: Thread | None = Thread(target=self._run, name="harness-recorder", daemon=True)
        self._thread.start()

    def add(self, interaction: Interaction) -> None:
        """Add an interaction."""
        self.after_interaction(self._count + 1, interaction)

    async def before_send(self, number: int, request: Interaction) -> None:  # noqa: ARG002
        """Let a request wait while exchanges that have ended are not in the journal yet."""
        while self._ended.qsize() > MAX_WAITING:
            await asyncio.sleep(WAITING_POLL)

    def after_interaction(self, number: int, interaction: Interaction | None) -> None:
        """Add an interaction that has ended, by the number of its request."""
        if interaction is None:
            return
        if not self._count:
            for place, recorded in enumerate(self.existing, 1 - len(self.existing)):
                self._ended.put((place, recorded))
        self._count += 1
        self._ended.put((number, interaction))

    def _run(self) -> None:
        while True:
            with suppress(Empty):
                if (ended := self._ended.get(timeout=SYNC_INTERVAL)) is None:
                    return
                self._record(*ended)
            if time.monotonic() >= self._due:
                self._record_progress()
                self._journal.sync()
                self._due = time.monotonic() + SYNC_INTERVAL

    def _record_progress(self) -> None:
        """Append the exchanges in progress as far as they came, if it is not too soon."""
        began = time.monotonic()
        if began < self._progress_due:
            return
        for number, interaction in self.in_progress().items():
            extent = len(interaction.chunks) + len(interaction.frames)
            if extent != self._extents.get(number):
                self._extents[number] = extent
                self._record(number, interaction, is_whole=False)
        ended = time.monotonic()
        self._progress_due = ended + PROGRESS_PAUSE_FACTOR * (ended - began)

    def _record(self, number: int, interaction: Interaction, *, is_whole: bool = True) -> None:
        try:
            if new := self._scrubber.learn_secrets(interaction):
                self._drop_secret_command(new)
                self._mask_late(new, secrets=new)
            plain = decode_bodies(interaction, number)
            self._mask_late(self._scrubber.learn_ids(plain))
            self._journal.write_header(self._complete_header(number, plain))
            self._append(number, plain, known_secrets([plain]), is_whole)
        except Exception as problem:
            if is_whole:  # one in progress is recorded again
                self._withhold(number, problem)

    def _append(self, number: int, plain: Interaction, secrets: Sequence[str], is_whole: bool) -> None:
        clean, texts, unchanged = self._scrubber.scrub(plain)
        dumped = dump_exchange(clean)
        place = "sockets" if dumped.is_socket else "interactions"
        if places := secrets_in(f"{place}:\n{dumped.text}", (*self._secrets, *secrets), unchanged):
            raise _Leak(places)
        self._journal.append(JournalEntry(number, *dumped, is_whole))
        self._seen.add(number, dumped.text, texts)

    def _withhold(self, number: int, problem: Exception) -> None:
        self._problems[number] = problem
        self._journal.append(JournalEntry(number, "", False, False))

    def _mask_late(self, values: Sequence[str], secrets: Sequence[str] = ()) -> None:
        """Mask secrets or ids that were learned just now in the exchanges that were appended before."""
        if not (marks := self._seen.find_marks(values)):
            return
        for number, text, is_socket, is_whole in self._journal.entries():
            if self._seen.may_contain(number, text, marks):
                try:
                    whole = "".join(compose_cassette(self._header, [DumpedExchange(text, is_socket)]))
                    (interaction,) = parse_cassette(whole, self.path.as_posix()).interactions
                    self._append(number, interaction, secrets, is_whole)
                except Exception as problem:
                    self._withhold(number, problem)

    def _complete_header(self, number: int, plain: Interaction) -> CassetteHeader:
        """Return the header as far as it is known; exchanges may end in any order."""
        if number < self._dialect[0]:
            self._dialect = number, parse_api_path(urlsplit(plain.uri).path).dialect
        if number < self._client[0] and (client := find_client([plain]))[0]:
            self._client = number, client
        header, (sdk, version) = self._header, self._client[1]
        return replace(
            header,
            dialect=header.dialect or self._dialect[1],
            sdk=header.sdk or sdk,
            sdk_version=header.sdk_version or version,
        )

    def _drop_secret_command(self, secrets: Iterable[str]) -> None:
        """Drop a command line that contains a secret: it only informs readers."""
        if self._header.command and secrets_in(dump_cassette(self._header, ()), secrets):
            self._header = replace(self._header, command="")

    def save(self) -> None:
        """Write the cassette, unless it has no new interactions.

        SecretFound if it would contain a secret, RecordError if the file cannot be written; the old file is then
        unchanged, and the exchanges are kept.
        """
        if not self._stop():
            return
        if self._problems:
            self._raise_problem()
        if not self._journal.has_whole():
            self._journal.remove()
            return
        try:
            self._journal.compose(self.path, only_whole=True)
        except RecordError as problem:
            lost = self._journal.unwritten_count
            self._journal.close()
            kept = f"What was recorded is in {self._journal.path.as_posix()}, and the next recorder recovers it"
            missing = f", without {pluralize(lost, 'exchange')} for which there was no space" if lost else ""
            raise RecordError(f"{problem} {kept}{missing}.") from problem
        self._journal.remove()

    def discard(self) -> None:
        """Forget the recording."""
        if self._stop():
            self._journal.remove()

    def leave(self) -> None:
        """End the recording without a cassette: the next recorder recovers it."""
        if self._stop():
            self._journal.close()

    def _stop(self) -> bool:
        """Record what has ended; False if the recording was ended before."""
        thread, self._thread = self._thread, None
        if thread:
            self._ended.put(None)
            thread.join()
        return thread is not None

    def _raise_problem(self) -> None:
        """Raise the error of the exchanges that cannot be written, and keep the others in a file of their own."""
        rest = ""
        if self._journal.has_whole():
            count = self._journal.compose(file := recovered_path(self.path), only_whole=True)
            rest = f" The other {pluralize(count, 'exchange')} of this recording are in {file.as_posix()}."
        self._journal.remove()
        places = list[str]()
        for number, problem in sorted(self._problems.items()):
            if isinstance(problem, Unsearchable):
                raise Unsearchable(f"{problem}{rest}")
            if not isinstance(problem, _Leak):
                raise problem
            places += [f"exchange {number}, {place}" for place in problem.places]
        raise SecretFound(_secret_found_text(self.path, places, rest))


@contextmanager
def open_recorder(path: Path, header: CassetteHeader, *, secrets: Iterable[str] = ()) -> Iterator[Recorder]:
    """Open a recorder under its cassette's lock; it writes at the end of the block, even after an error."""
    with lock_cassette(path):
        recorder = Recorder(path, header, secrets=secrets, recovered=recover_recording(path))
        try:
            yield recorder
        finally:
            recorder.save()


def _secret_found_text(path: Path, places: Sequence[str], rest: str) -> str:
    more = f"\n  and {len(places) - MAX_PLACES_LISTED} more" if len(places) > MAX_PLACES_LISTED else ""
    listed = "".join(f"\n  {place}" for place in places[:MAX_PLACES_LISTED])
    return (
        f"{path.as_posix()}: not written, because the recording still contains possible secrets:{listed}{more}\n"
        f"Leave it out of the request, or name its value as a secret, and record again.{rest}"
    )
