"""Answers that wait for a gate, which another process may open: the Worlds of their keys are kept up to date meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from harness.core.delivery import Delivery, Gate

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
