"""Delivers what is due in the Worlds of a process: in turn for each World, in a thread while anything is due.

No answer of the mock waits for it. A test waits for it when it moves time or a response on, or reads `mock.deliveries`;
where an event loop runs in its thread that would stand in the way of an app in the loop, so it awaits `mock.delivered()`.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from harness.core.webhooks import WebhookDelivery
from harness.world.world import World


class ThreadCourier:
    """Delivers in threads of its own; see `harness.world.webhooks.Courier`.

    When it `takes_real_time`, what is due later in the World is delivered when as much time has passed outside.
    """

    takes_real_time = False

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy: dict[int, threading.Thread] = {}
        self._timed: set[tuple[int, int]] = set()

    def __reduce__(self) -> tuple[type[ThreadCourier], tuple[()]]:
        """Give a copy of a World a courier of its own."""
        return ThreadCourier, ()

    def lead(self, receiver: Any, path: str, url: str) -> tuple[str, Any]:
        """Say where deliveries go: the URL, and what to call unless they are posted there."""
        from harness.server.webhooks.receivers import lead_deliveries

        return lead_deliveries(receiver, path, url)

    def wake(self, world: World) -> None:
        """Begin to deliver what is due."""
        with self._changed:
            if id(world) not in self._busy:
                name = "responses-harness-webhooks"
                thread = threading.Thread(target=self._deliver_all, args=(world,), name=name, daemon=True)
                self._busy[id(world)] = thread
                thread.start()

    def deliver(self, world: World) -> None:
        """Deliver what is due, and wait for it unless an event loop runs in this thread."""
        self.wake(world)
        if not _runs_loop():
            self._wait(world)

    async def delivered(self, world: World) -> list[WebhookDelivery]:
        """Deliver what is due, and return all deliveries so far."""
        self.wake(world)
        if _runs_loop():
            await asyncio.to_thread(self._wait, world)
        else:  # another kind of event loop, as that of trio, in which no app runs
            self._wait(world)
        return list(world.webhooks.deliveries) if world.webhooks else []

    def _wait(self, world: World) -> None:
        with self._changed:
            if self._busy.get(id(world)) is not threading.current_thread():
                self._changed.wait_for(lambda: id(world) not in self._busy)

    def _deliver_all(self, world: World) -> None:
        """Deliver until nothing is due."""
        from harness.server.webhooks.signed_delivery import (
            make_attempt,  # no test run without webhooks waits for what it imports
        )

        while True:
            with self._changed:
                due = world.webhooks.take_due(world.now) if world.webhooks else None
                if due is None:
                    self._wait_outside(world)
                    del self._busy[id(world)]
                    self._changed.notify_all()
                    return
            attempt, endpoint = due
            assert world.webhooks is not None  # it had something due
            world.webhooks.record(attempt, make_attempt(attempt, endpoint, world))

    def _wait_outside(self, world: World) -> None:
        """Let the next attempts of a World be due when as many seconds have passed as are left in its time."""
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
