"""uvicorn's server, stopped promptly no matter what its clients and answers are waiting for."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future

import uvicorn

from harness.core.limits import collect_new_garbage
from harness.server.transport.connection import HttpConnection

TICK = 1.0
"""Seconds between two iterations of the main loop, each of which renews the date of answers."""
STOP_SECONDS, FORCED_STOP_SECONDS = 3.0, 0.1
"""Seconds that unfinished answers still get when the server is stopped, and when it is forced to stop."""


class StoppableServer(uvicorn.Server):
    """uvicorn's server, woken up by `stop` instead of polling every tenth of a second.

    `cut_off` is the number of requests without a complete answer when it ended; `at_end` is awaited once no request is
    left. `turns` counts iterations of the main loop, one per tick; `serving` resolves to the event loop once it runs.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.cut_off = self.turns = 0
        self.is_stopping = False
        self.at_end: Callable[[], Awaitable[None]] | None = None
        self.serving: Future[asyncio.AbstractEventLoop] = Future()
        self._wake: Callable[[], object] = lambda: None

    def stop(self, *, force: bool = True) -> None:
        """Stop serving; may be called from any thread or a signal handler.

        Unfinished answers get STOP_SECONDS, with `force` FORCED_STOP_SECONDS; after that they are cut off.
        """
        self.is_stopping = True
        # A server that is stopped while it starts would leave its sockets and connections open before uvicorn 0.41.
        self.should_exit = self.serving.done()
        self.force_exit = self.force_exit or force
        with contextlib.suppress(RuntimeError):  # the event loop has ended
            self._wake()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: the caller that runs the server handles them."""
        yield

    async def main_loop(self) -> None:
        """Let uvicorn tick, and end requests that are overdue, once a second until the server is stopped."""
        loop, stopped = asyncio.get_running_loop(), asyncio.Event()
        self.serving.set_result(loop)
        self._wake = lambda: loop.call_soon_threadsafe(stopped.set)
        self.should_exit = self.is_stopping  # read after `serving` is set, which `stop` reads after setting it
        while not await self.on_tick(0):  # the number of those at which uvicorn renews the date
            self.turns += 1
            collect_new_garbage()
            for connection in list(self.server_state.connections):
                if isinstance(connection, HttpConnection):
                    connection.end_when_late()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), TICK)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close each connection once its answer has been sent, and abort the rest when time is up."""
        self.turns += 1
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        state, loop = self.server_state, asyncio.get_running_loop()
        for connection in list(state.connections):
            connection.shutdown()
        begun = loop.time()
        while self._is_busy and loop.time() - begun < (FORCED_STOP_SECONDS if self.force_exit else STOP_SECONDS):
            await asyncio.sleep(FORCED_STOP_SECONDS / 20)
        self.cut_off = max(len(state.connections), len(state.tasks))
        for connection in list(state.connections):
            connection.transport.abort()
        if state.tasks:  # most end by themselves now that their client is disconnected
            await asyncio.wait(state.tasks, timeout=FORCED_STOP_SECONDS)
        for task in list(state.tasks):
            task.cancel()
        if self.at_end is not None:
            await self.at_end()

    @property
    def _is_busy(self) -> bool:
        return bool(self.server_state.connections or self.server_state.tasks)
