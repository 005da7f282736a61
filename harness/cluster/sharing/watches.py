"""Watches the keys whose logs a process follows or has followed, to notice when the store has lost a log.

It also watches answers that wait for a gate, which another process may open: their Worlds are kept up to date meanwhile.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from harness.cluster.sharing.log_entries import RequestLog
from harness.core.delivery import Delivery, Gate

LOOK_SECONDS = 1.0
"""Seconds between two looks at the logs, which nobody may ask here for."""
MOST_LOOKED = 1_000
"""Logs that are looked at each time, those first that were not for the longest time."""
MOST_KEYS = 20_000
"""Keys that are known, those used last."""


class _Followed(NamedTuple):
    epoch: str
    used: float


class KeyWatch:
    """The epochs of the logs of keys, by what the process has heard of each last."""

    def __init__(self, log: RequestLog) -> None:
        self._log = log
        self._followed: OrderedDict[str, _Followed] = OrderedDict()

    def note(self, key: str, epoch: str) -> None:
        """Note that the log of a key is used now."""
        self._followed[key] = _Followed(epoch, asyncio.get_running_loop().time())
        self._followed.move_to_end(key)
        if len(self._followed) > MOST_KEYS:
            self._followed.popitem(last=False)

    def forget(self, key: str) -> None:
        """Expect nothing of the log of a key any more."""
        self._followed.pop(key, None)

    def epoch_of(self, key: str) -> str:
        """Return the epoch of a key's log; empty while it is unknown."""
        followed = self._followed.get(key)
        return followed.epoch if followed else ""

    def has_expired(self, key: str) -> bool:
        """Return whether the log of a key may have expired, unused for so long."""
        followed = self._followed.get(key)
        most = self._log.seconds - min(1.0, self._log.seconds / 10)
        return followed is not None and asyncio.get_running_loop().time() - followed.used >= most

    async def find_changed(self) -> list[str]:
        """Look at the next logs; the keys of those that are gone, or others. StoreLost when it cannot be said."""
        keys = list(self._followed)[:MOST_LOOKED]
        epochs = await self._log.get_epochs(keys) if keys else {}
        for key in keys:
            self._followed.move_to_end(key)
        return [key for key, epoch in epochs.items() if epoch != self._followed[key].epoch]


POLL_SECONDS = 0.05
"""Seconds between two looks into the log of a key whose answer waits for a gate."""


class GateWatch:
    """The answers of a process that wait for gates, by connection; `refresh` brings the World of a key up to date."""

    def __init__(self, refresh: Callable[[str], Awaitable[None]]) -> None:
        self._refresh = refresh
        self._waiting: dict[int, tuple[str, list[Gate]]] = {}
        self._poller: asyncio.Task[None] | None = None

    @property
    def keys(self) -> set[str]:
        """The keys of the answers that wait."""
        return {key for key, _ in self._waiting.values()}

    def add(self, connection: int, key: str, delivery: Delivery | None) -> None:
        """Note an answer to this connection, if it waits for gates at all."""
        gates = [pause.until for pause in delivery.pauses if isinstance(pause.until, Gate)] if delivery else []
        if not gates:
            return
        self._waiting[connection] = key, gates
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll())

    def remove(self, connection: int) -> None:
        """Forget the answer to a connection, which has it."""
        self._waiting.pop(connection, None)

    def close(self) -> None:
        """Stop looking into the logs."""
        if self._poller is not None:
            self._poller.cancel()

    async def _poll(self) -> None:
        while keys := {key for key, gates in self._waiting.values() if not all(gate.is_open for gate in gates)}:
            await asyncio.sleep(POLL_SECONDS)
            for key in keys:
                await self._refresh(key)
