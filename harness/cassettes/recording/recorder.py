"""Records exchanges, finished or in progress, into a cassette.

A thread scrubs each exchange once, when it has ended, and appends it to the journal. The cassette is composed from the
journal at the end. A secret or an id that is learned only after an exchange that contains it was appended is masked in
that one, too: the journal gets a new line for it.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Protocol
from urllib.parse import urlsplit

from harness.api.http.dialects import parse_api_path
from harness.cassettes.files import RecordError, lock_cassette
from harness.cassettes.format.interaction import CLIENT, CassetteHeader, Chunk, Frame, Interaction, find_client
from harness.cassettes.format.serializer import (
    DumpedExchange,
    compose_cassette,
    dump_cassette,
    dump_exchange,
    parse_cassette,
)
from harness.cassettes.recording.journal_file import Journal, JournalEntry, Recovered, recover_recording, recovered_path
from harness.cassettes.scrubbing.leak_check import secrets_in
from harness.cassettes.scrubbing.mask_interactions import Scrubber, decode_bodies, known_secrets
from harness.cassettes.scrubbing.mask_text import Unsearchable
from harness.cassettes.scrubbing.masks import SeenWords
from harness.core.headers import HeaderPairs, normalize_headers
from harness.core.text import pluralize


@dataclass(slots=True)
class InFlightInteraction:
    """Builds an interaction while it is in progress; it counts as `cut` until its end."""

    number: int
    request: Interaction
    began: float = 0.0
    chunks: list[Chunk] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    cut: bool = True

    def start_answer(self, status: int, headers: HeaderPairs, reason: str = "") -> None:
        """Add the head of the answer."""
        self.request = replace(self.request, status=status, answer_headers=normalize_headers(headers), reason=reason)

    def add_chunk(self, data: bytes) -> None:
        """Add a chunk of the answer."""
        self.chunks.append((time.perf_counter() - self.began, data))

    def add_frame(self, side: str, text: str) -> None:
        """Add a message of a WebSocket, from `client` or `server`."""
        self.frames.append((time.perf_counter() - self.began, side, text))

    @property
    def silent_seconds(self) -> float:
        """The seconds since its last message, or since its beginning."""
        return time.perf_counter() - self.began - (self.frames[-1][0] if self.frames else 0.0)

    @property
    def interaction(self) -> Interaction | None:
        """The interaction so far; None until there is an answer."""
        if not self.request.status:
            return None
        return replace(self.request, chunks=tuple(self.chunks), frames=tuple(self.frames), cut=self.cut)


class InteractionObserver(Protocol):
    """Observes exchanges while they are recorded."""

    async def before_send(self, number: int, request: Interaction) -> None:
        """Handle a request, or a WebSocket message, that is about to be sent."""

    def after_interaction(self, number: int, interaction: Interaction | None) -> None:
        """Handle the end of an exchange; None if there was no answer."""


class Recording:
    """The `interactions` in the order of their requests, and the `problems` of reaching the API with their counts.

    After an interruption, only exchanges that are not cut are added.
    """

    def __init__(self, *observers: InteractionObserver | None) -> None:
        self.problems: Counter[str] = Counter()
        self._observers = [observer for observer in observers if observer]
        self._begun = 0
        self._interrupted = False
        self._interactions: dict[int, Interaction] = {}
        self._open: dict[int, InFlightInteraction] = {}

    @property
    def interactions(self) -> list[Interaction]:
        """The exchanges that have ended."""
        return [self._interactions[number] for number in sorted(self._interactions)]

    def in_progress(self) -> dict[int, Interaction]:
        """Return the exchanges in progress that have an answer, as far as they came, by number; they count as cut."""
        open_ones = ((number, exchange.interaction) for number, exchange in [*self._open.items()])
        return {number: interaction for number, interaction in open_ones if interaction}

    async def begin_interaction(self, request: Interaction) -> InFlightInteraction:
        """Start an exchange whose request is about to be sent."""
        self._begun += 1
        exchange = self._open[self._begun] = InFlightInteraction(self._begun, request)
        for observer in self._observers:
            await observer.before_send(exchange.number, request)
        exchange.began = time.perf_counter()
        return exchange

    async def add_client_message(self, exchange: InFlightInteraction, text: str) -> None:
        """Add a WebSocket message that is about to be sent."""
        exchange.add_frame(CLIENT, text)
        message = replace(exchange.request, frames=(exchange.frames[-1],))
        for observer in self._observers:
            await observer.before_send(exchange.number, message)

    def end_interaction(self, exchange: InFlightInteraction) -> None:
        """End an exchange."""
        del self._open[exchange.number]
        interaction = exchange.interaction
        if self._interrupted and exchange.cut:
            return
        if interaction:
            self._interactions[exchange.number] = interaction
        for observer in self._observers:
            observer.after_interaction(exchange.number, interaction)

    def note_problem(self, problem: str) -> None:
        """Count a problem between a client and the API, unless the recording was interrupted."""
        if not self._interrupted:
            self.problems[problem] += 1

    def interrupt(self) -> None:
        """From now on drop every exchange that is cut, as the interruption cut it, not the API."""
        self._interrupted = True


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
            self._journal.set_header(self._complete_header(number, plain))
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
            self._journal.compose(self.path)
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
            count = self._journal.compose(file := recovered_path(self.path))
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
