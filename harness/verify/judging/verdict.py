"""A verdict on a recorded exchange: its kind, and the evidence for it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from harness.contract.check import Violation
from harness.contract.overrides import Entry
from harness.core.exchange import Json, Request


class VerdictKind(StrEnum):
    """The kinds of verdicts; the value is the place in the report (`schemas/verify.json`): a section and its member."""

    EXCHANGE = "exchanges"
    """Only counts: it precedes the other verdicts on an exchange."""
    OVERRULED = "overruled"
    """Does not count: it says which of the user's overrides have acted."""
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
"""The mock decides on the request as the API did."""
DISAGREEMENTS = (VerdictKind.REQUEST_REFUSED, VerdictKind.REFUSAL_DIFFERENT, VerdictKind.REFUSAL_MISSED)
"""The mock decides on the request otherwise than the API did."""
FINDINGS = (
    *DISAGREEMENTS,
    VerdictKind.ANSWER_FINDING,
    VerdictKind.STREAM_FINDING,
    VerdictKind.RESPELLED_DIFFERENT,
    VerdictKind.UNREADABLE,
)
"""Findings against the mock or the recording."""
DRIFTS = (VerdictKind.ANSWER_DRIFT, VerdictKind.STREAM_DRIFT)
"""Members that no schema knows. Equal entries, whatever their indices, are listed once, with `times`."""
UNVERIFIABLE = (
    VerdictKind.REQUEST_UNVERIFIABLE,
    VerdictKind.REFUSAL_UNVERIFIABLE,
    VerdictKind.ANSWER_UNVERIFIABLE,
    VerdictKind.STREAM_UNVERIFIABLE,
    VerdictKind.RESPELLED_UNVERIFIABLE,
)
"""What a recording does not show."""
COUNTED_BY_REASON = (
    *UNVERIFIABLE,
    VerdictKind.SKIPPED,
    VerdictKind.HOST,
    VerdictKind.GATEWAY,
    VerdictKind.MODEL,
)
"""Verdicts that are counted by their reason and not listed: hosts and gateways by host, models by name."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One verdict on an exchange, or on a file.

    `entry` is what the report lists of it, secrets masked; None when it only counts. A verdict on a request has the
    `request` as the mock would receive it, and the `violation` for which the mock refuses it, None if it does not. `acted`
    are entries of the user's overrides.
    """

    kind: VerdictKind
    entry: Json | None = None
    request: Request | None = None
    violation: Violation | None = None
    acted: tuple[Entry, ...] = ()
