"""A WebSocket to the live API: opened with the key, asked event by event, written down as frames."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

import orjson
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect

from harness.cassettes.format.interaction import CLIENT, SERVER, Frame
from harness.core.exchange import EMPTY_MAPPING, Json
from harness.core.redact import redact
from harness.verify.judging.websocket_pairs import SocketExchange, SocketLog

SWITCHING_PROTOCOLS = 101
MAX_MESSAGE_BYTES = 1 << 26
"""Bytes of a message beyond which the connection is given up."""


class Handshake(NamedTuple):
    """What came of asking for a connection: the status and headers of its answer, its body, what was wrong with it."""

    status: int = 0
    headers: Mapping[str, str] = EMPTY_MAPPING
    raw: bytes = b""
    fault: str = ""

    @property
    def error(self) -> Json:
        """The error that the body is, if it is one."""
        with suppress(orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return dict(orjson.loads(self.raw)["error"])
        return {}

    @property
    def problem(self) -> str:
        """Why there is no connection, in a few words without secrets."""
        return str(redact(f"{self.status or ''} {self.error.get('message') or self.fault}".strip()))


class WebSocketClient:
    """A connection that is asked for by `open`; `timeout` are the seconds that one answer may take.

    Neither proxies nor redirects are followed. `frames` is what was said, as it goes on; `fault` why it broke off.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self.url = url
        self.frames: list[Frame] = []
        self.fault = ""
        self._timeout = timeout
        self._began = 0.0
        self._parley = SocketLog()
        self._socket: ClientConnection | None = None

    @property
    def is_open(self) -> bool:
        """Whether it was opened."""
        return self._socket is not None

    def open(self, headers: Mapping[str, str]) -> Handshake:
        """Ask for the connection. Never raises."""
        self._began = time.perf_counter()
        try:
            self._socket = connect(
                self.url,
                additional_headers=dict(headers),
                compression=None,
                max_size=MAX_MESSAGE_BYTES,
                open_timeout=self._timeout,
                close_timeout=1,
                proxy=None,
            )
        except InvalidStatus as refused:
            answer = refused.response
            return Handshake(answer.status_code, _lower_headers(answer.headers), bytes(answer.body or b""))
        except (OSError, ValueError, InvalidHandshake, WebSocketException) as problem:
            return Handshake(fault=_describe_problem(problem))
        assert self._socket.response is not None
        return Handshake(SWITCHING_PROTOCOLS, _lower_headers(self._socket.response.headers))

    def send_event(self, text: str, is_enough: Callable[[SocketExchange], bool]) -> SocketExchange:
        """Send an event and hear until enough was said to it, or `fault` says why no more comes. Never raises."""
        part = self._parley.add_client_event(text)
        until = time.monotonic() + self._timeout
        try:
            assert self._socket is not None
            self._record_frame(CLIENT, text)
            self._socket.send(text)
            while not is_enough(part):
                heard = self._socket.recv(max(0.0, until - time.monotonic()), decode=True)
                self._record_frame(SERVER, heard)
                self._parley.add_server_event(heard)
        except (OSError, ValueError, ConnectionClosed) as problem:
            self.fault = _describe_problem(problem)
        return part

    def discard_frames(self, count: int) -> None:
        """Strike all but so many frames out: what was said to an event that is sent again."""
        del self.frames[count:]
        self._parley = SocketLog(self.frames)

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._socket:
            with suppress(OSError, WebSocketException):
                self._socket.close()

    def _record_frame(self, side: str, text: str) -> None:
        self.frames.append((time.perf_counter() - self._began, side, text))


def _lower_headers(headers: Headers) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.raw_items()}


def _describe_problem(problem: Exception) -> str:
    """Why there is no answer, in a sentence."""
    if isinstance(problem, TimeoutError):
        return "no whole answer in time"
    if isinstance(problem, ConnectionRefusedError):
        return "the connection is refused"
    return f"the connection is closed ({type(problem).__name__})"
