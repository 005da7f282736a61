"""The score of a server by area and its findings, as a table for people and as JSON (`schemas/server.json`)."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from math import floor
from typing import Any

from rich.table import Table

from harness.contract.overrides import normalize_path
from harness.core.exchange import Finding, Json
from harness.core.json_values import as_object
from harness.core.secret_prefixes import redact
from harness.core.text import shorten
from harness.live.conformance.questions import Question
from harness.live.http import TOO_MANY_REQUESTS, ServerReply
from harness.verify.compare import differing_error_members, select_error_members

GRADES = ("words", "code", "status")
"""Grades of a refusal, best first: same message; same status, code and param; same status."""
GRADE_POINTS = {"words": 3, "code": 2, "status": 1}
UNGRADED = ("blocked", "limited")
"""Outcomes that prove nothing about a request: an earlier request failed, or the server limits the request rate."""


def is_refused(reply: ServerReply) -> bool:
    """Return whether the server refused the request, by its status or by an event of a stream."""
    return reply.status >= 400 or any(event.get("type") == "error" for event in reply.recorded.events or ())


def grade_reply(question: Question, before: list[ServerReply], reply: ServerReply | None) -> str:
    """Grade the reply to a question; None means that an earlier request was not answered as expected.

    For a refusal: one of GRADES, else `other` (another refusal), `taken` or `failed` (no answer, 5xx). For an accept:
    `taken`, `refused` or `failed`. For both: one of UNGRADED.
    """
    if reply is None:
        return "blocked"
    if reply.status == TOO_MANY_REQUESTS:
        return "limited"
    if reply.status >= 500 or (reply.fault and reply.status < 400):
        return "failed"
    if question.kind == "accept":
        return "taken" if reply.is_accepted and not is_refused(reply) else "refused"
    return _grade_refusal(question.expected_error(before), reply)


def _grade_refusal(expected: Json, reply: ServerReply) -> str:
    if reply.status < 400:
        return "other" if is_refused(reply) else "taken"
    actual = reply_error(reply)
    if actual["status"] != expected["status"]:
        return "other"
    different = differing_error_members(expected, actual)
    if "code" not in actual or not {"code", "param"}.isdisjoint(different):
        return "status"
    return "code" if different and different != ["list"] else "words"


def reply_error(reply: ServerReply) -> Json:
    """Return the error of a reply with its status; an error in another form becomes the message."""
    body = reply.body if reply.recorded.events is None else _find_error_event(reply)
    error = as_object(body).get("error")
    if isinstance(error, dict):
        return {"status": reply.status, **select_error_members(error)}
    return {"status": reply.status, "message": reply.fault or body}


def _find_error_event(reply: ServerReply) -> Any:
    events = reply.recorded.events or ()
    return next(({"error": event} for event in events if event.get("type") == "error"), reply.body)


VERSION = 1
MAX_SHOWN = 20
"""The maximum number of findings shown on a terminal; the JSON has all."""
MAX_TEXT_LENGTH = 301
"""The maximum number of characters of a text shown on a terminal."""
MAX_GROUPED = 2000
"""The maximum number of findings about answers that are listed; further ones are only counted."""
FORMS = ("answers", "streams", "errors")
KINDS = ("refusal", "accept", "scenario", *FORMS)
"""The kinds of findings, in the order of the report."""
_ORDER = ("area", "name", "claim", "on", "at", "message", "request")


@dataclass(slots=True)
class Score:
    """The outcomes: `refusals` and `accepts` by area, `forms` of answers by kind, `claims` by scenario.

    `left_out` counts the questions that were not sent, by reason; `surfaces` explains why optional endpoints are
    absent. `stopped` is the reason why the examination was stopped; empty if it was not.
    """

    server: str
    model: str
    refusals: dict[str, Counter[str]] = field(default_factory=dict)
    accepts: dict[str, Counter[str]] = field(default_factory=dict)
    forms: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in FORMS})
    claims: dict[str, Counter[str]] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    surfaces: dict[str, str] = field(default_factory=dict)
    findings: list[Json] = field(default_factory=list)
    stopped: str = ""
    _grouped: dict[tuple[str, str, str], Json] = field(default_factory=dict)

    def add_outcome(self, kind: str, area: str, outcome: str, finding: Json) -> None:
        """Count the outcome of a question; any but the best is a finding."""
        table = self.refusals if kind == "refusal" else self.accepts
        table.setdefault(area, Counter())[outcome] += 1
        if outcome not in ("words", *UNGRADED) and (kind, outcome) != ("accept", "taken"):
            self.findings.append({"kind": kind, "area": area, "outcome": outcome, **finding})

    def add_form(self, kind: str, on: str, found: Iterable[Finding]) -> None:
        """Count an answer; violations that are equal except for indexes become one finding with a count, `times`."""
        findings = list(found)
        self.forms[kind]["findings" if findings else "conform"] += 1
        for finding in findings:
            key = (on, normalize_path(finding.at), finding.message)
            if known := self._grouped.get(key):
                known["times"] += 1
            elif len(self._grouped) < MAX_GROUPED:
                made = {"kind": kind, "on": on, "at": finding.at, "message": finding.message, "times": 1}
                self._grouped[key] = made
                self.findings.append(made)

    def add_claim(self, scenario: str, claim: str, problem: str) -> None:
        """Count a claim of a scenario."""
        self.claims.setdefault(scenario, Counter())["false" if problem else "true"] += 1
        if problem:
            self.findings.append({"kind": "scenario", "area": scenario, "claim": claim, "message": problem})

    def sort(self) -> None:
        """Sort everything, so that the report does not depend on the order of the questions."""
        for counts in (self.refusals, self.accepts, self.claims):
            ordered = sorted(counts.items())
            counts.clear()
            counts.update(ordered)
        self.findings.sort(key=lambda found: (KINDS.index(found["kind"]), *(str(found.get(name)) for name in _ORDER)))

    @property
    def sections(self) -> dict[str, tuple[int, int]]:
        """The points and possible points by section: three for a refusal, one for everything else."""
        refused, accepted = _sum_counts(self.refusals), _sum_counts(self.accepts)
        claims = _sum_counts(self.claims)
        return {
            "refuses": _count_points(refused),
            "accepts": (accepted["taken"], _count_judged(accepted)),
            **{kind: (counts["conform"], counts.total()) for kind, counts in self.forms.items()},
            "scenarios": (claims["true"], claims.total()),
        }

    @property
    def percent(self) -> float | None:
        """The mean of the sections in percent, equally weighted and rounded down to tenths; None without any."""
        parts = [Fraction(points, of) for points, of in self.sections.values() if of]
        return floor(1000 * sum(parts) / len(parts)) / 10 if parts else None

    @property
    def is_clean(self) -> bool:
        """Whether there are no findings and the examination was not stopped."""
        return not self.findings and not self.stopped


def _sum_counts(counts: dict[str, Counter[str]]) -> Counter[str]:
    return sum(counts.values(), Counter())


def _count_judged(counts: Counter[str]) -> int:
    return counts.total() - sum(counts[outcome] for outcome in UNGRADED)


def _count_points(counts: Counter[str]) -> tuple[int, int]:
    """Return the points of refusals and the possible points."""
    return sum(GRADE_POINTS.get(grade, 0) * n for grade, n in counts.items()), 3 * _count_judged(counts)


def explain_nothing_asked(score: Score) -> str:
    """Explain why no question got a conclusive answer, so that having no findings means nothing; empty if one did."""
    refused, accepted = _sum_counts(score.refusals), _sum_counts(score.accepts)
    if score.stopped or _count_judged(refused) or _count_judged(accepted):
        return ""
    counts = {**score.left_out, **{name: refused[name] + accepted[name] for name in UNGRADED}}
    why = "; ".join(f"{times} × {reason}" for reason, times in counts.items() if times)
    return f"nothing was judged: no question to {score.server} was answered: {why or 'none was asked'}."


def format_percent(points: int, of: int) -> str:
    """Format a ratio in percent, rounded down; a dash if `of` is 0."""
    return f"{100 * points // of} %" if of else "-"


def score_json(score: Score, key: str) -> Json:
    """Return the report as JSON, with the key redacted."""
    made = {
        "version": VERSION,
        "server": score.server,
        "model": score.model,
        "percent": score.percent,
        "sections": {name: {"points": points, "of": of} for name, (points, of) in score.sections.items()},
        "refusals": {area: dict(counts) for area, counts in score.refusals.items()},
        "accepts": {area: dict(counts) for area, counts in score.accepts.items()},
        "forms": {kind: dict(counts) for kind, counts in score.forms.items()},
        "scenarios": {name: dict(counts) for name, counts in score.claims.items()},
        "surfaces": score.surfaces,
        "left_out": dict(score.left_out.most_common()),
        "stopped": score.stopped,
        "findings": score.findings,
    }
    hidden: Json = redact(made, [key])
    return hidden


def score_table(score: Score) -> Table:
    """Build a table of the score: a row for each area and scenario, then the sections."""
    made = Table("", "asked", "good", "status", "code", "words", "taken", "other", "failed", box=None, pad_edge=False)
    for area, counts in score.refusals.items():
        made.add_row(f"refuses  {area}", *_refusal_cells(counts))
    for area, counts in score.accepts.items():
        judged, taken = _count_judged(counts), counts["taken"]
        cells = (judged, format_percent(taken, judged), "", "", "", taken, counts["refused"], counts["failed"])
        made.add_row(f"accepts  {area}", *map(_cell, cells))
    for name, counts in score.claims.items():
        made.add_row(f"scenario  {name}", str(counts.total()), format_percent(counts["true"], counts.total()))
    for name, (points, of) in score.sections.items():
        made.add_row(name, str(of if name != "refuses" else of // 3), format_percent(points, of), style="bold")
    return made


def _refusal_cells(counts: Counter[str]) -> Iterator[str]:
    """Yield the cells of a row of refusals; the right message counts as the right code and status, too."""
    yield str(_count_judged(counts))
    yield format_percent(*_count_points(counts))
    best = list(reversed(GRADES))
    yield from (_cell(sum(counts[grade] for grade in best[place:])) for place in range(len(best)))
    yield from (_cell(counts[name]) for name in ("taken", "other", "failed"))


def _cell(value: object) -> str:
    return str(value or "")


def summary_lines(score: Score, key: str) -> Iterator[str]:
    """Yield the lines below the table: the first findings, the reasons why questions were left out, the score."""
    found = redact(score.findings, [key])
    for finding in islice(found, MAX_SHOWN):
        yield from (shorten(text, MAX_TEXT_LENGTH).replace("\n", " ") for text in _finding_lines(finding))
    if len(found) > MAX_SHOWN:
        yield f"… and {len(found) - MAX_SHOWN} more; --json FILE has them all."
    yield from (f"there is no {surface}: {why}" for surface, why in score.surfaces.items() if why)
    yield from (f"left out  {times} × {why}" for why, times in score.left_out.most_common())
    if score.stopped:
        yield f"stopped: {redact(score.stopped, [key])}"
    yield f"score of {score.server}: {'none' if score.percent is None else f'{score.percent:g} %'}"


def _finding_lines(found: Json) -> Iterator[str]:
    if found["kind"] in FORMS:
        yield f"{found['kind']}  {found['on']}  {found['at']}  ({found['times']} ×)"
        yield f"  {found['message']}"
    elif found["kind"] == "scenario":
        yield f"scenario  {found['area']}: {found['claim']}"
        yield f"  {found['message']}"
    else:
        yield f"{found['kind']}  {found['area']}  {found['name']}: {found['outcome']}"
        yield from (f"  {side.ljust(8)}  {_format_error(found[side])}" for side in ("expected", "got") if side in found)


def _format_error(error: Json) -> str:
    members = "".join(f", {name} {error[name]}" for name in ("param", "code") if name in error)
    return f"{error.get('status')} {error.get('message')}{members}"
