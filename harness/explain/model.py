"""What went wrong, as data: causes, which fail a test, and findings, which reports list and count."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Literal

from harness.core.errors import Section, name_section

CauseKind = Literal[
    "refusal",
    "loss",
    "unanswered",
    "unused",
    "no_request",
    "not_refused",
    "stray",
    "probe",
    "hang_up",
    "webhook",
    "client",
    "claim",
    "dropped",
    "other",
]


@dataclass(frozen=True, slots=True)
class Cause:
    """A reason for a failure: `what` went wrong, in `exchange` (0 for none), and texts, each a row unless empty.

    Causes of several tests are the same if they agree in `kind`, `id` (of the rule or loss) and the place `at` in the
    body; `general` describes all of them, without the number of a request, if that differs from `what`. Line breaks in
    a text are kept in its row. `came` is what came instead of what was expected; `asked` and `made` are the lines of
    code that sent the request and that created the client.
    """

    what: str
    exchange: int = 0
    kind: CauseKind = "other"
    id: str = ""
    at: str = ""
    general: str = ""
    _: KW_ONLY
    where: str = ""
    came: str = ""
    sent: str = ""
    unused: str = ""
    why: str = ""
    asked: str = ""
    made: str = ""
    fix: str = ""
    allow: str = ""
    expect: str = ""
    source: str = ""

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The label and text of each row, in the order in which they are shown; the last points to the manual."""
        given = [(label, text) for label in _ROW_LABELS if (text := getattr(self, label)).strip()]
        section = _SECTIONS.get(self.kind)
        return [*given, ("manual", name_section(section))] if section else given


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
}
_ROW_LABELS = tuple(field.name for field in fields(Cause) if field.kw_only)

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
    def title(self) -> str:
        """The kind and the rule: `refusal call_needs_output`."""
        return f"{self.kind} {self.id}".strip()

    @property
    def place(self) -> str:
        """The place: `exchange 3, input[0]`; without an exchange, the place of its kind, such as `the script`."""
        if self.exchange is None:
            return _PLACES.get(self.kind, "the script")
        return ", ".join(filter(None, [f"exchange {self.exchange}", self.at]))

    @property
    def text(self) -> str:
        """Message with place, cause and fix, each on its own line."""
        return "\n".join(filter(None, [f"{self.message} ({self.place})", self.why, self.fix]))
