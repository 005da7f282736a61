"""The server under examination: one request, one whole answer, or in one sentence why there is none."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from threading import Event, Timer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

from harness.api.decoding import decode_answer
from harness.api.dialects import OPENAI
from harness.cassettes.format.recorded import Recorded
from harness.core.errors import ConfigError
from harness.core.exchange import EMPTY_MAPPING
from harness.verify.judging.judge import answer_object

MAX_ANSWER_BYTES = 1 << 26
"""Bytes of an answer beyond which it is given up."""
CHUNK_SIZE = 1 << 16
FILE_CONTENT_PATH = re.compile(r".*/content(?:\?.*)?")
"""The requests whose answer is the bytes of a file."""
SAFE_CHARACTERS = "/?=&%[]:,+@!$'()*;~"
TOO_MANY_REQUESTS = 429
MAX_ATTEMPTS = 3
"""How often a request is sent at most that comes too early."""
MAX_WAIT_SECONDS = 20.0
"""Seconds that a server may ask to wait; another answer is not waited for."""


class ServerReply(NamedTuple):
    """What came back: the exchange, and what was wrong with the connection; an answer that never came has status 0.

    `raw` is the body of the answer as it came.
    """

    recorded: Recorded
    fault: str = ""
    raw: bytes = b""

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.recorded.status

    @property
    def body(self) -> Any:
        """The JSON of the answer; of a stream the object that its last event carries."""
        return answer_object(self.recorded)

    @property
    def is_accepted(self) -> bool:
        """Whether the request was taken and its answer came whole."""
        return 200 <= self.status < 300 and not self.fault


class RawAnswer(NamedTuple):
    """An answer as it came: its headers by their names in lower case, and what broke it off."""

    status: int = 0
    headers: Mapping[str, str] = EMPTY_MAPPING
    body: bytes = b""
    fault: str = ""


def parse_reply(host: str, method: str, path: str, headers: Mapping[str, str], read: RawAnswer) -> ServerReply:
    """What was read as the reply to a request for `path` below the base URL."""
    below, _, query = path.partition("?")
    found = decode_answer(read.body or None, read.headers)
    recorded = Recorded(
        id="",
        file="",
        method=method,
        host=host,
        path=below,
        query=dict(parse_qsl(query)),
        headers=headers,
        request=None,
        raw=None,
        status=read.status,
        answer_headers=read.headers,
        answer=found.body,
        events=found.events,
        provider=OPENAI,
        date="",
        flags=found.flags | ({"cut"} if read.fault else frozenset()),
    )
    unread = found.body is None and found.events is None and not FILE_CONTENT_PATH.fullmatch(path)
    return ServerReply(
        recorded, read.fault or (_describe_unreadable(read) if unread and read.status else ""), read.body
    )


class HttpClient:
    """A server that speaks the API at `url`, the base URL; `timeout` is the seconds that one answer may take.

    `patience` is how often a request is sent at most that comes too early. Neither proxies nor redirects are followed.
    ConfigError when `url` is no address, or the key none that can be sent.
    """

    def __init__(self, url: str, key: str, timeout: float, patience: int = MAX_ATTEMPTS) -> None:
        self.url = url.rstrip("/")
        self.key = key
        self._timeout = timeout
        self._patience = patience
        try:
            parts = urlsplit(self.url)
            self._host, self._port, self.root = parts.hostname or "", parts.port, parts.path
        except ValueError:
            parts, self._host = urlsplit(""), ""
        if not self._host or parts.scheme not in ("http", "https") or parts.query or parts.username:
            raise ConfigError("--server: give a base URL such as http://127.0.0.1:8765/v1, without a query or a key.")
        if not key.isprintable():
            raise ConfigError("the key has a line break or another control character: give the key alone.")
        self._secure = parts.scheme == "https"

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> ServerReply:
        """The reply to a request for `path` below the base URL; one that came too early is sent again. Never raises."""
        for left in reversed(range(self._patience)):
            read = self._send_once(method, path, headers, body)
            if not left or read.status != TOO_MANY_REQUESTS or (wait := _retry_after(read.headers)) is None:
                break
            time.sleep(wait)
        return parse_reply(self._host, method, path, headers, read)

    def _send_once(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> RawAnswer:
        made = HTTPSConnection if self._secure else HTTPConnection
        connection = made(self._host, self._port, timeout=self._timeout)
        late = Event()
        try:
            connection.connect()
            watch = Timer(self._timeout, _shut_down, (connection.sock, late))
            watch.daemon = True
            watch.start()
            try:
                return self._read_answer(connection, method, path, headers, body, late)
            finally:
                watch.cancel()
        except (OSError, HTTPException, ValueError) as problem:
            return RawAnswer(fault=self._describe_fault(problem, late))
        finally:
            connection.close()

    def _read_answer(
        self,
        connection: HTTPConnection,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
        late: Event,
    ) -> RawAnswer:
        # A server may refuse before it has read all: then its answer is there although sending failed.
        with suppress(BrokenPipeError, ConnectionResetError):
            sent = {name: value.encode() for name, value in headers.items()}
            connection.request(method, quote(self.root + path, safe=SAFE_CHARACTERS), body, sent)
        response = connection.getresponse()
        named = {name.lower(): value for name, value in response.getheaders()}
        content, fault = self._read_body(response, late)
        return RawAnswer(response.status, named, content, fault)

    def _read_body(self, response: HTTPResponse, late: Event) -> tuple[bytes, str]:
        content, fault = bytearray(), ""
        try:
            while len(content) <= MAX_ANSWER_BYTES and (piece := response.read1(CHUNK_SIZE)):
                content += piece
            if len(content) > MAX_ANSWER_BYTES:
                fault = f"the answer has more than {MAX_ANSWER_BYTES} bytes"
            elif late.is_set() or response.length:
                fault = self._describe_fault(EOFError(), late)
        except (OSError, HTTPException, ValueError) as problem:
            fault = self._describe_fault(problem, late)
        return bytes(content), f"{fault}, after {len(content)} bytes of it" if fault else ""

    def _describe_fault(self, problem: Exception, late: Event) -> str:
        if late.is_set() or isinstance(problem, TimeoutError):
            return f"no whole answer within {self._timeout:g} s"
        if isinstance(problem, ConnectionRefusedError):
            return "the connection is refused"
        if isinstance(problem, (EOFError, HTTPException, ConnectionError)):
            return f"the answer is cut off ({type(problem).__name__})"
        return f"{type(problem).__name__}: {problem}"


def _shut_down(connected: socket.socket, late: Event) -> None:
    late.set()
    with suppress(OSError):
        # Of the plain socket below TLS, whose own shutdown is not made for another thread.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to wait; None when that is too long or not told."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds <= MAX_WAIT_SECONDS else None


def _describe_unreadable(read: RawAnswer) -> str:
    if 300 <= read.status < 400:
        return (
            f"it leads elsewhere ({read.status}), to {read.headers.get('location', '').partition('?')[0] or 'nowhere'}"
        )
    kind = read.headers.get("content-type", "").partition(";")[0] or "no content type"
    return f"the answer is neither JSON nor events ({read.status}, {len(read.body)} bytes, {kind})"
