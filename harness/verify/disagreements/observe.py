"""Judges recordings one exchange at a time, and keeps what a contract of one's own is derived from."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from harness.api.models import is_of_other_vendor
from harness.cassettes.format.recorded import Recorded
from harness.contract.body_places import normalize_path
from harness.contract.check import Violation, check
from harness.contract.own_contract import OwnContract, family_of
from harness.contract.schema import RESPONSE_EVENT_SCHEMA
from harness.core.dates import is_day
from harness.core.errors import HarnessError
from harness.core.exchange import Json, Request
from harness.core.text.redact import redact, secrets_in_headers
from harness.verify.judging.gateways import adopt_gateway
from harness.verify.judging.judge import answer_root, rebuild_request, recorded_error
from harness.verify.judging.presume import presume
from harness.verify.judging.recording_day import enter_day
from harness.verify.read_files import read_numbered
from harness.verify.run import judge_exchange, world_of_file
from harness.world.world import World

AGREEMENTS = ("requests.accepted", "refusals.same")
DISAGREEMENTS = ("requests.refused", "refusals.missed", "refusals.different")
_PLACE = re.compile(r"events\[\d+\]\.?")


class Seen(NamedTuple):
    """One exchange as it was judged.

    `key` names it in all passes; `verdict` is one of DISAGREEMENTS, `good`, or empty where it decides nothing. `violation`
    is why the mock refuses it, `error` the recorded error with its status. `family` is that of the model. `drift` are
    members of the answer that no schema knows, each with the schema. `acted` are the entries, by identity, of the
    contract that changed anything.
    """

    key: str
    file: str
    number: int
    date: str
    request: Request
    verdict: str
    violation: Violation | None
    error: Json
    family: str
    drift: tuple[tuple[str, str], ...]
    acted: frozenset[int]


class Observed(NamedTuple):
    """All exchanges of some recordings that are judged, and the files that could not be read, with the reason.

    `foreign` are those that are not judged, by file and number, with the model of another provider that took the request.
    """

    seen: list[Seen]
    unreadable: dict[str, str]
    foreign: dict[str, str]


def observe(recordings: Iterable[Path], contract: OwnContract | None = None, hosts: Collection[str] = ()) -> Observed:
    """Judge recordings by the mock with a contract of one's own, or without."""
    seen: list[Seen] = []
    unreadable: dict[str, str] = {}
    foreign: dict[str, str] = {}
    for recording in recordings:
        worlds: OrderedDict[str, World] = OrderedDict()
        try:
            for number, read in read_numbered(recording):
                recorded = adopt_gateway(read, hosts)
                world = world_of_file(worlds, recorded.file)
                world.own_contract = contract
                if model := _foreign_model(recorded):
                    foreign[f"{recording.as_posix()}#{number}"] = model
                elif one := _observe_one(recorded, world, recording, number):
                    seen.append(one)
        except HarnessError as problem:
            unreadable[recording.as_posix()] = str(redact(str(problem)))
    return Observed(seen, unreadable, foreign)


def _foreign_model(recorded: Recorded) -> str:
    """The model of another provider that took a request, as behind a gateway: the API has none of this name."""
    name = recorded.request.get("model") if isinstance(recorded.request, dict) else None
    taken = 200 <= recorded.status < 300
    return name if taken and isinstance(name, str) and is_of_other_vendor(name) else ""


def _observe_one(recorded: Recorded, world: World, recording: Path, number: int) -> Seen | None:
    operation, request = rebuild_request(recorded)
    if operation is None or not recorded.provider:
        return None
    enter_day(world, recorded)
    contract = world.own_contract
    acted: set[int] = contract.acted if contract else set()
    acted.clear()
    verdict, violation, drift = _read_verdicts(recorded, request, world, operation.answer_schema)
    return Seen(
        recorded.id,
        recording.as_posix(),
        number,
        _past_day(recorded.date[:10]),
        request if verdict in DISAGREEMENTS or acted else request._replace(body=None, raw=b""),
        verdict,
        violation,
        {"status": recorded.status, **redact(recorded_error(recorded), secrets_in_headers(recorded.headers))},
        family_of(request, world.models),
        drift,
        frozenset(acted),
    )


def _past_day(day: str) -> str:
    """A day; empty where it is none, or lies in the future: the clock of the recorder was wrong."""
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    return day if is_day(day) and day <= tomorrow else ""


def _find_violation(recorded: Recorded, request: Request, world: World) -> Violation | None:
    """Why the mock refuses a request, before the World learns from its answer; None also where a rule fails."""
    try:
        violation = check(request, world)
        while 200 <= recorded.status < 300 and violation and presume(world, request, violation):
            violation = check(request, world)
    except Exception:  # the judge reports it
        return None
    return violation


def _read_verdicts(
    recorded: Recorded, request: Request, world: World, root: str | None
) -> tuple[str, Violation | None, tuple[tuple[str, str], ...]]:
    verdict, violation = "", None
    drift: dict[tuple[str, str], None] = {}
    for at, entry in judge_exchange(recorded, world):
        if at in DISAGREEMENTS:
            verdict, violation = at, _find_violation(recorded, request, world)  # the World has not yet learned
        elif at in AGREEMENTS:
            verdict = "good"
        elif at == "answers.drift" and entry and root:
            drift[answer_root(recorded, root) or root, normalize_path(entry["at"])] = None
        elif at == "streams.drift" and entry and entry["message"].startswith("unknown member"):
            drift[RESPONSE_EVENT_SCHEMA, normalize_path(_PLACE.sub("", entry["at"]))] = None
    return verdict, violation, tuple(drift)


def atoms_of(body: Any) -> Mapping[tuple[str, Any], None]:
    """The short values of a body by their place, and the kinds of the others; in the order of the body."""
    found: dict[tuple[str, Any], None] = {}
    _collect_atoms(body, "", found)
    return found


def _collect_atoms(value: Any, path: str, found: dict[tuple[str, Any], None]) -> None:
    if isinstance(value, dict):
        for name, each in value.items():
            _collect_atoms(each, f"{path}.{name}" if path else str(name), found)
    elif isinstance(value, list):
        found[path, "list"] = None
        for each in value:
            _collect_atoms(each, f"{path}[]", found)
    elif path:
        found[path, value if is_name(value) else "text"] = None


def is_name(value: Any) -> bool:
    """Whether a value is one of few, as names of types and efforts are: no prose, no id, no number of its own."""
    return value is None or isinstance(value, bool) or (isinstance(value, str) and bool(_NAME.fullmatch(value)))


_NAME = re.compile(r"[a-z][a-z_./-]{0,39}")


def iterate_disagreements(seen: Iterable[Seen]) -> Iterator[Seen]:
    """Those exchanges about which recording and mock disagree."""
    return (one for one in seen if one.verdict in DISAGREEMENTS)
