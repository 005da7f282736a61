"""Who waits for whom on a connection: the client for a server that does not read, the server for one that does not."""

from __future__ import annotations

import asyncio


class FlowControl:
    """Pauses reading from a transport, and lets those wait who write to one that is full."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._writable: asyncio.Event | None = None
        self.is_reading_paused = False

    def pause_reading(self) -> None:
        """Read no more, until `resume_reading`."""
        if not self.is_reading_paused:
            self.is_reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        if self.is_reading_paused:
            self.is_reading_paused = False
            self._transport.resume_reading()

    @property
    def is_writing_paused(self) -> bool:
        """Whether the client has yet to read what was written."""
        return self._writable is not None

    def pause_writing(self) -> None:
        """Let those wait who write."""
        self._writable = self._writable or asyncio.Event()

    def resume_writing(self) -> None:
        """Let those go on who wait."""
        if self._writable is not None:
            self._writable.set()
            self._writable = None

    async def drain(self) -> None:
        """Wait until more can be written."""
        while self._writable is not None:
            await self._writable.wait()
