"""A worker: the process that answers all requests of its keys.

serving ──SIGTERM, or the first process has ended──> stopping ──answers are sent, or their time is up──> ended
└──────computes for HANG_SECONDS, stopping for STOP_SECONDS, without a turn of its loop──────────┴──> HUNG (see `watchdog`)
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import orjson

from harness.api.http.websocket_mode import UPGRADE
from harness.cluster.workers import watchdog
from harness.cluster.workers.channel import CONNECTION, STRAY, Channel, ChannelClosed, Message
from harness.cluster.workers.request_key import KeyReader
from harness.cluster.workers.worker_connection import WorkerConnection
from harness.core.exchange import Answer, ReceivedRequest, Request, Stray
from harness.server.asgi import App, fast_path, uvicorn_config
from harness.server.mock_api import MockApi
from harness.server.transport.stoppable_server import STOP_SECONDS, TICK, StoppableServer

MOST_OWN_KEYS = 50_000
"""How many keys a worker remembers as its own; forgotten ones are sent to it again by the first process."""


class WorkerApi(MockApi):
    """The mock of a worker.

    `tell` is called with each request without a World, to be recorded by the other workers, too.
    """

    tell: Callable[[Request], None] | None = None

    def _add_stray(self, request: Request, answer: Answer) -> Stray | None:
        stray = super()._add_stray(request, answer)
        if self.tell:
            self.tell(request)
        return stray


class _WorkerServer(StoppableServer):
    """Serves the connections received over a channel."""

    def __init__(
        self, config: Any, receive: Callable[[], None], channel: Channel, tick: Callable[[], Awaitable[object]]
    ) -> None:
        super().__init__(config)
        self._tick = tick
        self._receive = receive
        self._channel = channel

    async def main_loop(self) -> None:
        """Receive from the channel while the server runs."""
        asyncio.get_running_loop().add_reader(self._channel.fileno(), self._receive)
        ticking = asyncio.ensure_future(self._tick_each_second())
        await super().main_loop()
        ticking.cancel()

    async def _tick_each_second(self) -> None:
        while True:
            watchdog.end_after(watchdog.HANG_SECONDS)
            with suppress(OSError):  # only the report to other processes is lost, no answer
                await self._tick()
            await asyncio.sleep(1.0)


class Worker:
    """Serves the connections of a channel; the worker that `is_first` also gets requests without a World."""

    def __init__(self, app: App, channel: Channel, keys: KeyReader, *, is_first: bool) -> None:
        self._channel = channel
        self._keys = keys
        self._own_keys = {""} if is_first else set()
        self._is_first = is_first
        self._api = app.api
        self._is_writing = False
        self._connecting: set[asyncio.Task[None]] = set()
        config = uvicorn_config(app)
        config.load()
        self._server = _WorkerServer(config, self._receive, channel, app.tick)
        self._server.at_end = app.close
        self._make = partial(
            WorkerConnection,
            **fast_path(app),
            is_own=self._is_own,
            give_back=self._give_back,
            config=config,
            server_state=self._server.server_state,
            app_state={},
        )
        if is_first and isinstance(app.api, WorkerApi):
            app.api.tell = self._tell_stray

    def run(self) -> int:
        """Serve until SIGTERM, or until the first process ends; return how many requests got no complete answer."""
        # A terminal signals the whole group; the first process tells the workers when to end.
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: self._stop())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        self._server.run(sockets=[])
        watchdog.end_after(0)
        return self._server.cut_off

    def _stop(self) -> None:
        """Stop serving; a second call stops without delay."""
        watchdog.end_after(TICK if self._server.should_exit else STOP_SECONDS)
        self._server.stop(force=self._server.should_exit)

    def _receive(self) -> None:
        try:
            for message in self._channel.receive():
                self._take(message)
        except ChannelClosed:
            # The first process is gone, so no other would stop this one.
            asyncio.get_running_loop().remove_reader(self._channel.fileno())
            self._server.stop(force=False)

    def _take(self, message: Message) -> None:
        if message.kind == STRAY:
            handle_stray(self._api, message.data)
        elif message.connection is not None:
            # A set of what was seen would grow for ever; a key that is forgotten costs one more hop.
            if len(self._own_keys) > MOST_OWN_KEYS:
                self._own_keys = {""} if self._is_first else set()
            self._own_keys.add(self._keys.read(message.data))
            task = asyncio.ensure_future(self._connect(message.connection, message.data))
            self._connecting.add(task)
            task.add_done_callback(self._connecting.discard)

    async def _connect(self, connection: socket.socket, first: bytes) -> None:
        loop = asyncio.get_running_loop()
        connection.setblocking(False)
        try:
            await loop.connect_accepted_socket(lambda: self._make(first=first, _loop=loop), connection)
        except OSError:
            connection.close()

    def _tell_stray(self, request: Request) -> None:
        self._send(STRAY, encode_stray(request))

    def _is_own(self, url: bytes, headers: Mapping[bytes, bytes]) -> bool:
        return self._keys.read_from(url, headers) in self._own_keys

    def _give_back(self, connection: int, head: bytes) -> None:
        self._send(CONNECTION, head, connection)

    def _send(self, kind: bytes, data: bytes, connection: int | None = None) -> None:
        with suppress(ChannelClosed):
            self._channel.send(kind, data, connection)
            if self._channel.has_unsent and not self._is_writing:
                self._is_writing = True
                asyncio.get_running_loop().add_writer(self._channel.fileno(), self._flush)

    def _flush(self) -> None:
        with suppress(ChannelClosed):
            self._channel.flush()
        if not self._channel.has_unsent:
            self._is_writing = False
            asyncio.get_running_loop().remove_writer(self._channel.fileno())


def encode_stray(request: Request) -> bytes:
    """Encode a request without a World for other workers to record."""
    headers: Mapping[str, Any] = dict(request.headers)
    head = [request.method, request.root + request.path, headers, dict(request.query), request.operation]
    return orjson.dumps(head) + b"\n" + request.raw


def handle_stray(api: MockApi, data: bytes) -> None:
    """Record a request without a World that another worker has answered and reported to observers."""
    head, _, raw = data.partition(b"\n")
    method, path, headers, query, operation = orjson.loads(head)
    if operation == UPGRADE:
        api.open_session(ReceivedRequest("GET", path, headers, query), is_own=False)
    else:
        api.handle(ReceivedRequest(method, path, headers, query, raw), is_own=False)
