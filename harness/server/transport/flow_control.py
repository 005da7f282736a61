"""Who waits for whom on a connection: the client for a server that does not read, the server for one that does not."""

from __future__ import annotations

import asyncio


class FlowControl:
    """Pauses reading from a transport, and lets those wait who write to one that is full.

    `is_writing_paused` while the client has yet to read what was written.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._writable = asyncio.Event()
        self.is_reading_paused = self.is_writing_paused = False

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

    def pause_writing(self) -> None:
        """Let those wait who write."""
        self.is_writing_paused = True
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let those go on who wait."""
        self.is_writing_paused = False
        self._writable.set()

    async def drain(self) -> None:
        """Wait until more can be written."""
        await self._writable.wait()
