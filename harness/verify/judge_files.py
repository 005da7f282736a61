"""Judges any number of recordings in constant memory, files as well as exchanges while they are recorded.

Files become a tally and spools of findings.
The exchanges of one conversation share a World. Files are judged in parallel (`jobs`); the tally keeps their order.
Exchanges that are recorded are judged by a single thread in the order of the requests, as those of the cassette.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from traceback import extract_tb
from typing import Protocol

import orjson

from harness.api.http.dialects import OPENAI, Upstream
from harness.api.models import MODELS
from harness.cassettes.files import files, printable_path
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.format.recorded import Recorded
from harness.cassettes.format.untrusted import NotARecording
from harness.contract.overrides import Overrides, normalize_path
from harness.core.errors import ConfigError, HarnessError
from harness.core.exchange import Json
from harness.core.json_values import as_object, as_string
from harness.core.limits import small_collections
from harness.core.secret_prefixes import redact
from harness.verify.judging.circumstances import adopt_gateway, looks_like_gateway
from harness.verify.judging.judge import judge, predict_violation
from harness.verify.judging.rerender import judge_rerendering
from harness.verify.judging.verdict import COUNTED_BY_REASON, DISAGREEMENTS, DRIFTS, FINDINGS, Verdict, VerdictKind
from harness.verify.judging.websockets import to_recorded
from harness.verify.read_files import read_numbered
from harness.world.world import World

_FINE_TUNED = "ft:"
_MAX_LENGTH = 80


def unlisted_model(recorded: Recorded) -> str:
    """Return the name, shortened if long, of a model that answered at OpenAI and is not in the table; else empty."""
    if recorded.provider != OPENAI or not recorded.path.endswith("/responses") or recorded.status != 200:
        return ""
    name = as_string(as_object(recorded.request).get("model"))
    if name.startswith(_FINE_TUNED) or MODELS.find(name):
        return ""
    return name[:_MAX_LENGTH]


MAX_OPEN_WORLDS = 32
"""The maximum number of Worlds in memory: JSON lines may mix the exchanges of several recordings."""
MAX_GROUPED = 10_000
"""The maximum number of grouped entries."""
OBSERVER_SUFFIX = ".seen"
"""The suffix of the file that an observer may write to."""


@dataclass(slots=True)
class Tally:
    """The outcome for some recordings: exchanges by verdict, the reasons of those not judged, and where the entries are.

    An exchange counts once per verdict, however many differences are listed; `streams.events` counts events. `spools`
    are files of JSON lines, each `[verdict, entry]` (other lines are ignored), in the order of the recordings.
    `respelled` tells whether answers were compared with the mock's own. `bare_paths` are the given paths that contained
    no exchange and nothing unreadable. `applied` are the lines of the user's overrides that changed anything,
    `judged_files` all files that were read.
    """

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    grouped: dict[tuple[str, str, str], Json] = field(default_factory=dict)
    spools: list[Path] = field(default_factory=list)
    respelled: bool = False
    bare_paths: list[Path] = field(default_factory=list)
    applied: set[int] = field(default_factory=set)
    judged_files: set[str] = field(default_factory=set)

    def add_grouped(self, at: str, entry: Json) -> None:
        """Add an entry that may be frequent: only the first of its kind is kept, with a count."""
        key = (at, normalize_path(entry["at"]), entry["message"])
        if known := self.grouped.get(key):
            known["times"] += entry.get("times", 1)
        elif len(self.grouped) < MAX_GROUPED:
            self.grouped[key] = {"times": 1, **entry}

    def merge(self, other: Tally) -> None:
        """Add the outcome for the recordings that follow these."""
        self.counts += other.counts
        self.reasons += other.reasons
        self.spools += other.spools
        self.applied |= other.applied
        self.judged_files |= other.judged_files
        for (kind, *_), entry in other.grouped.items():
            self.add_grouped(kind, entry)

    def entries(self, at: str) -> Iterator[Json]:
        """Yield the entries for a verdict, in order."""
        yield from (entry for (named, *_), entry in self.grouped.items() if named == at)
        for spool in self.spools:
            with spool.open("rb") as lines:
                entries = (orjson.loads(line) for line in lines if line.startswith(b"["))
                yield from (entry for named, entry in entries if named == at)

    @property
    def is_clean(self) -> bool:
        """Whether there are no findings; drift and unverifiable exchanges do not count."""
        return not any(self.counts[kind] for kind in FINDINGS)

    @property
    def is_learnable(self) -> bool:
        """Whether there is anything that `responses-harness learn` could learn from."""
        return any(self.counts[kind] for kind in (*DISAGREEMENTS, *DRIFTS))


class JudgeObserver(Protocol):
    """Observes how a file is judged."""

    def begin_exchange(self, number: int, recorded: Recorded, world: World) -> None:
        """Begin the exchange that is judged next, from record `number` (from 1); `world` remembers the earlier ones."""

    def note_verdict(self, verdict: Verdict) -> None:
        """Receive a verdict on the exchange that was begun last, or on the file."""

    def close(self) -> None:
        """Finish, after all exchanges of the file were judged."""


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """How recordings are judged, the same for every file.

    `hosts` are gateways whose exchanges are judged as OpenAI's. With `respelled`, every answer is also compared with
    the mock's own (`judging.rerender`). `overrides` takes precedence over the mock's contract. `make_observer` is
    called in the process that judges a recording, with the path of the recording and of a file (`<n>.seen`) that the
    observer may write.
    """

    hosts: Sequence[str] = ()
    respelled: bool = False
    overrides: Overrides | None = None
    make_observer: Callable[[Path, Path], JudgeObserver] | None = None


def verify_recordings(
    paths: Sequence[Path],
    folder: Path,
    jobs: int = 1,
    options: JudgeOptions = JudgeOptions(),
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Tally:
    """Judge every recording at `paths`, files or folders; `folder` is an empty folder for the findings.

    `progress` is called with the number of judged files and of all files. HarnessError if a path does not exist; files
    that are not recordings are counted, unreadable ones are listed.
    """
    tally = Tally(respelled=options.respelled)
    named = {path for path in paths if path.is_file()}
    listed = {path: list(files([path])) for path in paths}
    recordings = list(dict.fromkeys(file for listing in listed.values() for file in listing))
    spools = (folder / f"{number}.jsonl" for number in range(len(recordings)))
    tallies = _judge_files(
        partial(_judge_file, options), recordings, spools, [file in named for file in recordings], jobs
    )
    filled: set[Path] = set()
    for number, (file, judged) in enumerate(zip(recordings, tallies, strict=True), 1):
        tally.merge(judged)
        if judged.counts["exchanges"] or not judged.is_clean:
            filled.add(file)
        if progress:
            progress(number, len(recordings))
    tally.bare_paths = [path for path, files in listed.items() if filled.isdisjoint(files)]
    return tally


def _judge_files(
    judge_one: Callable[[Path, Path, bool], Tally],
    recordings: Sequence[Path],
    spools: Iterable[Path],
    explicit: Sequence[bool],
    jobs: int,
) -> Iterator[Tally]:
    if jobs == 1 or len(recordings) < 2:
        yield from map(judge_one, recordings, spools, explicit)
        return
    done = 0
    try:
        with ProcessPoolExecutor(min(jobs, len(recordings))) as pool:
            for tally in pool.map(judge_one, recordings, spools, explicit):
                yield tally
                done += 1
    except BrokenProcessPool:
        after = f"{recordings[done].as_posix()} or one of the {jobs} after it"
        raise HarnessError(
            f"a worker process died, probably out of memory, while judging {after}. "
            "Judge it alone, or with fewer --jobs."
        ) from None


def _judge_file(options: JudgeOptions, recording: Path, spool: Path, explicit: bool) -> Tally:
    make_observer = options.make_observer
    observer = make_observer(recording, spool.with_suffix(OBSERVER_SUFFIX)) if make_observer else None
    with small_collections():  # a large file is many objects, and little garbage
        verdicts = _judge_recording(options, recording, explicit, observer)
        tally = tally_verdicts(_observe(verdicts, observer) if observer else verdicts, spool)
        if observer:
            observer.close()
    tally.judged_files = {printable_path(recording)}
    return tally


def tally_verdicts(verdicts: Iterable[Verdict], spool: Path) -> Tally:
    """Tally these verdicts; entries go to the file `spool`, which is deleted if it stays empty.

    A verdict of kind EXCHANGE precedes the verdicts on each exchange.
    """
    tally = Tally()
    counted: set[VerdictKind] = set()
    with spool.open("wb") as lines:
        for verdict in verdicts:
            kind, entry = verdict.kind, verdict.entry
            if kind is VerdictKind.EXCHANGE:
                counted.clear()
            if kind is VerdictKind.OVERRULED:
                tally.applied.update(entry.line for entry in verdict.applied)
                continue
            if kind is VerdictKind.STREAM_EVENTS and entry:
                tally.counts[kind] += entry["times"]
                continue
            # An exchange counts once per verdict, however many differences it has.
            tally.counts[kind] += kind not in counted
            counted.add(kind)
            if entry is None:
                continue
            if kind in COUNTED_BY_REASON:
                tally.reasons[kind, entry["why"]] += 1
            elif kind in DRIFTS:
                tally.add_grouped(kind, entry)
            else:
                lines.write(orjson.dumps([kind, entry]) + b"\n")
    if spool.stat().st_size:
        tally.spools.append(spool)
    else:
        spool.unlink()
    return tally


def _observe(verdicts: Iterable[Verdict], observer: JudgeObserver) -> Iterator[Verdict]:
    for verdict in verdicts:
        observer.note_verdict(verdict)
        yield verdict


def _judge_recording(
    options: JudgeOptions, recording: Path, explicit: bool, observer: JudgeObserver | None
) -> Iterator[Verdict]:
    try:
        for number, recorded, world in read_with_worlds(recording, options.hosts, options.overrides):
            if observer:
                observer.begin_exchange(number, recorded, world)
            yield Verdict(VerdictKind.EXCHANGE)
            if recorded.host:
                yield Verdict(VerdictKind.HOST, {"why": recorded.host})
            if looks_like_gateway(recorded):
                yield Verdict(VerdictKind.GATEWAY, {"why": recorded.host})
            if model := unlisted_model(recorded):
                yield Verdict(VerdictKind.MODEL, {"why": model})
            yield from judge_exchange(recorded, world, options.respelled)
    except NotARecording as problem:
        kind = VerdictKind.UNREADABLE if explicit else VerdictKind.OTHER_FILE
        yield Verdict(kind, _unreadable_entry(recording, problem))
    except HarnessError as problem:
        yield Verdict(VerdictKind.UNREADABLE, _unreadable_entry(recording, problem))


def judge_exchange(recorded: Recorded, world: World, respelled: bool = False) -> Iterator[Verdict]:
    """Judge one exchange; an exception in a rule becomes a verdict, too."""
    for judges in (judge_rerendering, judge) if respelled else (judge,):  # judge() changes the World, so it comes last
        try:
            yield from judges(recorded, world)
        except ConfigError as problem:  # a package is missing, which the user can install
            yield Verdict(VerdictKind.UNREADABLE, {"file": recorded.id, "message": str(problem)})
        except Exception as problem:
            *_, last = extract_tb(problem.__traceback__)
            message = (
                f"the harness failed on {recorded.id}: {last.name} raised {type(problem).__name__}; please report it"
            )
            yield Verdict(VerdictKind.UNREADABLE, {"file": recorded.id, "message": redact(message)})


def _unreadable_entry(recording: Path, problem: HarnessError) -> Json:
    return {"file": printable_path(recording), "message": redact(str(problem))}


def read_with_worlds(
    recording: Path, hosts: Collection[str], overrides: Overrides | None
) -> Iterator[tuple[int, Recorded, World]]:
    """Read each exchange with the number of its record and the World of its conversation.

    Beyond MAX_OPEN_WORLDS, the least recently used World is dropped. Raises the errors of `read_recording`.
    """
    worlds: OrderedDict[str, World] = OrderedDict()
    for number, read in read_numbered(recording):
        recorded = adopt_gateway(read, hosts)
        world = worlds.pop(recorded.file, None) or World(recorded.file)
        worlds[recorded.file] = world  # the last one is the one in use
        if len(worlds) > MAX_OPEN_WORLDS:
            worlds.popitem(last=False)
        world.overrides = overrides
        yield number, recorded, world


class RecordingJudge:
    """Judges the exchanges of a recording: `tally` holds the outcome, `notice` is called for each refused request.

    `name` is the name of the recording, `folder` an empty folder for the findings. `overrides` takes precedence over
    the mock's contract.
    """

    def __init__(
        self,
        name: str,
        upstream: Upstream,
        folder: Path,
        notice: Callable[[str], None],
        overrides: Overrides | None = None,
    ) -> None:
        self.tally = Tally(respelled=True)
        self._name = name
        self._upstream = upstream
        self._folder = folder
        self._notice = notice
        self._world = World(name)
        self._world.overrides = overrides
        self._thread = ThreadPoolExecutor(1, "harness-judge")
        self._ended_early: dict[int, Interaction | None] = {}
        self._next_number = 1
        self._judged_count = 0

    async def before_send(self, number: int, request: Interaction) -> None:
        """Judge a request or a WebSocket message before it is sent."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._judge_request, number, request)

    def after_interaction(self, number: int, interaction: Interaction | None) -> None:
        """Judge a complete exchange after all exchanges before it."""
        self._thread.submit(self._judge_in_order, number, interaction)

    def close(self) -> None:
        """Judge the exchanges that were still waiting for one that never ended, and stop the thread."""
        self._thread.submit(self._judge_waiting).result()
        self._thread.shutdown()

    def _judge_request(self, number: int, request: Interaction) -> None:
        for recorded in to_recorded(request, f"{self._name}#{number}", self._upstream):
            with suppress(Exception):  # a rule that fails is reported with the complete exchange
                if violation := predict_violation(recorded, self._world):
                    what = f"request {number}, {recorded.method} {recorded.path}"
                    self._notice(f"{what}: the contract refuses it ({violation.rule.id}): {violation.error.message}")

    def _judge_in_order(self, number: int, interaction: Interaction | None) -> None:
        # Exchanges may end in any order, but the World must see them in the order of the requests.
        self._ended_early[number] = interaction
        while self._next_number in self._ended_early:
            self._judge_interaction(self._ended_early.pop(self._next_number))
            self._next_number += 1

    def _judge_waiting(self) -> None:
        for number in sorted(self._ended_early):
            self._judge_interaction(self._ended_early[number])

    def _judge_interaction(self, interaction: Interaction | None) -> None:
        if interaction is not None:
            self._judged_count += 1
            self.tally.merge(tally_verdicts(self._verdicts(interaction), self._folder / f"{self._judged_count}.jsonl"))

    def _verdicts(self, interaction: Interaction) -> Iterator[Verdict]:
        for recorded in to_recorded(interaction, f"{self._name}#{self._judged_count}", self._upstream):
            if recorded.status:
                yield Verdict(VerdictKind.EXCHANGE)
                yield from judge_exchange(recorded, self._world, respelled=True)
