"""Makes one attempt to deliver an event: signs and sends it, and returns a `WebhookDelivery`."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import orjson

from harness.core.errors import describe_raised
from harness.core.webhooks import WebhookDelivery, make_secret
from harness.server.webhooks.receivers import DeliveryProblem, Receiver, SignedRequest, post, post_nearby
from harness.world.webhooks import DueDelivery, WebhookEndpoint
from harness.world.world import World

USER_AGENT = "OpenAI/1.0 (+https://platform.openai.com/docs/webhooks)"
STALE_SECONDS = 600
"""Age in seconds of a stale delivery's timestamp; receivers allow five minutes."""
WRONG_SECRET = make_secret(b"somebody else's secret..")


def sign_delivery(attempt: DueDelivery, endpoint: WebhookEndpoint, world_time: int, now: int) -> SignedRequest:
    """Build and sign a delivery.

    Its timestamp is `now` (unix seconds), as receivers compare it with their own clock.
    """
    from standardwebhooks import Webhook as Signer

    body = orjson.dumps(attempt.event.as_json())
    headers = {"content-type": "application/json", "user-agent": USER_AGENT, "webhook-id": attempt.webhook_id}
    if attempt.signature == "missing":
        return SignedRequest(headers, body)
    timestamp = now - STALE_SECONDS if attempt.signature == "stale" else now
    secrets = [WRONG_SECRET] if attempt.signature == "wrong" else endpoint.secrets_at(world_time)
    signed_at = datetime.fromtimestamp(timestamp, tz=UTC)
    signatures = [Signer(secret).sign(attempt.webhook_id, signed_at, body.decode()) for secret in secrets]
    return SignedRequest(
        {**headers, "webhook-timestamp": str(timestamp), "webhook-signature": " ".join(signatures)}, body
    )


def make_attempt(attempt: DueDelivery, endpoint: WebhookEndpoint, world: World) -> WebhookDelivery:
    """Make one attempt and return its result."""
    request = sign_delivery(attempt, endpoint, world.now, int(time.time()))
    receiver: Receiver = endpoint.receiver or (post_nearby if endpoint.is_registered else post)
    before, problems = world.exchange_count, list[str]()
    effect = _observe(endpoint, problems)
    begun = time.monotonic()
    status: int | None
    try:
        status, seconds = receiver(endpoint.url, request, endpoint.timeout)
    except DeliveryProblem as problem:
        status, seconds = problem.status, time.monotonic() - begun
        problems.append(str(problem))
    # Before the problems are joined: the test's own function may raise, too.
    effects = (effect, _observe(endpoint, problems)) if endpoint.effects else None
    return attempt.ended(
        endpoint,
        status,
        "; ".join(problems),
        seconds=seconds,
        exchanges=(before, world.exchange_count),
        effect=effects,
    )


def _observe(endpoint: WebhookEndpoint, problems: list[str]) -> Any:
    """Call the test's `effects` function; None if it is missing or raises."""
    if endpoint.effects is None:
        return None
    try:
        return endpoint.effects()
    except Exception as problem:
        problems.append(f"effects() raised {describe_raised(problem)}")
        return None
