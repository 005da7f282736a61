"""Makes one attempt to deliver an event: signed, sent, and told as a `WebhookDelivery`."""

from __future__ import annotations

import time
from typing import Any

from harness.core.text.raised import describe_raised
from harness.core.webhooks import WebhookDelivery
from harness.server.webhooks.receivers import DeliveryProblem, Receiver, post, post_nearby
from harness.server.webhooks.sign import sign_delivery
from harness.world.webhooks import DueDelivery, WebhookEndpoint
from harness.world.world import World


def make_attempt(attempt: DueDelivery, endpoint: WebhookEndpoint, world: World) -> WebhookDelivery:
    """Make one attempt, and tell what came of it."""
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
    if status is not None and seconds > endpoint.timeout:
        problems.append(f"the answer, {status}, came after {seconds:.1f} s, later than {endpoint.timeout:g} s")
        status = None
    return WebhookDelivery(
        event=attempt.event.type,
        response=attempt.event.response,
        id=attempt.webhook_id,
        url=endpoint.url,
        attempt=attempt.attempt,
        at=attempt.at,
        signature=attempt.signature,
        status=status,
        error="; ".join(problems),
        seconds=seconds,
        limit=endpoint.timeout,
        exchanges=(before, world.exchange_count),
        effect=(effect, _observe(endpoint, problems)) if endpoint.effects else None,
    )


def _observe(endpoint: WebhookEndpoint, problems: list[str]) -> Any:
    """Call the test's function that shows the effects of deliveries."""
    if endpoint.effects is None:
        return None
    try:
        return endpoint.effects()
    except Exception as problem:
        problems.append(f"effects() raised {describe_raised(problem)}")
        return None
