"""A client's bytes at the protocol of the server, with neither a network nor an event loop that waits."""

import asyncio
import logging
from functools import cache
from typing import Any

from uvicorn import Config
from uvicorn.server import ServerState

from harness.server.control_plane.app import control_app
from harness.server.http_server import App, uvicorn_config
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk

TURNS = 20
"""How often the event loop runs after each piece, so that what it began can end."""


class _Faults(logging.Handler):
    """Keeps what the server logs as errors: an exception of the app, a callback that failed."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record with the exception that it is about."""
        self.found.append(f"{record.getMessage()} {record.exc_info[1]!r}" if record.exc_info else record.getMessage())


class Wire(asyncio.Transport):
    """A connection whose other end takes everything; `said` is what it got."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.protocol: Any = None
        self.closed = False
        self.said = bytearray()

    def write(self, data: Any) -> None:
        """Send bytes, unless the connection is closed."""
        if not self.closed:
            self.said += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def get_protocol(self) -> Any:
        return self.protocol

    def pause_reading(self) -> None:
        """Nothing waits."""

    def resume_reading(self) -> None:
        """Nothing waits."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is buffered."""

    def get_write_buffer_size(self) -> int:
        return 0


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


@cache
def _server() -> tuple[MockApi, Config]:
    api = MockApi(fallback=small_talk)
    config = uvicorn_config(App(api))
    config.load()
    control_app(api)  # imported and made at its first use, for which no input is to pay
    return api, config


def feed_connection(raw: bytes) -> None:
    """Send bytes over a new connection, in pieces where a 0xFF stands; AssertionError for a fault that the server logs."""
    loop, faults = _loop(), _Faults()
    loop.set_exception_handler(lambda _, context: faults.found.append(f"loop: {context}"))
    for name in ("uvicorn.error", "asyncio", "websockets"):
        logging.getLogger(name).addHandler(faults)
    (api, config), wire = _server(), Wire()
    for key in [*api.worlds]:
        api.close(key)
    try:
        wire.protocol = config.http_protocol_class(config=config, server_state=ServerState(), app_state={}, _loop=loop)
        loop.run_until_complete(_feed(wire, raw))
    finally:
        for name in ("uvicorn.error", "asyncio", "websockets"):
            logging.getLogger(name).removeHandler(faults)
    assert not faults.found, faults.found


async def _feed(wire: Wire, raw: bytes) -> None:
    wire.protocol.connection_made(wire)
    for piece in raw.split(b"\xff")[:8]:
        if piece and not wire.closed:
            wire.protocol.data_received(piece)
            await _turn()
    wire.protocol.connection_lost(None)
    await _turn()
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await _turn()


async def _turn() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)
