"""Delivers to the webhooks of Worlds that servers share: the log says which server makes an attempt.

    due ──TAKE, of several the first in the log──> taken ──RECORD of what came of it──> done, or due again later
                                                     └──no RECORD in its time and LEASE_SECONDS more, as its server has
                                                        ended: another one's RECORD without an answer──> due again later

So each attempt is made by one server. One whose server ends in the middle may have reached the receiver, and is made again,
as the API makes one without an answer: with the same `webhook-id`. Waits pass in the log, too: HURRY.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import orjson

from harness.cluster.sharing.log_entries import HURRY, RECORD, TAKE, LoggedRequest, StoreLost
from harness.core.webhooks import WebhookDelivery
from harness.server.webhooks.receivers import lead_deliveries
from harness.server.webhooks.signed_delivery import make_attempt
from harness.world.webhooks import DueDelivery, WebhookEndpoint
from harness.world.world import World

LEASE_SECONDS = 5.0
"""Seconds after the time of a receiver is up in which the server that asked it has to say what came of it."""
LOOK_SECONDS = 0.05
"""Seconds between two looks at what another server delivers."""
CLOSE_SECONDS = 2.0
"""Seconds in which attempts that are being made may end when the server does."""
SERVER_ENDED = "the server that made this attempt has ended, or has lost the store"
Submit = Callable[[str, LoggedRequest | None], Awaitable[Any]]


class SharedCourier:
    """Delivers what is due in the Worlds of a process, in its event loop; see `harness.world.webhooks.Courier`.

    `submit` puts a request into the log of a key. `outstanding` are keys of Worlds for whose webhooks something is to be
    done now or later, `finished` those for which nothing is: the store is told of both, for other servers.
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
        """Say where deliveries go: the URL, and what to call unless they are posted there."""
        return lead_deliveries(receiver, path, url)

    def wake(self, world: World) -> None:
        """Begin to deliver what is due, unless another server delivers to this World now."""
        key, webhooks = world.api_key, world.webhooks
        if webhooks is None or not webhooks.is_outstanding:
            return
        self.outstanding.add(key)
        if webhooks.may_take(world.now) and key not in self._tasks:
            task = self._tasks[key] = asyncio.create_task(self._deliver_all(key))
            task.add_done_callback(lambda _: self._tasks.pop(key, None))

    def deliver(self, world: World) -> None:
        """Begin to deliver what is due; it cannot be waited for in the event loop."""
        self.wake(world)

    async def delivered(self, world: World) -> list[WebhookDelivery]:
        """Deliver what is due, wait for what another server delivers, and return all deliveries so far."""
        key = world.api_key
        while (webhooks := world.webhooks) and (webhooks.taken or webhooks.may_take(world.now)):
            self.wake(world)
            # Another server may be the one that delivers: of that only the log tells, so look again.
            await asyncio.wait([self._tasks[key]]) if key in self._tasks else await asyncio.sleep(LOOK_SECONDS)
            await self._submit(key, None)
            # The log may have replaced the World by one made from a snapshot.
            world = self._worlds.get(key, world)
        return list(webhooks.deliveries) if webhooks else []

    async def close(self) -> None:
        """Wait a little for attempts that are being made, then give them up."""
        tasks = [*self._tasks.values(), *self._lookers.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
        for task in tasks:
            task.cancel()

    def look_after(self, key: str) -> None:
        """See to a World for which something is outstanding: a wait may be over, or a server may have ended."""
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
        """List the log entries that end the waits of a World that are over, counted from their first sight here."""
        webhooks, now = world.webhooks, asyncio.get_running_loop().time()
        assert webhooks is not None
        known, overdue = self._since.get(world.api_key, {}), []
        since = self._since[world.api_key] = {name: known.get(name, now) for name in webhooks.taken}
        for name, (_, endpoint) in webhooks.taken.items():
            # Its server was killed, or has lost the store: any other ends the wait in its place.
            if name not in self._own and now - since[name] > endpoint.timeout + LEASE_SECONDS:
                overdue.append(LoggedRequest(RECORD, path=world.api_key, session=name))
        if (later := webhooks.next_time(world.now)) is not None:
            since[later] = known.get(later, now)
            if now - since[later] >= later - world.now:
                overdue.append(LoggedRequest(HURRY, path=world.api_key, session=str(later)))
        return overdue

    async def _deliver_all(self, key: str) -> None:
        """Make the attempts of a World that are due, one after the other, as long as no other server does."""
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
        """Tell the log what came of an attempt; while the store is lost, again until another server would."""
        until = asyncio.get_running_loop().time() + LEASE_SECONDS
        while True:
            try:
                await self._submit(key, request)
                return
            except StoreLost:
                if asyncio.get_running_loop().time() > until:
                    raise
            await asyncio.sleep(LOOK_SECONDS)


def carry_out(world: World | None, request: LoggedRequest) -> tuple[DueDelivery, WebhookEndpoint] | None:
    """Carry out TAKE, RECORD or HURRY on a World, the same in all processes; returns what was taken."""
    if world is None or world.webhooks is None:
        return None
    webhooks, taken = world.webhooks, None
    if request.kind == TAKE:
        taken = webhooks.take(request.session, world.now)
    elif request.kind == HURRY:
        webhooks.hurry(int(request.session), world.now)
    elif request.session in webhooks.taken:
        webhooks.record_taken(request.session, _read_delivery(request.raw, *webhooks.taken[request.session]))
    if world.courier:
        world.courier.wake(world)
    return taken


def _read_delivery(raw: bytes, attempt: DueDelivery, endpoint: WebhookEndpoint) -> WebhookDelivery:
    """Read the outcome of an attempt; no bytes mean that its server died and the outcome is unknown."""
    if raw:
        made = orjson.loads(raw)
        return WebhookDelivery(**{**made, "exchanges": tuple(made["exchanges"])})
    return attempt.ended(endpoint, None, SERVER_ENDED)
