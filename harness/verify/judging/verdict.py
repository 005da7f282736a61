"""A verdict on a recorded exchange: its kind, and the evidence for it."""

from dataclasses import dataclass
from enum import StrEnum

from harness.contract.check import Violation
from harness.contract.overrides import Entry
from harness.core.exchange import Json, Request


class VerdictKind(StrEnum):
    """The kinds of verdicts; the value is the place in the report (`schemas/verify.json`): section and member."""

    EXCHANGE = "exchanges"
    """Only counts: it precedes the other verdicts on an exchange."""
    OVERRULED = "overruled"
    """Not counted: it lists the user's overrides that took effect."""
    SKIPPED = "skipped"
    HOST = "hosts"
    GATEWAY = "gateways"
    MODEL = "models"
    OTHER_FILE = "others"
    UNREADABLE = "unreadable"

    REQUEST_ACCEPTED = "requests.accepted"
    REQUEST_REFUSED = "requests.refused"
    REQUEST_UNVERIFIABLE = "requests.unverifiable"
    REQUEST_ABSENT = "requests.absent"

    REFUSAL_SAME = "refusals.same"
    REFUSAL_DIFFERENT = "refusals.different"
    REFUSAL_MISSED = "refusals.missed"
    REFUSAL_UNVERIFIABLE = "refusals.unverifiable"
    REFUSAL_DRIFT = "refusals.drift"

    ANSWER_CONFORMS = "answers.conform"
    ANSWER_FINDING = "answers.findings"
    ANSWER_UNVERIFIABLE = "answers.unverifiable"
    ANSWER_DRIFT = "answers.drift"

    STREAM_CONFORMS = "streams.conform"
    STREAM_FINDING = "streams.findings"
    STREAM_UNVERIFIABLE = "streams.unverifiable"
    STREAM_DRIFT = "streams.drift"
    STREAM_EVENTS = "streams.events"
    """Only counts: the number of events of a stream."""

    RESPELLED_SAME = "respelled.same"
    RESPELLED_DIFFERENT = "respelled.different"
    RESPELLED_UNVERIFIABLE = "respelled.unverifiable"


AGREEMENTS = (VerdictKind.REQUEST_ACCEPTED, VerdictKind.REFUSAL_SAME)
"""The mock accepts or refuses the request as the API did."""
DISAGREEMENTS = (VerdictKind.REQUEST_REFUSED, VerdictKind.REFUSAL_DIFFERENT, VerdictKind.REFUSAL_MISSED)
"""The mock treats the request differently than the API did."""
FINDINGS = (
    *DISAGREEMENTS,
    VerdictKind.ANSWER_FINDING,
    VerdictKind.STREAM_FINDING,
    VerdictKind.RESPELLED_DIFFERENT,
    VerdictKind.UNREADABLE,
)
"""Findings against the mock or the recording."""
DRIFTS = (VerdictKind.ANSWER_DRIFT, VerdictKind.STREAM_DRIFT)
"""Members that no schema has. Entries that are equal except for indexes are listed once, with `times`."""
UNVERIFIABLE = (
    VerdictKind.REQUEST_UNVERIFIABLE,
    VerdictKind.REFUSAL_UNVERIFIABLE,
    VerdictKind.ANSWER_UNVERIFIABLE,
    VerdictKind.STREAM_UNVERIFIABLE,
    VerdictKind.RESPELLED_UNVERIFIABLE,
)
"""Verdicts that depend on something that is not recorded."""
COUNTED_BY_REASON = (*UNVERIFIABLE, VerdictKind.SKIPPED, VerdictKind.HOST, VerdictKind.GATEWAY, VerdictKind.MODEL)
"""Verdicts that are counted by reason and not listed: hosts and gateways by host, models by name."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One verdict on an exchange, or on a file.

    `entry` is its entry in the report, with secrets masked; None if it is only counted. A verdict on a request has the
    `request` as the mock would receive it, and the `violation` for which the mock refuses it, if any. `applied` are the
    user's overrides that took effect.
    """

    kind: VerdictKind
    entry: Json | None = None
    request: Request | None = None
    violation: Violation | None = None
    applied: tuple[Entry, ...] = ()
