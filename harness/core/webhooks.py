"""Webhooks as plain data: an event for an endpoint, each attempt to deliver it, and the outcome."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from harness.core.exchange import Json

Signature = Literal["valid", "wrong", "missing", "stale"]
"""How a delivery is signed: correctly, with another secret, not at all, or with an expired timestamp."""
TIMEOUT_SECONDS = 15.0
"""How long a receiver may take to answer: the minimum of the 15 to 30 seconds that Standard Webhooks recommends."""
EVENT_TYPES = ("response.completed", "response.failed", "response.cancelled", "response.incomplete")
"""The events of background responses, by the status in which they end."""
LOOP_ENDED = "the event loop of the app has ended"
"""The error of a delivery to an app after its test has ended."""
SECRET_PREFIX = "whsec_"
SECRET_VARIABLE = "OPENAI_WEBHOOK_SECRET"
"""The environment variable from which the SDK reads a webhook's secret."""


def make_secret(seed: bytes) -> str:
    """Encode bytes as a signing secret, as Standard Webhooks does."""
    return SECRET_PREFIX + b64encode(seed).decode()


DEFAULT_SECRET = make_secret(b"responses-harness webhooks")
"""The secret of a webhook without one of its own; tests find it in OPENAI_WEBHOOK_SECRET."""


class WebhookEvent(NamedTuple):
    """An event: `type` is `response.completed` or the like, `response` the id of the response."""

    id: str
    type: str
    created_at: int
    response: str

    def as_json(self) -> Json:
        """Return the event as the body of a delivery."""
        return {
            "id": self.id,
            "object": "event",
            "created_at": self.created_at,
            "type": self.type,
            "data": {"id": self.response},
        }


@dataclass(frozen=True, slots=True)
class WebhookDelivery:
    """A delivery: the type of its `event`, the id of the `response`, the `webhook-id`, the receiver's answer.

    `attempt` counts from 1, `at` is the World's time at which it was scheduled. `status` is None without an answer;
    `error` then says why. It took `seconds` out of the `limit`. `exchanges` holds the numbers of the journal's last
    exchange before and after it; `effect` is what the test's function `effects` returned before and after it.
    """

    event: str
    response: str
    id: str
    url: str
    attempt: int
    at: int
    signature: Signature
    status: int | None
    error: str = ""
    seconds: float = field(default=0.0, compare=False)
    limit: float = field(default=TIMEOUT_SECONDS, compare=False)
    exchanges: tuple[int, int] = field(default=(0, 0), compare=False)
    effect: tuple[Any, Any] | None = field(default=None, compare=False)

    @property
    def is_accepted(self) -> bool:
        """Whether the receiver accepted it with a 2xx."""
        return self.status is not None and 200 <= self.status < 300
