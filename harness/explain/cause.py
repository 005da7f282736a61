"""What went wrong, as data: causes, which fail a test, and findings, which reports list and count."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import Literal, TypeVar

from harness.core.errors import Section, name_section

FindingKind = Literal[
    "refusal",
    "loss",
    "unanswered",
    "unused",
    "disagreement",
    "unreadable",
    "webhook",
    "client",
    "examined",
    "shutdown",
    "migration",
]
CauseKind = Literal[
    FindingKind,
    "no_request",
    "not_refused",
    "stray",
    "probe",
    "hang_up",
    "claim",
    "dropped",
    "live",
    "recording",
    "raised",
]


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason for a failure: `what` went wrong, in `exchange` (0 for none), and texts, each a row unless empty.

    `id` is that of the rule or loss, `at` the place in the body. Line breaks in a text are kept in its row. `came` is
    what came instead of what was expected, `raised` the rest of an exception's text; `asked` and `made` are the lines
    of code that sent the request and that created the client. `section` is the manual's on a mistake in the use of the
    harness, which has no kind of its own; `line` is its line in the file of its case, or 0.
    """

    what: str
    exchange: int = 0
    kind: CauseKind = "raised"
    id: str = ""
    at: str = ""
    section: Section | None = None
    line: int = 0
    _: KW_ONLY
    where: str = ""
    came: str = ""
    raised: str = ""
    sent: str = ""
    unused: str = ""
    why: str = ""
    made: str = ""
    asked: str = ""
    fix: str = ""
    allow: str = ""
    expect: str = ""
    source: str = ""

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The label and text of each row, in the order in which they are shown; the last points to the manual."""
        given = [(label, text) for label in _ROW_LABELS if (text := getattr(self, label)).strip()]
        section = self.section or _SECTIONS.get(self.kind)
        return [*given, ("manual", name_section(section))] if section else given

    @property
    def group(self) -> str:
        """Equal for causes of the same kind and rule that have the same fix, whatever ids, names and numbers are in it."""
        if self.kind in ("shutdown", "migration") or (self.kind == "raised" and not self.fix):
            return ":".join([self.kind, _ADDRESS.sub("…", self.what)])
        text = self.what if self.kind in ("disagreement", "unreadable") else self.fix or self.what
        return ":".join([self.kind, self.id, _VARYING.sub("…", text)])


def causes_of_findings(findings: Iterable[ReportFinding]) -> list[Cause]:
    """Return the unexpected findings as causes, for a case that nobody has explained; a turn is left because of others."""
    wrong = [finding for finding in findings if not finding.expected]
    return [finding.cause for finding in wrong if finding.kind != "unused"] or [finding.cause for finding in wrong]


def raised_cause(why: str, where: str = "") -> Cause:
    """Build the cause of a test that only an exception explains: its first line, then the others."""
    first, _, more = why.strip().partition("\n")
    return Cause(first or "It failed.", kind="raised", where=where, raised=more)


def consequences_of(why: str, causes: Sequence[Cause], findings: Iterable[ReportFinding]) -> list[str]:
    """Name what followed from the causes: the error of the test, unless it is the cause, and turns that are left."""
    first = next(iter(why.strip().splitlines()), "")
    words = " ".join(why.split())  # line breaks may differ
    is_cause = any(" ".join(cause.what.split()) in words for cause in causes)
    left = [finding.message for finding in findings if finding.kind == "unused" and not finding.expected]
    if any(cause.kind == "unused" for cause in causes):
        left = []
    return [*([first] if first and not is_cause else []), *(f"no request took {text}" for text in left)]


Entry = TypeVar("Entry")


def group_entries(entries: Iterable[Entry], group_of: Callable[[Entry], str]) -> list[list[Entry]]:
    """Group entries, such as tests by their cause: the largest groups first, then in their order."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(group_of(entry), []).append(entry)
    return sorted(groups.values(), key=len, reverse=True)


_VARYING = re.compile(r"\S+::\S+|'[^']*'|\"[^\"]*\"|\b\w*\d[\w.]*")
"""What differs between causes that are the same: ids of tests, quoted names, other ids and numbers."""
_ADDRESS = re.compile("0x[0-9a-f]+")


_SECTIONS: dict[CauseKind, Section] = {
    "refusal": "a-request-was-refused",
    "loss": "something-was-lost",
    "unanswered": "a-request-could-not-be-answered",
    "unused": "turns-are-left",
    "no_request": "no-request-came",
    "not_refused": "an-expected-refusal-did-not-come",
    "stray": "another-key",
    "probe": "a-request-was-refused",
    "hang_up": "the-client-hung-up",
    "webhook": "a-webhook",
    "client": "how-the-client-asks",
    "claim": "a-claim-does-not-hold",
    "dropped": "a-shared-store",
    "live": "the-live-api",
    "recording": "recordings",
}
_ROW_LABELS = tuple(field.name for field in fields(Cause) if field.kw_only)

_PLACES: dict[FindingKind, str] = {
    "unreadable": "the file",
    "refusal": "outside its test",
    "webhook": "a webhook",
    "examined": "the client",
}
"""The place of findings without an exchange: an unreadable recording, a request without a World, a delivery."""


@dataclass(frozen=True, slots=True)
class ReportFinding:
    """A finding: its `kind`, the `id` of its rule or loss, the number of its `exchange`, the place `at` in the body.

    It is `expected` if its test provoked or allowed it. `why` is the cause in the client. `line` is its line in the
    file of its case, or 0.
    """

    kind: FindingKind
    expected: bool
    message: str
    id: str = ""
    exchange: int | None = None
    at: str = ""
    why: str = ""
    fix: str = ""
    line: int = 0

    @property
    def place(self) -> str:
        """The place: `exchange 3, input[0]`; without an exchange, the place of its kind, such as `the script`."""
        if self.exchange is None:
            return _PLACES.get(self.kind, "the script")
        return ", ".join(filter(None, [f"exchange {self.exchange}", self.at]))

    @property
    def cause(self) -> Cause:
        """The finding as the cause of a failure."""
        where = self.place if self.kind != "examined" else ""
        place = (self.exchange or 0, self.kind, self.id, self.at, None, self.line)
        return Cause(self.message, *place, where=where, why=self.why, fix=self.fix)
