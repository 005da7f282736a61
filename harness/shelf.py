"""Cassettes as they stand on the shelf: how old, made with what, used by whom, and what it costs to make them again."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness import budget, replayed
from harness.errors import HarnessError
from harness.recorded import Recorded
from harness.recorder import load
from harness.resending import sent_again
from harness.rule import RULES
from harness.serializer import Tape
from harness.take import SCRUBBER, Header, Take, client_of
from harness.tape import NotATape, files, read

STALE = 90
"""Days after which a recording is stale."""
DISTRIBUTIONS: Mapping[str, str] = {"openai/python": "openai", "asyncopenai/python": "openai"}
"""The Python package behind the name with which a client calls itself."""
MODULES: Mapping[str, str] = {"openai/js": "openai"}
"""The same for npm."""
_ROOTS = (".git", "pyproject.toml", "package.json", "go.mod", "Cargo.toml")
_SOURCES = re.compile(r".*\.(?:py|[cm]?[jt]sx?|go|rb|rs|java|kt|cs|exs?|php|toml)")
_ELSEWHERE = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "dist", "build"))
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Shelved:
    """One cassette: `recorded` is the day of its newest exchange, `age` in days (None when that is not known).

    `sdk` is the client that sent its requests, `now` the version that is installed; `stale` says why it should be made
    again, `orphan` that no source file names it, `replayed` the day of its last replay here. `again` is the command that
    makes it again, and `cost` what that costs.
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
    cost: budget.Budget


def shelf(paths: Sequence[Path], today: date, stale_after: int = STALE) -> Iterator[Shelved]:
    """The cassettes at these paths, in order; TapeError when a path does not exist. What is no recording is left out."""
    sources: dict[Path, str] = {}
    for file in files(paths):
        try:
            held = list(read(file))
        except NotATape:
            continue
        except HarnessError:
            held = []
        yield _shelved(file, held, today, stale_after, sources)


def _shelved(file: Path, held: Sequence[Recorded], today: date, stale_after: int, sources: dict[Path, str]) -> Shelved:
    tape = _tape(file)
    header = tape.header or Header()
    recorded = header.recorded or max((one.date[:10] for one in held), default="")
    age = _age(recorded, today)
    name, then = (header.sdk, header.sdk_version) if header.sdk else _client(held)
    now = installed(name, file) if name else ""
    count = len(held) + sum(bool(take.frames) for take in tape.takes)
    why = [*_stale(count, age, stale_after), *_changed(then, now, header)]
    return Shelved(
        file=file,
        exchanges=count,
        recorded=recorded,
        age=age,
        sdk=f"{name} {then}".strip(),
        now=now,
        stale=tuple(why),
        orphan=_is_orphan(file, sources),
        replayed=replayed.last(file),
        again=_again(file),
        cost=budget.total(sent_again(one) for one in held),
    )


def _tape(file: Path) -> Tape:
    """What the harness itself wrote into a cassette beside its exchanges."""
    try:
        return load(file)
    except HarnessError:
        return Tape(None, ())


def _age(recorded: str, today: date) -> int | None:
    try:
        return (today - date.fromisoformat((recorded + "-01-01")[:10])).days if recorded else None
    except ValueError:
        return None


def _client(held: Iterable[Recorded]) -> tuple[str, str]:
    return client_of([Take(one.method, one.path, one.headers) for one in held])


def installed(name: str, near: Path) -> str:
    """The version of a client that is installed here, empty when none is; `near` is a file of the project."""
    if package := DISTRIBUTIONS.get(name.lower()):
        try:
            return version(package)
        except PackageNotFoundError:
            return ""
    if module := MODULES.get(name.lower()):
        manifests = (parent / "node_modules" / module / "package.json" for parent in near.resolve().parents)
        return next((_version(manifest) for manifest in manifests if manifest.is_file()), "")
    return ""


def _version(manifest: Path) -> str:
    try:
        return str(json.loads(manifest.read_text(encoding="utf-8")).get("version", ""))
    except (OSError, ValueError, AttributeError):
        return ""


def _stale(count: int, age: int | None, stale_after: int) -> Iterator[str]:
    """Why a recording of this age should be made again."""
    if not count:
        yield "it cannot be read"
    elif age is None:
        yield "it does not say when it was recorded"
    elif age > stale_after:
        yield f"it is {age} days old"


def _changed(then: str, now: str, header: Header) -> Iterator[str]:
    """Why it should be, although it may be young."""
    if then and now and then.partition(".")[0] != now.partition(".")[0]:
        yield f"its SDK was {then}, now it is {now}"
    if header.scrubber < SCRUBBER:
        yield f"it was scrubbed by rules of version {header.scrubber}, now they are {SCRUBBER}"


def _is_orphan(file: Path, sources: dict[Path, str]) -> bool:
    """Whether nothing names this cassette: no rule when it is one's, else no source file of the project."""
    name = file.name.removesuffix(".gz").rpartition(".")[0]
    if file.parent.name in ("rules", "accepts"):
        return name not in RULES
    root = _root(file)
    if root not in sources:
        sources[root] = "\n".join(_texts(root))
    test = name.partition("[")[0].rpartition(".")[2]
    return name not in sources[root] and test not in sources[root]


def _root(file: Path) -> Path:
    """The folder of the project that a file belongs to."""
    parents = file.resolve().parents
    return next((each for each in parents if any((each / name).exists() for name in _ROOTS)), parents[0])


def _texts(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in _ELSEWHERE]
        for name in names:
            path = Path(folder, name)
            if _SOURCES.fullmatch(name) and path.is_file() and path.stat().st_size <= _LARGEST:
                yield path.read_text(encoding="utf-8", errors="replace")


def _again(file: Path) -> str:
    """The command that makes a cassette again."""
    name = file.name.removesuffix(".gz").rpartition(".")[0]
    if file.parent.name in ("rules", "accepts"):
        return f"harness record --rules {RULES[name].area}" if name in RULES else "delete it"
    test = name.partition("[")[0].rpartition(".")[2]
    if test.startswith("test"):
        return f"pytest --record=all -k {test}"
    return f"harness record --into {file.as_posix()} -- COMMAND"
