"""Causes and findings in the viewer, and the causes that several cases share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from harness.core.text import shorten
from harness.explain.model import Cause, ReportFinding
from harness.report.report import documentation_of
from harness.viewer.model import CaseRow, CauseGroup, Documentation, ShownCause, ShownFinding

_INDEX = re.compile(r"\[\d+\]")
MAX_EXCEPTION = 200
"""Characters of an exception's first line that are compared."""
EXCEPTION = "exception"
"""The kind of a cause that is only an exception of the test."""


def show_cause(cause: Cause) -> ShownCause:
    """Convert a cause that the harness has explained."""
    group = _group_id(cause.kind, cause.id or ("" if cause.kind != "other" else cause.what), cause.at)
    told = (cause.what, cause.exchange, cause.at, cause.kind, cause.id, cause.rows, group)
    return ShownCause(*told, general=cause.general)


def show_finding_as_cause(finding: ReportFinding) -> ShownCause:
    """Convert a finding to the cause that failed its case, if nothing else is known."""
    is_documented = bool(documentation_of(finding.id))
    verdict = "" if is_documented else finding.id
    texts = (("where", finding.place), ("why", finding.why), ("verdict", verdict), ("fix", finding.fix))
    rows = [(label, text) for label, text in texts if text]
    group = _group_id(finding.kind, finding.id or finding.message, finding.at)
    number = finding.exchange or 0
    rule = finding.id if is_documented else ""
    return ShownCause(finding.message, number, finding.at, finding.kind, rule, rows, group, finding.expected)


def show_exception(why: str) -> ShownCause:
    """Convert an exception of the test to a cause, if nothing explains it."""
    first = why.strip().splitlines()[0]
    rows = [("raised", why)] if why.strip() != first else []
    return ShownCause(first, kind=EXCEPTION, rows=rows, group=_group_id(EXCEPTION, shorten(first, MAX_EXCEPTION), ""))


def show_finding(finding: ReportFinding) -> ShownFinding:
    """Convert a finding."""
    members = {name: value for name, value in asdict(finding).items() if name not in ("id", "line")}
    return ShownFinding(**members, rule=finding.id)


def group_causes(rows: Sequence[CaseRow]) -> list[CauseGroup]:
    """Group the first causes of cases: those that fail the most cases first, then in the order of the cases."""
    groups: dict[str, list[tuple[CaseRow, ShownCause]]] = {}
    for row in rows:
        if row.causes:
            groups.setdefault(row.causes[0].group, []).append((row, row.causes[0]))
    ranked = sorted(groups.items(), key=lambda group: -len(group[1]))
    return [_group(id, members) for id, members in ranked]


def document(rows: Iterable[CaseRow], findings: Iterable[str] = ()) -> dict[str, Documentation]:
    """Document the rules and losses that cases mention, by id."""
    ids = sorted({*findings, *(cause.rule for row in rows for cause in row.causes)})
    return {id: Documentation(**known) for id in ids if (known := documentation_of(id))}


def _group(id: str, members: Sequence[tuple[CaseRow, ShownCause]]) -> CauseGroup:
    _, first = members[0]
    is_general = first.general and len({cause.exchange for _, cause in members}) > 1
    return CauseGroup(
        id,
        first.general if is_general else first.what,
        first.kind,
        first.rule,
        [(row.id, cause.exchange) for row, cause in members],
    )


def _group_id(*parts: str) -> str:
    return ":".join(_INDEX.sub("[]", part) for part in parts if part)
