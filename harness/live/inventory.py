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
from harness.live.drift.resend import estimate_resending
from harness.live.rule_evidence.probes import Probe, probes_for_rules
from harness.verify.read_files import NotARecording, read_recording

STALE_DAYS = 90
"""Days after which a recording is stale."""
PYPI_PACKAGES: Mapping[str, str] = {"openai/python": "openai", "asyncopenai/python": "openai"}
"""The Python package behind the name with which a client calls itself."""
NPM_PACKAGES: Mapping[str, str] = {"openai/js": "openai"}
"""The same for npm."""
RULE_FOLDERS = ("rules", "accepts")
"""The folders of what the API was asked about the rules: `<folder>/<dialect>/rules/<rule>.yaml`."""
_FOLDER = "cassettes"
_TEST_NAME = re.compile(r"(?:(?P<group>\w+)\.)?(?P<test>test\w*)(?:\[.*)?")
"""What pytest plugins call a cassette: for its test."""


@dataclass(frozen=True, slots=True)
class CassetteStatus:
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


def list_cassettes(paths: Sequence[Path], today: date, stale_after: int = STALE_DAYS) -> Iterator[CassetteStatus]:
    """The cassettes at these paths, in order; TapeError when a path does not exist. What is no recording is left out."""
    projects = cache(ProjectSources)
    for file in files(paths):
        try:
            held, problem = _read_exchanges(file)
        except NotARecording:
            continue
        yield _cassette_status(file, held, problem, projects(find_project_root(file)), today, stale_after)


def _read_exchanges(file: Path) -> tuple[Sequence[Recorded], str]:
    """What can be read of a cassette, and what is wrong with the rest."""
    held = list[Recorded]()
    try:
        held += read_recording(file)
    except NotARecording:
        raise
    except HarnessError as problem:
        return held, str(problem).removeprefix(f"{file.as_posix()}: ").partition(". ")[0]
    return held, ""


def _cassette_status(
    file: Path, held: Sequence[Recorded], problem: str, within: ProjectSources, today: date, stale_after: int
) -> CassetteStatus:
    tape = _load_cassette(file)
    header = tape.header or CassetteHeader()
    recorded = header.recorded or max(_recording_days(tape, held), default="")
    age, used = _age_in_days(recorded, today), replayed.last_replay_date(file)
    name, then = (header.sdk, header.sdk_version) if header.sdk else _find_client(held)
    now = installed_version(name, file) if name else ""
    why = (
        [f"it cannot be read: {problem}"]
        if problem
        else [*_age_reasons(age, stale_after), *_change_reasons(then, now, header)]
    )
    return CassetteStatus(
        file=file,
        exchanges=sum("socket" not in one.flags for one in held) + sum(bool(take.frames) for take in tape.interactions),
        recorded=recorded,
        age=age,
        sdk=f"{name} {then}".strip(),
        now=now,
        stale=tuple(why),
        orphan=not used and not _is_named(file, within),
        replayed=used,
        again=_record_command(file, tape, within, stale_after),
        cost=_recording_cost(file, held),
    )


def _recording_days(tape: CassetteContent, held: Sequence[Recorded]) -> Iterator[str]:
    """When each exchange was recorded, or published."""
    yield from (str(take.origin.get("date", "")) for take in tape.interactions)
    if not any(take.origin for take in tape.interactions):
        yield from (one.date[:10] for one in held)


def _load_cassette(file: Path) -> CassetteContent:
    """What the harness itself wrote into a cassette beside its exchanges."""
    try:
        return read_cassette(file)
    except HarnessError:
        return CassetteContent(None, ())


def _age_in_days(recorded: str, today: date) -> int | None:
    try:
        return (today - date.fromisoformat((recorded + "-01-01")[:10])).days if recorded else None
    except ValueError:
        return None


def _find_client(held: Iterable[Recorded]) -> tuple[str, str]:
    return find_client([Interaction(one.method, one.path, one.headers) for one in held])


def installed_version(name: str, near: Path) -> str:
    """The version of a client that is installed here, empty when none is; `near` is a file of the project."""
    if package := PYPI_PACKAGES.get(name.lower()):
        try:
            return version(package)
        except PackageNotFoundError:
            return ""
    if module := NPM_PACKAGES.get(name.lower()):
        manifests = (parent / "node_modules" / module / "package.json" for parent in near.resolve().parents)
        return next((_package_version(manifest) for manifest in manifests if manifest.is_file()), "")
    return ""


def _package_version(manifest: Path) -> str:
    try:
        return str(json.loads(manifest.read_text(encoding="utf-8")).get("version", ""))
    except (OSError, ValueError, AttributeError):
        return ""


def _age_reasons(age: int | None, stale_after: int) -> Iterator[str]:
    """Why a recording of this age should be made again."""
    if age is None:
        yield "it does not say when it was recorded"
    elif age > stale_after:
        yield f"it is {age} days old"


def _change_reasons(then: str, now: str, header: CassetteHeader) -> Iterator[str]:
    """Why it should be, although it may be young."""
    if then and now and then.partition(".")[0] != now.partition(".")[0]:
        yield f"its SDK was {then}, now it is {now}"
    if header.scrubber < SCRUBBER_VERSION:
        yield f"it was scrubbed by rules of version {header.scrubber}, now they are {SCRUBBER_VERSION}"


def _stem(file: Path) -> str:
    return file.name.removesuffix(".gz").rpartition(".")[0]


def _rules_dialect(file: Path) -> str:
    """The dialect of the API that was asked about a rule; empty when a cassette is not of that kind."""
    kind, dialect, *_ = (*(folder.name for folder in file.resolve().parents), "")
    return dialect if kind in RULE_FOLDERS and dialect in PROVIDERS else ""


def _is_named(file: Path, within: ProjectSources) -> bool:
    """Whether something names this cassette: a rule when it is one's, else a source file of the project."""
    name = _stem(file)
    if _rules_dialect(file):
        return name in RULES
    test = _TEST_NAME.fullmatch(name)
    return within.has_word(name) or (test is not None and within.has_word(test["test"]))


def _record_command(file: Path, tape: CassetteContent, within: ProjectSources, stale_after: int) -> str:
    """The command that makes a cassette again, empty when there is none."""
    if _rules_dialect(file):
        return _rules_command(file, stale_after)
    if tape.header is None:
        return _pytest_command(file)
    if tests := within.tests_naming(file):
        return shlex.join(["pytest", "--record=all", *(os.path.relpath(within.root / test) for test in tests)])
    return f"harness record --into {shlex.quote(file.as_posix())}{_upstream_option(tape)} -- COMMAND"


def _rules_command(file: Path, stale_after: int) -> str:
    """All about the area of a rule that is not fresh is asked together."""
    if not any(probe.rule.id == _stem(file) for probe in _probes_with(file)):
        return ""
    place, dialect = os.path.relpath(file.resolve().parents[2]), _rules_dialect(file)
    into = "" if place == _FOLDER else f" --into {shlex.quote(place)}"
    return f"harness record --rules {RULES[_stem(file)].area} --fresh {stale_after}{into}{_dialect_option(dialect)}"


def _probes_with(file: Path) -> Sequence[Probe]:
    """What is asked of the API together with the rule of a cassette."""
    rule = RULES.get(_stem(file))
    return _probes_of_area(rule.area, _rules_dialect(file)) if rule else ()


@cache
def _probes_of_area(area: str, dialect: str) -> Sequence[Probe]:
    return probes_for_rules([rule for rule in RULES.values() if rule.area == area], dialect)[0]


def _upstream_option(tape: CassetteContent) -> str:
    """Where a cassette was recorded, as an option; empty where that is the default."""
    asked = urlsplit(tape.interactions[0].uri if tape.interactions else "")
    host = asked.hostname or ""
    who = provider_of_host(host, asked.path)
    if who or not host:
        return _dialect_option(who or OPENAI)
    address = asked._replace(path=root_of(asked.path) or "", query="").geturl()
    return f" --upstream {shlex.quote(address)}"


def _dialect_option(dialect: str) -> str:
    """What leads to an API whose address no cassette tells, because it names the account."""
    return "" if dialect == OPENAI else f' --upstream "${AZURE_VARIABLE if dialect == AZURE else PROJECT_VARIABLES[0]}"'


def _pytest_command(file: Path) -> str:
    """How the plugins of pytest for vcrpy record a test again; other recorders are not known."""
    test = _TEST_NAME.fullmatch(_stem(file))
    if test is None or file.suffix not in (".yaml", ".yml"):
        return ""
    mode = "--vcr-record=all" if file.resolve().parent.name == _FOLDER else "--record-mode=rewrite"
    return shlex.join(["pytest", mode, "-k", " and ".join(filter(None, test.group("group", "test")))])


def _recording_cost(file: Path, held: Sequence[Recorded]) -> budget.Budget:
    asked = (probe.cost for probe in _probes_with(file)) if _rules_dialect(file) else map(estimate_resending, held)
    return budget.sum_budgets(asked)


def plan_rerecording(listed: Iterable[CassetteStatus]) -> Mapping[str, budget.Budget]:
    """The commands that make again what is stale and that something names, each with what it costs at most."""
    found: dict[str, dict[Path, budget.Budget]] = {}
    for one in listed:
        if one.stale and not one.orphan and one.again:
            found.setdefault(one.again, {})[Path() if _rules_dialect(one.file) else one.file] = one.cost
    return {command: budget.sum_budgets(costs.values()) for command, costs in found.items()}
