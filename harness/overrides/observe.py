"""Judges recordings one exchange at a time, and collects what overrides are derived from."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from harness.api.models import is_of_other_vendor
from harness.cassettes.format.recorded import Recorded
from harness.contract.check import Violation
from harness.contract.overrides import Overrides, family_of, normalize_path
from harness.contract.schema import RESPONSE_EVENT_SCHEMA
from harness.core.dates import is_day
from harness.core.errors import HarnessError
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object, as_string
from harness.core.secret_prefixes import redact, secrets_in_headers
from harness.verify.judge_files import judge_exchange, read_with_worlds
from harness.verify.judging.circumstances import enter_day, rebuild_request
from harness.verify.judging.judge import answer_root, recorded_error
from harness.verify.judging.verdict import AGREEMENTS, DISAGREEMENTS, Verdict, VerdictKind
from harness.world.world import World

_PLACE = re.compile(r"events\[\d+\]\.?")


class JudgedExchange(NamedTuple):
    """The result of judging one exchange.

    `key` identifies it in all rounds; `verdict` is the one on the request, None if undecided. `violation` is why the
    mock refuses it, `error` the recorded error with its status. `family` is the model's family. `drift` are members of
    the answer that no schema has, each with the name of its schema. `applied` are the overrides, by identity, that
    changed anything.
    """

    key: str
    file: str
    number: int
    date: str
    request: Request
    verdict: VerdictKind | None
    violation: Violation | None
    error: Json
    family: str
    drift: tuple[tuple[str, str], ...]
    applied: frozenset[int]


class Observed(NamedTuple):
    """All judged exchanges of some recordings, and the files that could not be read, with the reason.

    `foreign` are exchanges that are not judged, by file and number, each with the other provider's model that accepted
    the request.
    """

    exchanges: list[JudgedExchange]
    unreadable: dict[str, str]
    foreign: dict[str, str]


def observe(recordings: Iterable[Path], overrides: Overrides | None = None, hosts: Collection[str] = ()) -> Observed:
    """Judge recordings by the mock, with or without overrides."""
    judged: list[JudgedExchange] = []
    unreadable: dict[str, str] = {}
    foreign: dict[str, str] = {}
    for recording in recordings:
        try:
            for number, recorded, world in read_with_worlds(recording, hosts, overrides):
                if model := _foreign_model(recorded):
                    foreign[f"{recording.as_posix()}#{number}"] = model
                elif entry := _observe_one(recorded, world, recording, number):
                    judged.append(entry)
        except HarnessError as problem:
            unreadable[recording.as_posix()] = str(redact(str(problem)))
    return Observed(judged, unreadable, foreign)


def _foreign_model(recorded: Recorded) -> str:
    """Return the model of another provider that accepted a request, perhaps behind a gateway; else empty."""
    name = as_string(as_object(recorded.request).get("model"))
    taken = 200 <= recorded.status < 300
    return name if taken and is_of_other_vendor(name) else ""


def _observe_one(recorded: Recorded, world: World, recording: Path, number: int) -> JudgedExchange | None:
    operation, request = rebuild_request(recorded)
    if operation is None or not recorded.provider:
        return None
    enter_day(world, recorded)
    verdict, drift, applied = _read_verdicts(recorded, world, operation.answer_schema)
    # Only the requests that entries are derived from keep their bodies, to bound memory.
    disagrees = verdict is not None and verdict.kind in DISAGREEMENTS
    return JudgedExchange(
        recorded.id,
        recording.as_posix(),
        number,
        _past_day(recorded.date[:10]),
        request if disagrees or applied else request._replace(body=None, raw=b""),
        verdict.kind if verdict else None,
        verdict.violation if verdict and disagrees else None,
        {"status": recorded.status, **redact(recorded_error(recorded), secrets_in_headers(recorded.headers))},
        family_of(request, world.models),
        drift,
        applied,
    )


def _past_day(day: str) -> str:
    """Return a day; empty if it is invalid or in the future, because then the recorder's clock was wrong."""
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    return day if is_day(day) and day <= tomorrow else ""


def _read_verdicts(
    recorded: Recorded, world: World, root: str | None
) -> tuple[Verdict | None, tuple[tuple[str, str], ...], frozenset[int]]:
    """Return the verdict on the request, the answer's members that no schema has, and the overrides that applied."""
    on_request: Verdict | None = None
    drift: dict[tuple[str, str], None] = {}
    applied: set[int] = set()
    for verdict in judge_exchange(recorded, world):
        if verdict.kind in (*AGREEMENTS, *DISAGREEMENTS):
            on_request = verdict
        elif verdict.kind is VerdictKind.OVERRULED:
            applied.update(map(id, verdict.applied))
        elif verdict.kind is VerdictKind.ANSWER_DRIFT and verdict.entry and root:
            drift[answer_root(recorded, root) or root, normalize_path(verdict.entry["at"])] = None
        elif verdict.kind is VerdictKind.STREAM_DRIFT and verdict.entry and _is_unknown_member(verdict.entry):
            drift[RESPONSE_EVENT_SCHEMA, normalize_path(_PLACE.sub("", verdict.entry["at"]))] = None
    return on_request, tuple(drift), frozenset(applied)


def _is_unknown_member(entry: Json) -> bool:
    return str(entry["message"]).startswith("unknown member")


def atoms_of(body: Any) -> Mapping[tuple[str, Any], None]:
    """Collect the short values of a body with their places, and the types of the others, in the order of the body."""
    found: dict[tuple[str, Any], None] = {}
    _collect_atoms(body, "", found)
    return found


def _collect_atoms(value: Any, path: str, found: dict[tuple[str, Any], None]) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            _collect_atoms(inner, f"{path}.{name}" if path else str(name), found)
    elif isinstance(value, list):
        found[path, "list"] = None
        for inner in value:
            _collect_atoms(inner, f"{path}[]", found)
    elif path:
        found[path, value if is_name(value) else "text"] = None


def is_name(value: Any) -> bool:
    """Return whether a value is a name, such as a type or an effort, and not prose, an id or a number."""
    return value is None or isinstance(value, bool) or (isinstance(value, str) and bool(_NAME.fullmatch(value)))


_NAME = re.compile(r"[a-z][a-z_./-]{0,39}")


def iterate_disagreements(exchanges: Iterable[JudgedExchange]) -> Iterator[JudgedExchange]:
    """Yield the exchanges for which recording and mock disagree."""
    return (exchange for exchange in exchanges if exchange.verdict in DISAGREEMENTS)
