"""Delivers to the webhooks of Worlds that servers share: the log decides which server makes an attempt.

due ──TAKE, the first one in the log──> taken ──RECORD of its outcome──> done, or due again later
                                          └──no RECORD within the receiver's timeout and LEASE_SECONDS, as its server
                                             has ended: another server's RECORD without an answer──> due again later

So each attempt is made by one server. An attempt whose server ends midway may have reached the receiver; it is repeated
with the same `webhook-id`, as the API repeats an attempt without an answer. Waiting times pass through the log, too:
HURRY.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import orjson

from harness.core.webhooks import WebhookDelivery
from harness.server.webhook_courier import make_attempt
from harness.server.webhook_receivers import resolve_receiver
from harness.world.webhooks import DueDelivery, WebhookEndpoint
from harness.world.world import World
from responses_harness_cluster.log_entries import HURRY, RECORD, TAKE, LoggedRequest, StoreLost

LEASE_SECONDS = 5.0
"""The lease of an attempt: seconds after the receiver's timeout in which its server must record the outcome."""
LOOK_SECONDS = 0.05
"""Seconds between two looks at an attempt that another server makes."""
CLOSE_SECONDS = 2.0
"""Seconds that unfinished attempts get when the server ends."""
SERVER_ENDED = "the server that made this attempt has ended, or has lost the store"
Submit = Callable[[str, LoggedRequest | None], Awaitable[Any]]


class SharedCourier:
    """Delivers due events of a process's Worlds, in its event loop; see `harness.world.webhooks.Courier`.

    `submit` appends a request to the log of a key. `outstanding` holds keys of Worlds with deliveries to make now or
    later, `finished` those without any more: both are published in the store, for other servers.
    """

    takes_real_time = True

    def __init__(self, worlds: Mapping[str, World], submit: Submit) -> None:
        self.outstanding: set[str] = set()
        self.finished: set[str] = set()
        self._worlds = worlds
        self._submit = submit
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._lookers: dict[str, asyncio.Task[None]] = {}
        self._own: set[str] = set()
        self._since: dict[str, dict[str | int, float]] = {}

    def lead(self, receiver: Any, path: str, url: str) -> tuple[str, Any]:
        """Return the URL of deliveries, and the receiver to call unless they are posted to it."""
        return resolve_receiver(receiver, path, url)

    def wake(self, world: World) -> None:
        """Start delivering what is due, unless another server is delivering to this World."""
        key, webhooks = world.api_key, world.webhooks
        if webhooks is None or not webhooks.is_outstanding:
            return
        self.outstanding.add(key)
        if webhooks.may_take(world.now) and key not in self._tasks:
            task = self._tasks[key] = asyncio.create_task(self._deliver_all(key))
            task.add_done_callback(lambda _: self._tasks.pop(key, None))

    def deliver(self, world: World) -> None:
        """Start delivering what is due; an event loop cannot block to wait for it."""
        self.wake(world)

    async def delivered(self, world: World) -> list[WebhookDelivery]:
        """Deliver what is due, wait for other servers' attempts, and return all deliveries so far."""
        key = world.api_key
        while (webhooks := world.webhooks) and (webhooks.in_progress or webhooks.may_take(world.now)):
            self.wake(world)
            # Another server may be delivering, which only the log shows, so look again.
            await asyncio.wait([self._tasks[key]]) if key in self._tasks else await asyncio.sleep(LOOK_SECONDS)
            await self._submit(key, None)
            # The log may have replaced the World by one restored from a snapshot.
            world = self._worlds.get(key, world)
        return list(webhooks.deliveries) if webhooks else []

    async def close(self) -> None:
        """Wait briefly for unfinished attempts, then cancel them."""
        tasks = [*self._tasks.values(), *self._lookers.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        for task in tasks:
            task.cancel()

    def look_after(self, key: str) -> None:
        """Check a World with outstanding deliveries: a waiting time may be over, or a server may have ended."""
        if key not in self._lookers:
            task = self._lookers[key] = asyncio.create_task(self._look_after(key))
            task.add_done_callback(lambda _: self._lookers.pop(key, None))

    async def _look_after(self, key: str) -> None:
        with suppress(StoreLost):
            await self._submit(key, None)
            world = self._worlds.get(key)
            if world is None or world.webhooks is None or not world.webhooks.is_outstanding:
                self.finished.add(key)
                self._since.pop(key, None)
                return
            self.wake(world)
            for request in self._find_overdue(world):
                await self._submit(key, request)

    def _find_overdue(self, world: World) -> list[LoggedRequest]:
        """Return the log entries for waits of a World that are over, timed from when this process first saw them."""
        webhooks, now = world.webhooks, asyncio.get_running_loop().time()
        assert webhooks is not None
        known, overdue = self._since.get(world.api_key, {}), []
        since = self._since[world.api_key] = {name: known.get(name, now) for name in webhooks.in_progress}
        for name, (_, endpoint) in webhooks.in_progress.items():
            # Its server was killed, or has lost the store: any other ends the wait in its place.
            if name not in self._own and now - since[name] > endpoint.timeout + LEASE_SECONDS:
                overdue.append(LoggedRequest(RECORD, path=world.api_key, session=name))
        if (later := webhooks.next_time(world.now)) is not None:
            since[later] = known.get(later, now)
            if now - since[later] >= later - world.now:
                overdue.append(LoggedRequest(HURRY, path=world.api_key, session=str(later)))
        return overdue

    async def _deliver_all(self, key: str) -> None:
        """Make the due attempts of a World one after the other, while no other server does."""
        with suppress(StoreLost):
            while (world := self._worlds.get(key)) and world.webhooks and world.webhooks.may_take(world.now):
                name = secrets.token_hex(8)
                self._own.add(name)
                try:
                    taken = await self._submit(key, LoggedRequest(TAKE, path=key, session=name))
                    # Another server was faster: the log decides who takes an attempt.
                    if taken is None:
                        return
                    made = await asyncio.to_thread(make_attempt, taken[0], taken[1], world)
                    await self._record(key, LoggedRequest(RECORD, path=key, session=name, raw=orjson.dumps(made)))
                finally:
                    self._own.discard(name)

    async def _record(self, key: str, request: LoggedRequest) -> None:
        """Record the outcome of an attempt in the log.

        If the store is lost, retry until another server would take over.
        """
        until = asyncio.get_running_loop().time() + LEASE_SECONDS
        while True:
            try:
                await self._submit(key, request)
                return
            except StoreLost:
                if asyncio.get_running_loop().time() > until:
                    raise
            await asyncio.sleep(LOOK_SECONDS)


def apply_to_webhooks(world: World | None, request: LoggedRequest) -> tuple[DueDelivery, WebhookEndpoint] | None:
    """Apply a TAKE, RECORD or HURRY to a World, as all processes do; return the attempt that was taken."""
    if world is None or world.webhooks is None:
        return None
    webhooks, taken = world.webhooks, None
    if request.kind == TAKE:
        taken = webhooks.take(request.session, world.now)
    elif request.kind == HURRY:
        webhooks.hurry(int(request.session), world.now)
    elif request.session in webhooks.in_progress:
        webhooks.record_taken(request.session, _read_delivery(request.raw, *webhooks.in_progress[request.session]))
    if world.courier:
        world.courier.wake(world)
    return taken


def _read_delivery(raw: bytes, attempt: DueDelivery, endpoint: WebhookEndpoint) -> WebhookDelivery:
    """Read the outcome of an attempt; no bytes mean that its server died and the outcome is unknown."""
    if raw:
        made = orjson.loads(raw)
        return WebhookDelivery(**{**made, "exchanges": tuple(made["exchanges"])})
    return attempt.ended(endpoint, None, SERVER_ENDED)
