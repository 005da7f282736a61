"""Watches the keys whose logs a process follows or has followed, to notice when the store has lost a log.

Also watches answers that wait for a gate, which another process may open: their Worlds are kept up to date meanwhile.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from harness.core.delivery import Delivery, Gate
from responses_harness_cluster.log_entries import RequestLog

LOOK_SECONDS = 1.0
"""Seconds between two checks of logs for which no request arrives here."""
MOST_LOOKED = 1_000
"""How many logs are checked each time; those not checked for the longest time come first."""
MOST_KEYS = 20_000
"""How many keys are known; the least recently used are forgotten first."""


class _Followed(NamedTuple):
    epoch: str
    used: float


class KeyWatch:
    """The epochs of the logs of keys, as last heard by this process."""

    def __init__(self, log: RequestLog) -> None:
        self._log = log
        self._followed: OrderedDict[str, _Followed] = OrderedDict()

    def note(self, key: str, epoch: str) -> None:
        """Record that the log of a key is used now."""
        self._followed[key] = _Followed(epoch, asyncio.get_running_loop().time())
        self._followed.move_to_end(key)
        if len(self._followed) > MOST_KEYS:
            self._followed.popitem(last=False)

    def forget(self, key: str) -> None:
        """Stop watching the log of a key."""
        self._followed.pop(key, None)

    def epoch_of(self, key: str) -> str:
        """Return the epoch of a key's log, or an empty string while it is unknown."""
        followed = self._followed.get(key)
        return followed.epoch if followed else ""

    def has_expired(self, key: str) -> bool:
        """Return whether the log of a key may have expired since it was last used here."""
        followed = self._followed.get(key)
        most = self._log.seconds - min(1.0, self._log.seconds / 10)
        return followed is not None and asyncio.get_running_loop().time() - followed.used >= most

    async def find_changed(self) -> list[str]:
        """Check the next logs; return the keys whose log is gone or another one.

        StoreLost if the store does not answer.
        """
        keys = list(self._followed)[:MOST_LOOKED]
        epochs = await self._log.get_epochs(keys) if keys else {}
        for key in keys:
            self._followed.move_to_end(key)
        return [key for key, epoch in epochs.items() if epoch != self._followed[key].epoch]


POLL_SECONDS = 0.05
"""Seconds between two reads of a log while an answer of its key waits for a gate."""


class GateWatch:
    """The answers of a process that wait for gates, by connection; `refresh` brings the World of a key up to date."""

    def __init__(self, refresh: Callable[[str], Awaitable[None]]) -> None:
        self._refresh = refresh
        self._waiting: dict[int, tuple[str, list[Gate]]] = {}
        self._poller: asyncio.Task[None] | None = None

    @property
    def keys(self) -> set[str]:
        """The keys of waiting answers."""
        return {key for key, _ in self._waiting.values()}

    def add(self, connection: int, key: str, delivery: Delivery | None) -> None:
        """Watch the answer to a connection, if it waits for gates."""
        gates = [pause.until for pause in delivery.pauses if isinstance(pause.until, Gate)] if delivery else []
        if not gates:
            return
        self._waiting[connection] = key, gates
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll())

    def remove(self, connection: int) -> None:
        """Stop watching the answer to a connection."""
        self._waiting.pop(connection, None)

    def close(self) -> None:
        """Stop reading the logs."""
        if self._poller is not None:
            self._poller.cancel()

    async def _poll(self) -> None:
        while keys := {key for key, gates in self._waiting.values() if not all(gate.is_open for gate in gates)}:
            await asyncio.sleep(POLL_SECONDS)
            for key in keys:
                await self._refresh(key)
