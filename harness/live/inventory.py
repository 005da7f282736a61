"""Lists cassettes: their age, origin and users, which are stale, and the cost of recording them again.

Users are found by searching the source files of a project for the names of cassettes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness.cassettes.format.interaction import SCRUBBER_VERSION, CassetteHeader, Interaction, find_client
from harness.cassettes.format.recorded import Recorded
from harness.cassettes.format.serializer import CassetteContent
from harness.cassettes.listing import files
from harness.cassettes.recording.last_used import digest_exchange, last_replay_date, replay_notes
from harness.cassettes.recording.matching import describe_request
from harness.cassettes.recording.writer import read_cassette
from harness.contract.rule import RULES
from harness.core.errors import HarnessError
from harness.core.limits import STALE_DAYS
from harness.live.client.budget import Budget, sum_budgets
from harness.live.drift.plan import estimate_resending
from harness.live.rerecording import TEST_NAME, cassette_name, dialect_of_rules, record_command
from harness.verify.read_files import NotARecording, read_recording

PYPI_PACKAGES: Mapping[str, str] = {"openai/python": "openai", "asyncopenai/python": "openai"}
"""The Python package for the name in a client's `user-agent`."""
NPM_PACKAGES: Mapping[str, str] = {"openai/js": "openai"}
"""The npm package for the name in a client's `user-agent`."""


@dataclass(frozen=True, slots=True)
class CassetteStatus:
    """One cassette: `recorded` is the day of its newest exchange, `age` is in days (None if unknown).

    `sdk` is the client that sent its requests, `now` the installed version of it; `stale` are the reasons to record it
    again; an `orphan` is named in no source file and was never replayed here; `replayed` is the day of the last replay.
    `again` is the command that records it again, empty if no command can, and `cost` the maximum cost of that. A file
    that cannot be read to its end `is_broken`. `unused` are the exchanges that no test has replayed since it was
    recorded; they are known once as many tests have replayed it here as marks name it.
    """

    file: Path
    exchanges: int
    recorded: str
    age: int | None
    sdk: str
    now: str
    stale: tuple[str, ...]
    orphan: bool
    replayed: str
    again: str
    cost: Budget
    is_broken: bool = False
    unused: tuple[str, ...] = ()


def list_cassettes(paths: Sequence[Path], today: date, stale_after: int = STALE_DAYS) -> Iterator[CassetteStatus]:
    """List the cassettes at these paths, in order, ignoring other files. UnreadableRecording for a missing path."""
    sources = cache(ProjectSources)
    for file in files(paths):
        exchanges, problem = list[Recorded](), ""
        try:
            exchanges += read_recording(file)
        except NotARecording:
            continue
        except HarnessError as error:
            problem = str(error).removeprefix(f"{file.as_posix()}: ").partition(". ")[0]
        yield _cassette_status(file, exchanges, problem, sources(find_project_root(file)), today, stale_after)


def plan_rerecording(listed: Iterable[CassetteStatus]) -> Mapping[str, Budget]:
    """List the commands that record again the stale cassettes in use, each with its maximum cost."""
    costs: dict[str, list[Budget]] = {}
    for cassette in listed:
        if cassette.stale and not cassette.orphan and cassette.again:
            costs.setdefault(cassette.again, []).append(cassette.cost)
    return {command: sum_budgets(budgets) for command, budgets in costs.items()}


def _cassette_status(
    file: Path, exchanges: Sequence[Recorded], problem: str, sources: ProjectSources, today: date, stale_after: int
) -> CassetteStatus:
    content = _read_content(file)
    header = content.header or CassetteHeader()
    recorded = header.recorded or max(_recording_days(content, exchanges), default="")
    age = _age_in_days(recorded, today)
    sdk, sdk_version = (header.sdk, header.sdk_version) if header.sdk else _find_client(exchanges)
    now = installed_version(sdk, file)
    reasons = [*_age_reasons(age, stale_after), *_change_reasons(sdk_version, now, header)]
    replayed = last_replay_date(file)
    return CassetteStatus(
        file=file,
        exchanges=sum("socket" not in exchange.flags for exchange in exchanges)
        + sum(bool(interaction.frames) for interaction in content.interactions),
        recorded=recorded,
        age=age,
        sdk=f"{sdk} {sdk_version}".strip(),
        now=now,
        stale=(f"it cannot be read: {problem}",) if problem else tuple(reasons),
        orphan=not replayed and not _is_named(file, sources),
        replayed=replayed,
        again=record_command(file, content, sources.root, stale_after),
        cost=sum_budgets(map(estimate_resending, exchanges)),
        is_broken=bool(problem),
        unused=_unused_exchanges(file, content, sources),
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


def _find_client(exchanges: Iterable[Recorded]) -> tuple[str, str]:
    return find_client([Interaction(exchange.method, exchange.path, exchange.headers) for exchange in exchanges])


def installed_version(client: str, near: Path) -> str:
    """Return the installed version of a client, empty if it is not installed; `near` is a file of the project."""
    if package := PYPI_PACKAGES.get(client.lower()):
        try:
            return version(package)
        except PackageNotFoundError:
            return ""
    if module := NPM_PACKAGES.get(client.lower()):
        manifests = (parent / "node_modules" / module / "package.json" for parent in near.resolve().parents)
        return next((_package_version(manifest) for manifest in manifests if manifest.is_file()), "")
    return ""


def _package_version(manifest: Path) -> str:
    try:
        return str(json.loads(manifest.read_text(encoding="utf-8")).get("version", ""))
    except (OSError, ValueError, AttributeError):
        return ""


def _age_reasons(age: int | None, stale_after: int) -> Iterator[str]:
    if age is None:
        yield "it does not say when it was recorded"
    elif age > stale_after:
        yield f"it is {age} days old"


def _change_reasons(sdk_version: str, now: str, header: CassetteHeader) -> Iterator[str]:
    if sdk_version and now and sdk_version.partition(".")[0] != now.partition(".")[0]:
        yield f"its SDK was {sdk_version}, now it is {now}"
    if header.scrubber < SCRUBBER_VERSION:
        yield f"it was scrubbed by rules of version {header.scrubber}, now they are {SCRUBBER_VERSION}"


def _is_named(file: Path, sources: ProjectSources) -> bool:
    """Return whether a cassette belongs to a rule, or is named in a source file of the project."""
    name = cassette_name(file)
    if dialect_of_rules(file):
        return name in RULES
    test = TEST_NAME.fullmatch(name)
    return sources.has_word(name) or (test is not None and sources.has_word(test["test"]))


def _unused_exchanges(file: Path, content: CassetteContent, sources: ProjectSources) -> tuple[str, ...]:
    """List the HTTP exchanges that no test has replayed since the file was written: `#2 POST /v1/responses`.

    Empty if that is unknown: more marks name the cassette than tests have replayed it, or something else uses it.
    """
    notes = [note for note in replay_notes(file) if note.at >= file.stat().st_mtime]
    tests = {note.test.partition("[")[0] for note in notes}
    if "" in tests or sources.is_named_elsewhere(file) or not 0 < sources.count_marks(file) <= len(tests):
        return ()
    played = {digest for note in notes for digest in note.digests or ()}
    numbered = ((number, sent) for number, sent in enumerate(content.interactions, 1) if not sent.frames)
    return tuple(
        f"#{number} {describe_request(sent)}" for number, sent in numbered if digest_exchange(sent) not in played
    )


_ROOT_MARKERS = (".git", "pyproject.toml", "package.json", "go.mod", "Cargo.toml")
_SOURCE_NAME = re.compile(
    r".*\.(?:py|[cm]?[jt]sx?|go|rb|rs|java|kt|cs|exs?|php|toml|sh|mk)|(?:GNU)?[Mm]akefile|[Jj]ustfile"
)
_SKIPPED_FOLDERS = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "dist", "build"))
_MAX_SOURCE_SIZE = 1 << 20


@dataclass(frozen=True)
class ProjectSources:
    """The source files below `root`, which are read only once."""

    root: Path

    def has_word(self, word: str) -> bool:
        """Return whether any source file contains this word."""
        return bool(word) and self._count(word, rf"(?<![\w-]){re.escape(word)}(?![\w-])") > 0

    def count_marks(self, cassette: Path) -> int:
        """Count the marks that name this cassette, or a cassette with the same name in another folder."""
        return self._count(cassette.stem, rf"mark\.cassette\(\s*{_quoted(cassette)}")

    def is_named_elsewhere(self, cassette: Path) -> bool:
        """Return whether the sources also quote the name of a cassette outside of marks."""
        return self._count(cassette.stem, _quoted(cassette)) > self.count_marks(cassette)

    def _count(self, word: str, pattern: str) -> int:
        """Count the matches of a pattern in the sources that contain `word`, which is a part of it."""
        # Searching for the word first is fast, and few files contain it.
        return sum(len(re.findall(pattern, text)) for text in self._texts if word in text)

    @cached_property
    def _texts(self) -> Sequence[str]:
        return [path.read_text(encoding="utf-8", errors="replace") for path in _find_sources(self.root)]


def _quoted(cassette: Path) -> str:
    """Build a pattern for the quoted name of a cassette."""
    return rf"[\"'](?:[^\"'\n]*/)?{re.escape(cassette.stem)}(?:\.ya?ml)?[\"']"


def find_project_root(near: Path) -> Path:
    """Find the root folder of the project that a file belongs to."""
    parents = near.resolve().parents
    return next((folder for folder in parents if any((folder / name).exists() for name in _ROOT_MARKERS)), parents[0])


def _find_sources(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for path in (Path(folder, name) for name in sorted(names) if _SOURCE_NAME.fullmatch(name)):
            if path.is_file() and path.stat().st_size <= _MAX_SOURCE_SIZE:
                yield path
