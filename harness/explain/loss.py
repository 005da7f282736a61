"""Explains what a client lost of earlier answers, or shows differently."""

from __future__ import annotations

from harness.analysis.loss import Lost
from harness.core.errors import COMMAND
from harness.core.vocabulary import Vocabulary
from harness.explain.model import Cause, ReportFinding


def loss_cause(lost: Lost, vocabulary: Vocabulary) -> Cause:
    """Explain a loss: what is lost and where, the exchange with the original, the fix, how to allow it."""
    said = f"the original is in exchange {lost.said}; " if lost.said else ""
    return Cause(
        f"Loss {lost.loss} in request {lost.exchange}: {lost.message}",
        lost.exchange,
        "loss",
        lost.loss,
        lost.at,
        f"Loss {lost.loss}: {lost.message}",
        where=lost.at or "the request",
        fix=lost.fix,
        allow=vocabulary.allow_losses([lost.loss]),
        source=f"{said}`{COMMAND} losses {lost.loss}` explains the loss",
    )


def loss_finding(lost: Lost, expected: bool) -> ReportFinding:
    """Build the finding for a loss."""
    why = f"original in exchange {lost.said}" if lost.said else ""
    return ReportFinding("loss", expected, lost.message, lost.loss, lost.exchange, lost.at, why, lost.fix)


def shown_otherwise_cause(message: str, vocabulary: Vocabulary) -> Cause:
    """Explain how what a client shows differs from what it received, as `POST /_harness/surfaced` found."""
    return Cause(
        f"The client does not show what the model said: {message}",
        kind="loss",
        fix="Check how the client builds its result from what it received, which GET /_harness/said returns.",
        allow=vocabulary.allow_losses([]),
        source="POST /_harness/surfaced compared them",
    )
