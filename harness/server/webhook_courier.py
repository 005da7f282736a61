"""Delivers due webhook events of a process's Worlds: one after the other for each World, in a thread while any are due.

No answer of the mock waits for a delivery. A test waits for deliveries when it moves time or a response forward, or
reads `mock.deliveries`. In a thread with a running event loop that wait would block an app in the same loop, so such a
test awaits `mock.delivered()` instead.
"""

from __future__ import annotations

import asyncio
import threading
import time
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import orjson

from harness.core.errors import describe_raised
from harness.core.webhooks import WebhookDelivery, make_secret
from harness.server.webhook_receivers import DeliveryProblem, Receiver, SignedRequest, post, post_nearby
from harness.world.webhooks import DueDelivery, WebhookEndpoint
from harness.world.world import World

_DELIVERING: ContextVar[int] = ContextVar("responses-harness-delivering", default=0)
"""The id of the World to which this context delivers; the threads and tasks of a receiver inherit it."""


class ThreadCourier:
    """Delivers in threads of its own; see `harness.world.world.Courier`.

    With `takes_real_time`, an event that is due later in the World is delivered after as many real seconds.
    """

    takes_real_time = False

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy: set[int] = set()
        self._timed: set[tuple[int, int]] = set()

    def __reduce__(self) -> tuple[type[ThreadCourier], tuple[()]]:
        """Give a copy of a World its own courier, as threads and locks cannot be copied."""
        return ThreadCourier, ()

    def lead(self, receiver: Any, path: str, url: str) -> tuple[str, Any]:
        """Return the URL of deliveries, and the receiver to call unless they are posted to it."""
        from harness.server.webhook_receivers import resolve_receiver

        return resolve_receiver(receiver, path, url)

    def wake(self, world: World) -> None:
        """Start delivering what is due."""
        with self._changed:
            if id(world) not in self._busy:
                name = "responses-harness-webhooks"
                self._busy.add(id(world))
                threading.Thread(target=self._deliver_all, args=(world,), name=name, daemon=True).start()

    def deliver(self, world: World) -> None:
        """Deliver what is due, and wait until it is done unless an event loop runs in this thread."""
        self.wake(world)
        if not _runs_loop():
            self._wait(world)

    async def delivered(self, world: World) -> list[WebhookDelivery]:
        """Deliver what is due, and return all deliveries so far."""
        self.wake(world)
        if _runs_loop():
            await asyncio.to_thread(self._wait, world)
        else:  # another kind of event loop, such as trio's, in which no app runs
            self._wait(world)
        return list(world.webhooks.deliveries) if world.webhooks else []

    def _wait(self, world: World) -> None:
        with self._changed:
            # A receiver may itself move time forward; it must not wait for its own delivery.
            if _DELIVERING.get() != id(world):
                self._changed.wait_for(lambda: id(world) not in self._busy)

    def _deliver_all(self, world: World) -> None:
        _DELIVERING.set(id(world))
        while True:
            with self._changed:
                due = world.webhooks.take_due(world.now) if world.webhooks else None
                if due is None:
                    self._wait_outside(world)
                    self._busy.remove(id(world))
                    self._changed.notify_all()
                    return
            attempt, endpoint = due
            assert world.webhooks is not None  # it had something due
            world.webhooks.record(attempt, make_attempt(attempt, endpoint, world))

    def _wait_outside(self, world: World) -> None:
        """Start a timer that makes a World's next attempts due, in as many real seconds as its own time has left."""
        later = world.webhooks.next_time(world.now) if world.webhooks and self.takes_real_time else None
        if later is None or (id(world), later) in self._timed:
            return
        self._timed.add((id(world), later))
        timer = threading.Timer(later - world.now, self._end_wait, (world, later))
        # A test that ends earlier must not wait for a retry that is due in an hour.
        timer.daemon = True
        timer.start()

    def _end_wait(self, world: World, later: int) -> None:
        with self._changed:
            self._timed.discard((id(world), later))
            if world.webhooks:
                world.webhooks.hurry(later, world.now)
        self.wake(world)


def _runs_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


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
