"""The request of a delivery: its body, and the headers that sign it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import orjson

from harness.core.webhooks import make_secret
from harness.world.webhooks import DueDelivery, WebhookEndpoint

USER_AGENT = "OpenAI/1.0 (+https://platform.openai.com/docs/webhooks)"
STALE_SECONDS = 600
"""How old the timestamp of a stale delivery is: receivers allow five minutes."""
WRONG_SECRET = make_secret(b"somebody else's secret..")


class SignedRequest(NamedTuple):
    """What a receiver gets."""

    headers: Mapping[str, str]
    body: bytes


def sign_delivery(attempt: DueDelivery, endpoint: WebhookEndpoint, world_time: int, now: int) -> SignedRequest:
    """Write and sign a delivery. Its timestamp is `now`, in unix seconds, since receivers compare it with their clock."""
    from standardwebhooks import Webhook as Signer  # an extra, which making an endpoint asked for

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
