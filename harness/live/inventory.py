"""Cassettes as they stand on the shelf: how old, made with what, used by whom, and what it costs to make them again."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import urlsplit

from harness.api.dialects import AZURE, OPENAI
from harness.api.providers import PROVIDERS, provider_of_host, root_of
from harness.api.upstream import AZURE_VARIABLE, PROJECT_VARIABLES
from harness.cassettes.format.interaction import SCRUBBER_VERSION, CassetteHeader, Interaction, find_client
from harness.cassettes.format.recorded import Recorded
from harness.cassettes.format.serializer import CassetteContent
from harness.cassettes.listing import files
from harness.cassettes.named_in_tests import ProjectSources, find_project_root
from harness.cassettes.recording import last_used as replayed
from harness.cassettes.recording.writer import read_cassette
from harness.contract.rule import RULES
from harness.core.errors import HarnessError
from harness.live.client import budget
from harness.live.drift.resend import sent_again
from harness.live.rule_evidence.probes import Probe, probes_of
from harness.verify.read_files import NotARecording, read_recording

STALE = 90
"""Days after which a recording is stale."""
DISTRIBUTIONS: Mapping[str, str] = {"openai/python": "openai", "asyncopenai/python": "openai"}
"""The Python package behind the name with which a client calls itself."""
MODULES: Mapping[str, str] = {"openai/js": "openai"}
"""The same for npm."""
OF_RULES = ("rules", "accepts")
"""The folders of what the API was asked about the rules: `<folder>/<dialect>/rules/<rule>.yaml`."""
_FOLDER = "cassettes"
_TEST = re.compile(r"(?:(?P<group>\w+)\.)?(?P<test>test\w*)(?:\[.*)?")
"""What pytest plugins call a cassette: for its test."""


@dataclass(frozen=True, slots=True)
class Shelved:
    """One cassette: `recorded` is the day of its newest exchange, `age` in days (None when that is not known).

    `sdk` is the client that sent its requests, `now` the version that is installed; `stale` says why it should be made
    again, `orphan` that no source file names it and nothing has replayed it here, `replayed` the day of its last replay.
    `again` is the command that makes it again, empty when there is none, and `cost` what that costs at most.
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
    projects = cache(ProjectSources)
    for file in files(paths):
        try:
            held, problem = _held(file)
        except NotARecording:
            continue
        yield _shelved(file, held, problem, projects(find_project_root(file)), today, stale_after)


def _held(file: Path) -> tuple[Sequence[Recorded], str]:
    """What can be read of a cassette, and what is wrong with the rest."""
    held = list[Recorded]()
    try:
        held += read_recording(file)
    except NotARecording:
        raise
    except HarnessError as problem:
        return held, str(problem).removeprefix(f"{file.as_posix()}: ").partition(". ")[0]
    return held, ""


def _shelved(
    file: Path, held: Sequence[Recorded], problem: str, within: ProjectSources, today: date, stale_after: int
) -> Shelved:
    tape = _tape(file)
    header = tape.header or CassetteHeader()
    recorded = header.recorded or max(_days(tape, held), default="")
    age, used = _age(recorded, today), replayed.last_replay_date(file)
    name, then = (header.sdk, header.sdk_version) if header.sdk else _client(held)
    now = installed(name, file) if name else ""
    why = [f"it cannot be read: {problem}"] if problem else [*_old(age, stale_after), *_changed(then, now, header)]
    return Shelved(
        file=file,
        exchanges=sum("socket" not in one.flags for one in held) + sum(bool(take.frames) for take in tape.interactions),
        recorded=recorded,
        age=age,
        sdk=f"{name} {then}".strip(),
        now=now,
        stale=tuple(why),
        orphan=not used and not _is_named(file, within),
        replayed=used,
        again=_again(file, tape, within, stale_after),
        cost=_cost(file, held),
    )


def _days(tape: CassetteContent, held: Sequence[Recorded]) -> Iterator[str]:
    """When each exchange was recorded, or published."""
    yield from (str(take.origin.get("date", "")) for take in tape.interactions)
    if not any(take.origin for take in tape.interactions):
        yield from (one.date[:10] for one in held)


def _tape(file: Path) -> CassetteContent:
    """What the harness itself wrote into a cassette beside its exchanges."""
    try:
        return read_cassette(file)
    except HarnessError:
        return CassetteContent(None, ())


def _age(recorded: str, today: date) -> int | None:
    try:
        return (today - date.fromisoformat((recorded + "-01-01")[:10])).days if recorded else None
    except ValueError:
        return None


def _client(held: Iterable[Recorded]) -> tuple[str, str]:
    return find_client([Interaction(one.method, one.path, one.headers) for one in held])


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


def _old(age: int | None, stale_after: int) -> Iterator[str]:
    """Why a recording of this age should be made again."""
    if age is None:
        yield "it does not say when it was recorded"
    elif age > stale_after:
        yield f"it is {age} days old"


def _changed(then: str, now: str, header: CassetteHeader) -> Iterator[str]:
    """Why it should be, although it may be young."""
    if then and now and then.partition(".")[0] != now.partition(".")[0]:
        yield f"its SDK was {then}, now it is {now}"
    if header.scrubber < SCRUBBER_VERSION:
        yield f"it was scrubbed by rules of version {header.scrubber}, now they are {SCRUBBER_VERSION}"


def _stem(file: Path) -> str:
    return file.name.removesuffix(".gz").rpartition(".")[0]


def _dialect(file: Path) -> str:
    """The dialect of the API that was asked about a rule; empty when a cassette is not of that kind."""
    kind, dialect, *_ = (*(folder.name for folder in file.resolve().parents), "")
    return dialect if kind in OF_RULES and dialect in PROVIDERS else ""


def _is_named(file: Path, within: ProjectSources) -> bool:
    """Whether something names this cassette: a rule when it is one's, else a source file of the project."""
    name = _stem(file)
    if _dialect(file):
        return name in RULES
    test = _TEST.fullmatch(name)
    return within.has_word(name) or (test is not None and within.has_word(test["test"]))


def _again(file: Path, tape: CassetteContent, within: ProjectSources, stale_after: int) -> str:
    """The command that makes a cassette again, empty when there is none."""
    if _dialect(file):
        return _rules_again(file, stale_after)
    if tape.header is None:
        return _plugin_again(file)
    if tests := within.tests_naming(file):
        return shlex.join(["pytest", "--record=all", *(os.path.relpath(within.root / test) for test in tests)])
    return f"harness record --into {shlex.quote(file.as_posix())}{_upstream(tape)} -- COMMAND"


def _rules_again(file: Path, stale_after: int) -> str:
    """All about the area of a rule that is not fresh is asked together."""
    if not any(probe.rule.id == _stem(file) for probe in _asked_with(file)):
        return ""
    place, dialect = os.path.relpath(file.resolve().parents[2]), _dialect(file)
    into = "" if place == _FOLDER else f" --into {shlex.quote(place)}"
    return f"harness record --rules {RULES[_stem(file)].area} --fresh {stale_after}{into}{_leading(dialect)}"


def _asked_with(file: Path) -> Sequence[Probe]:
    """What is asked of the API together with the rule of a cassette."""
    rule = RULES.get(_stem(file))
    return _probes(rule.area, _dialect(file)) if rule else ()


@cache
def _probes(area: str, dialect: str) -> Sequence[Probe]:
    return probes_of([rule for rule in RULES.values() if rule.area == area], dialect)[0]


def _upstream(tape: CassetteContent) -> str:
    """Where a cassette was recorded, as an option; empty where that is the default."""
    asked = urlsplit(tape.interactions[0].uri if tape.interactions else "")
    host = asked.hostname or ""
    who = provider_of_host(host, asked.path)
    if who or not host:
        return _leading(who or OPENAI)
    address = asked._replace(path=root_of(asked.path) or "", query="").geturl()
    return f" --upstream {shlex.quote(address)}"


def _leading(dialect: str) -> str:
    """What leads to an API whose address no cassette tells, because it names the account."""
    return "" if dialect == OPENAI else f' --upstream "${AZURE_VARIABLE if dialect == AZURE else PROJECT_VARIABLES[0]}"'


def _plugin_again(file: Path) -> str:
    """How the plugins of pytest for vcrpy record a test again; other recorders are not known."""
    test = _TEST.fullmatch(_stem(file))
    if test is None or file.suffix not in (".yaml", ".yml"):
        return ""
    mode = "--vcr-record=all" if file.resolve().parent.name == _FOLDER else "--record-mode=rewrite"
    return shlex.join(["pytest", mode, "-k", " and ".join(filter(None, test.group("group", "test")))])


def _cost(file: Path, held: Sequence[Recorded]) -> budget.Budget:
    asked = (probe.cost for probe in _asked_with(file)) if _dialect(file) else map(sent_again, held)
    return budget.total(asked)


def plan(listed: Iterable[Shelved]) -> Mapping[str, budget.Budget]:
    """The commands that make again what is stale and that something names, each with what it costs at most."""
    found: dict[str, dict[Path, budget.Budget]] = {}
    for one in listed:
        if one.stale and not one.orphan and one.again:
            found.setdefault(one.again, {})[Path() if _dialect(one.file) else one.file] = one.cost
    return {command: budget.total(costs.values()) for command, costs in found.items()}
