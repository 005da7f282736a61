"""Watches the keys whose logs a process follows or has followed, to notice when the store has lost a log."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import NamedTuple

from harness.cluster.sharing.log_entries import RequestLog

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
        """Tell the epoch of the log of a key; empty while that is unknown."""
        followed = self._followed.get(key)
        return followed.epoch if followed else ""

    def has_expired(self, key: str) -> bool:
        """Tell whether the log of a key may have expired, unused for so long."""
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
