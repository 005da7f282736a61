"""Turns recordings into cases of a report: their exchanges, and the findings about them.

Files may be judged in other processes than the one that writes the report, so the cases of a file go through a spool of
JSON lines. In YAML and JSON lines, a finding has the line on which its record begins; in other formats it has none.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from harness.api.http.dialects import parse_api_path, split_url
from harness.api.responses import END_EVENTS
from harness.cassettes.files import printable_path
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.format.recorded import Recorded, parse_recorded
from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.core.bounded_input import open_bounded
from harness.core.delivery import Delivery
from harness.core.errors import COMMAND, Malformed
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import as_object, as_string, objects_in
from harness.explain.cause import ReportFinding
from harness.items.transcript import conversation_id
from harness.report.api_coverage import Coverage, measure_coverage, merge_coverage
from harness.report.fill_case import fill_case
from harness.report.forecast import NOTHING_ASKED, Outlook
from harness.report.formats import CHECKOUT_VARIABLE
from harness.report.report import Report, ReportCase, RunFacts, sanitize_reason
from harness.verify.judging.circumstances import rebuild_request
from harness.verify.judging.judge import answer_object, compare_refusals, recorded_error
from harness.verify.judging.unverifiable import match_rules
from harness.verify.judging.verdict import FINDINGS, Verdict, VerdictKind
from harness.verify.judging.websockets import to_http_interactions
from harness.verify.output import finding_lines
from harness.viewer.build_run import show_world, view_of_case
from harness.world.world import World


def build_journal(interactions: Iterable[Interaction]) -> World:
    """Build a World with these interactions in its journal, except those with other services."""
    world = World("")
    for interaction in interactions:
        dialect = parse_api_path(split_url(interaction.uri)[1]).dialect
        for entry in to_http_interactions(interaction):
            recorded = parse_recorded(
                replace(entry, notes={"provider": dialect, **entry.notes}), "", world.exchange_count + 1
            )
            if exchange := rebuild_exchange(recorded, world):
                world.add_exchange(*exchange)
    return world


def rebuild_exchange(recorded: Recorded, world: World) -> tuple[Request, Answer] | None:
    """Rebuild a recorded request and its answer; None for exchanges with other services.

    The rule of a refusal is the one by which the mock refuses the request in `world` with the same error, else any rule
    with that error.
    """
    operation, request = rebuild_request(recorded)
    if operation is None:
        return None
    if "no_request" in recorded.flags:
        request = request._replace(body=None, schema=None)
    rule = _find_rule(recorded, request, world) if recorded.status >= 400 else None
    events = None if recorded.events is None else [event for event in recorded.events if isinstance(event, dict)]
    broke = _is_broken_off(recorded)
    delivery = Delivery(disconnects=broke, times=recorded.times) if broke or recorded.times else None
    return request._replace(headers=recorded.headers), Answer(
        recorded.status, answer_object(recorded), recorded.answer_headers, events, rule, delivery
    )


def _is_broken_off(recorded: Recorded) -> bool:
    if recorded.events is None:
        return answer_object(recorded) is None and (not recorded.status or "cut" in recorded.flags)
    # The flag may also mean that only long values are cut.
    return "cut" in recorded.flags and not any(event.get("type") in END_EVENTS for event in recorded.events)


def _find_rule(recorded: Recorded, request: Request, world: World) -> str | None:
    violation = None if "no_request" in recorded.flags else check(WorldCall(request, world)).violation
    if not (error := recorded_error(recorded)):
        return None
    if violation and compare_refusals(recorded, violation) in ([], ["list"]):
        return violation.rule.id
    return next((rule.id for rule in match_rules(recorded.status, error)), None)


VERDICT_TEXTS: Mapping[VerdictKind, str] = {
    VerdictKind.REQUEST_REFUSED: "The API accepted the request, but the mock refuses it.",
    VerdictKind.REFUSAL_DIFFERENT: "The API and the mock refuse the request in different words.",
    VerdictKind.REFUSAL_MISSED: "The API refused the request, but the mock accepts it.",
    VerdictKind.ANSWER_FINDING: "The answer does not conform.",
    VerdictKind.STREAM_FINDING: "The stream does not conform.",
    VerdictKind.RESPELLED_DIFFERENT: "The mock sends other events for the same stream.",
    VerdictKind.UNREADABLE: "It was not judged.",
}
"""The first line of a finding's message, by verdict."""
FIX_DISAGREEMENT = (
    "Record it again. If the finding remains, the API has changed and the contract lags behind, or another server "
    "answered."
)
FIX_UNREADABLE = "Record it again, or fix that place."
FIX_NOTHING_JUDGED = f"Pass recordings of the API; `{COMMAND} verify` says how to name a gateway's host."


class CaseWriter:
    """Observes how one file is judged and finally writes a case for each of its conversations to `spool`.

    `with_views` adds what a page shows of a case, `outlook` what becomes of its requests. Pages need no `with_bodies`.
    """

    def __init__(
        self,
        recording: Path,
        spool: Path,
        *,
        with_views: bool,
        with_bodies: bool,
        outlook: Outlook = NOTHING_ASKED,
    ) -> None:
        self._with_views = with_views
        self._with_bodies = with_bodies
        self._outlook = outlook
        self._world = World()
        self._recording = recording
        self._spool = spool
        self._worlds: dict[str, World] = {}
        self._values = _SharedValues()
        self._found: dict[str, list[ReportFinding]] = {}
        self._at: tuple[str, int, int | None] = (printable_path(recording), 0, None)

    def begin_exchange(self, number: int, recorded: Recorded, world: World) -> None:
        """Add the exchange that is judged next, with its record in the file and the World before it."""
        if (journal := self._worlds.get(recorded.file)) is None:
            journal = self._worlds[recorded.file] = World(recorded.file)
        exchange = None
        recorded = self._values.share(recorded)
        with suppress(Exception):  # the judge reports a rule that fails
            if exchanged := rebuild_exchange(recorded, world):
                journal.add_exchange(*exchanged)
                exchange = journal.exchange_count
        self._at = (recorded.file, number, exchange)
        self._world = world

    def note_verdict(self, verdict: Verdict) -> None:
        """Add a verdict on the exchange that was begun last, or on the file."""
        if verdict.kind is VerdictKind.REQUEST_ACCEPTED and verdict.request:
            file, number, exchange = self._at
            findings = self._outlook.findings(verdict.request, self._world, exchange)
            self._found.setdefault(file, []).extend(replace(finding, line=number) for finding in findings)
        if verdict.kind not in FINDINGS or verdict.entry is None:
            return
        name = printable_path(self._recording)
        file, number, exchange = self._at if verdict.entry.get("file") != name else (name, 0, None)
        found = replace(_build_finding(verdict.kind, verdict.entry), exchange=exchange, line=number)
        self._found.setdefault(file, []).append(found)

    def close(self) -> None:
        """Write the cases, after the whole file was judged."""
        has_place = any(finding.line for findings in self._found.values() for finding in findings)
        lines = find_record_lines(self._recording) if has_place else []
        self._values = _SharedValues()  # each journal is dropped once it is written
        with self._spool.open("wb") as out:
            for file in dict.fromkeys((*self._worlds, *self._found)):
                world = self._worlds.pop(file, None) or World(file)
                found = [
                    replace(finding, line=lines[finding.line - 1] if 0 < (finding.line or 0) <= len(lines) else 0)
                    for finding in self._found.get(file, ())
                ]
                touched = {name: sorted(hit) for name, hit in measure_coverage(world.exchanges, world).items()}
                line = {"case": self._build_case(file, world, found).to_json(), "hits": touched}
                out.write(orjson.dumps(line) + b"\n")

    def _build_case(self, file: str, world: World, found: list[ReportFinding]) -> ReportCase:
        place = path_from_root(self._recording)
        name = place if file == printable_path(self._recording) else file
        case = fill_case(ReportCase(name, place, 1, "passed", 0.0), world, (), with_bodies=self._with_bodies)
        every = [*case.found, *map(sanitize_reason, found)]
        every.sort(key=lambda finding: finding.exchange or 0)
        judged = replace(
            case, outcome="failed" if any(not finding.expected for finding in found) else "passed", found=every
        )
        return replace(judged, view=view_of_case(show_world(judged, world))) if self._with_views else judged


def load_report(spools: Iterable[Path], recordings: Path, nothing_judged: str = "") -> Report:
    """Load a report of the cases in these spools; `nothing_judged` becomes one more failed case."""
    lines = [orjson.loads(line) for spool in spools for line in spool.read_bytes().splitlines()]
    touched: Iterator[Coverage] = ({name: frozenset(hit) for name, hit in case["hits"].items()} for case in lines)
    cases = [ReportCase.from_json(case["case"]) for case in lines]
    if nothing_judged:
        place = path_from_root(recordings)
        found = ReportFinding("unreadable", False, nothing_judged, fix=FIX_NOTHING_JUDGED)
        cases.append(ReportCase("nothing judged", place, 1, "error", 0.0, found=[found], why=nothing_judged))
    return Report(cases, hit=merge_coverage(touched), facts=RunFacts("verify"))


def path_from_root(file: Path) -> str:
    """Return the path of a file relative to the checkout, else to the working directory; unchanged outside of both."""
    absolute = file.resolve()
    roots = (Path(root).resolve() for root in (os.environ.get(CHECKOUT_VARIABLE), ".") if root)
    return printable_path(next((absolute.relative_to(root) for root in roots if absolute.is_relative_to(root)), file))


def _build_finding(kind: VerdictKind, entry: Json) -> ReportFinding:
    if kind is VerdictKind.UNREADABLE:
        return ReportFinding("unreadable", False, entry["message"], fix=FIX_UNREADABLE)
    mock = entry.get("mock") or entry.get("error")
    error = as_object(mock)
    where = entry.get("at") or error.get("param")
    rule = entry.get("rule") or error.get("rule") or kind.value
    message = "\n".join([VERDICT_TEXTS[kind], *([entry["message"]] if "message" in entry else finding_lines(entry))])
    return ReportFinding("disagreement", False, message, rule, at=as_string(where), fix=FIX_DISAGREEMENT)


_LIST_START = re.compile(r"(?:http_)?interactions:|sockets:")
"""Matches the line that begins a list of records in cassettes of vcrpy, of similar recorders, and of this project."""
_LIST_ITEM = re.compile(r"( *)- ")


def find_record_lines(file: Path) -> list[int]:
    """Find the line number of each record in a file, in order; empty for other formats and unreadable files."""
    try:
        with open_bounded(file) as content:
            lines = (line.decode().rstrip("\r\n") for line in iter(content.read_line, b""))
            return list(_LINE_FINDERS[file.suffix](lines)) if file.suffix in _LINE_FINDERS else []
    except (OSError, UnicodeDecodeError, Malformed):
        return []


def _yaml_record_lines(lines: Iterator[str]) -> Iterator[int]:
    """Yield the line numbers of the records: list items with the indentation of the first one in their list."""
    indent: str | None = None
    inside = False
    for number, line in enumerate(lines, 1):
        if _LIST_START.match(line):
            indent, inside = None, True
        elif inside and (item := _LIST_ITEM.match(line)):
            indent = item[1] if indent is None else indent
            if item[1] == indent:
                yield number
        elif line[:1] not in ("", " ", "-", "#"):
            inside = False


def _non_empty_lines(lines: Iterator[str]) -> Iterator[int]:
    return (number for number, line in enumerate(lines, 1) if line.strip())


_LINE_FINDERS: Mapping[str, Callable[[Iterator[str]], Iterator[int]]] = {
    **dict.fromkeys((".yaml", ".yml"), _yaml_record_lines),
    **dict.fromkeys((".jsonl", ".ndjson"), _non_empty_lines),
}


_LISTS = ("input", "tools", "output")
"""The members of a body that are lists of objects."""


class _SharedValues:
    """Replaces values in bodies by equal earlier ones, so that each value is in memory, and read, only once.

    A client sends histories, tools and settings again and again.

    No body has the same object twice, since the items of a request are distinguished by identity.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, int], Any] = {}
        self._headers: dict[tuple[tuple[str, str], ...], Mapping[str, str]] = {}
        self._texts: dict[str, str] = {}

    def share(self, recorded: Recorded) -> Recorded:
        """Replace values in the bodies of an exchange, and return it with its headers replaced, too."""
        carried = (as_object(event.get("response")) for event in objects_in(recorded.events or []))
        for body in (recorded.request, recorded.answer, *carried):
            if isinstance(body, dict):
                self._share_members(body)
        sent, came = map(self._find_headers, (recorded.headers, recorded.answer_headers))
        return recorded._replace(headers=sent, answer_headers=came)

    def _find_headers(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        return self._headers.setdefault(tuple(headers.items()), headers)

    def _share_members(self, body: Json) -> None:
        used: Counter[bytes] = Counter()
        is_chained = body.get("previous_response_id") or conversation_id(body)
        for name, value in body.items():
            if isinstance(value, str):
                body[name] = self._texts.setdefault(value, value)
            elif isinstance(value, dict):
                body[name] = self._find(value, used)
            # What a request continues may have the same items as the request itself.
            elif isinstance(value, list) and name in _LISTS and not (name == "input" and is_chained):
                value[:] = [self._find(element, used) for element in value]

    def _find(self, value: Any, used: Counter[bytes]) -> Any:
        """Return the earlier value that equals this one, and is not used yet in the same body."""
        try:
            digest = blake2b(orjson.dumps(value), digest_size=16).digest()
        except (orjson.JSONEncodeError, RecursionError):
            return value
        used[digest] += 1
        return self._known.setdefault((digest, used[digest]), value)
