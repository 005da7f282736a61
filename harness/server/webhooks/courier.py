"""Delivers due webhook events of a process's Worlds: one after the other for each World, in a thread while any are due.

No answer of the mock waits for a delivery. A test waits for deliveries when it moves time or a response forward, or
reads `mock.deliveries`. In a thread with a running event loop that wait would block an app in the same loop, so such a
test awaits `mock.delivered()` instead.
"""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from typing import Any

from harness.core.webhooks import WebhookDelivery
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
        from harness.server.webhooks.receivers import resolve_receiver

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
        """Deliver until nothing is due."""
        from harness.server.webhooks.signed_delivery import (
            make_attempt,  # no test run without webhooks waits for what it imports
        )

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
