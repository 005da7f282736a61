"""Explains what a client lost of earlier answers, mistakes in its requests and in how a receiver handles webhooks."""

import harness.analysis.client_mistakes  # noqa: F401  (registers every mistake)
from harness.analysis.client_mistake import ClientMistake, SeenClient, client_mistakes_of
from harness.analysis.judgement import ALLOW, STRICT
from harness.analysis.loss import Lost
from harness.analysis.receivers import FoundMistake, mistakes_of
from harness.core.advice_wording import Vocabulary
from harness.core.errors import COMMAND
from harness.explain.cause import Cause, ReportFinding
from harness.world.world import World


def see_client(world: World) -> SeenClient:
    """Collect what can be observed of a World's client, from its journal and the edge of its server."""
    taken = frozenset(world.answered_by.sources)
    return SeenClient(world.exchanges, world.edge, taken, world.client.patience, world.unread)


def client_causes(world: World) -> list[Cause]:
    """Explain the mistakes of a World's client that are judged and not allowed, in the order of its requests."""
    requests = {exchange.number: exchange.request for exchange in world.exchanges}
    return [
        Cause(
            f"Client {made.mistake}: {made.message}.",
            made.exchange,
            "client",
            made.mistake,
            where="{0.method} {0.path}, request {1}".format(requests[made.exchange], made.exchange),
            came=made.came,
            fix=made.fix,
            allow=world.vocabulary.allow_client([made.mistake]),
            source=made.source,
        )
        for made, is_allowed in _mistakes_of_client(world)
        if not is_allowed
    ]


def client_findings(world: World, passed: bool) -> list[ReportFinding]:
    """Build a finding for each mistake, expected if the test passed or the World allows the mistake."""
    return [
        ReportFinding("client", passed or is_allowed, made.message, made.mistake, made.exchange, fix=made.fix)
        for made, is_allowed in _mistakes_of_client(world)
    ]


def _mistakes_of_client(world: World) -> list[tuple[ClientMistake, bool]]:
    """Find the mistakes of a World's client that are judged, each with whether the World allows it."""
    if world.client.option == ALLOW or not world.exchanges:
        return []
    return [
        (made, any(allowed.permits(made.mistake, made.exchange) for allowed in world.client.allowed))
        for made in client_mistakes_of(see_client(world), strict=world.client.option == STRICT)
    ]


def webhook_causes(world: World) -> list[Cause]:
    """Explain the mistakes of a World's receivers that it does not allow, in the order of the deliveries."""
    return [
        Cause(
            f"Webhook {made.mistake}: {made.message}",
            kind="webhook",
            where=delivery,
            fix=made.fix,
            allow=world.vocabulary.allow_webhooks([made.mistake]),
            source=made.source,
        )
        for made, delivery, is_allowed in _mistakes_of_receivers(world)
        if not is_allowed
    ]


def webhook_findings(world: World, passed: bool) -> list[ReportFinding]:
    """Build a finding for each mistake, expected if the test passed or the World allows the mistake."""
    return [
        ReportFinding("webhook", passed or is_allowed, made.message, made.mistake, why=delivery, fix=made.fix)
        for made, delivery, is_allowed in _mistakes_of_receivers(world)
    ]


def _mistakes_of_receivers(world: World) -> list[tuple[FoundMistake, str, bool]]:
    """Find the mistakes of a World's receivers, each with its delivery in two lines and whether the World allows it."""
    if not (webhooks := world.webhooks):
        return []
    found = []
    for made in mistakes_of(webhooks.deliveries, world.exchanges):
        delivery = webhooks.deliveries[made.delivery - 1]
        signed = "" if delivery.signature == "valid" else f", signature {delivery.signature}"
        sent = (
            f"delivery {made.delivery} to {delivery.url}, webhook-id {delivery.id}, attempt {delivery.attempt}{signed}"
        )
        found.append((made, f"{sent}\nabout {delivery.response}", webhooks.is_allowed(made.mistake)))
    return found


def loss_cause(lost: Lost, vocabulary: Vocabulary) -> Cause:
    """Explain a loss: what is lost and where, the exchange with the original, the fix, how to allow it."""
    said = f"the original is in exchange {lost.said}; " if lost.said else ""
    return Cause(
        f"Loss {lost.loss} in request {lost.exchange}: {lost.message}",
        lost.exchange,
        "loss",
        lost.loss,
        lost.at,
        where=lost.at or "the request",
        fix=lost.fix,
        allow=vocabulary.allow_losses([lost.loss]),
        source=f"{said}`{COMMAND} losses {lost.loss}` explains the loss",
    )


_ORIGINAL = "original in exchange "


def loss_finding(lost: Lost, expected: bool) -> ReportFinding:
    """Build the finding for a loss."""
    why = f"{_ORIGINAL}{lost.said}" if lost.said else ""
    return ReportFinding("loss", expected, lost.message, lost.loss, lost.exchange, lost.at, why, lost.fix)


def read_original(finding: ReportFinding) -> int:
    """Return the number of the exchange with the original of a loss; 0 without one, or for another finding."""
    number = finding.why.removeprefix(_ORIGINAL)
    return int(number) if finding.kind == "loss" and number.isdecimal() else 0


def shown_otherwise_cause(message: str, vocabulary: Vocabulary) -> Cause:
    """Explain how what a client shows differs from what it received, as `POST /_harness/surfaced` found."""
    return Cause(
        f"The client does not show the answer of the model: {message}",
        kind="loss",
        fix="Check how the client builds its result from what it received, which GET /_harness/said returns.",
        allow=vocabulary.allow_losses([]),
        source="POST /_harness/surfaced compared them",
    )
