"""Sends requests to a server over HTTP: one request, one complete answer, or the reason why it is missing."""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlsplit

import httpx2

from harness.analysis.find_retries import asked_delay
from harness.api.http.bodies import decode_answer
from harness.api.http.dialects import OPENAI
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.format.recorded import Recorded
from harness.core.errors import ConfigError, error_chain
from harness.core.headers import normalize_headers
from harness.core.json_values import pick
from harness.server.deadline import run_within, shut_down
from harness.verify.judging.judge import answer_object

MAX_ANSWER_BYTES = 1 << 26
"""The maximum number of bytes of an answer that are read."""
FILE_CONTENT_PATH = re.compile(r".*/content(?:\?.*)?")
"""Matches the paths whose answer is the content of a file."""
READ_HEADERS = ("content-type", "openai-beta")
"""The request headers that the API reads, besides the key."""
SAFE_CHARACTERS = "/?=&%[]:,+@!$'()*;~"
TOO_MANY_REQUESTS = 429
MAX_ATTEMPTS = 3
"""The maximum number of attempts while the server answers 429."""
MAX_WAIT_SECONDS = 20.0
"""The longest `retry-after`, in seconds, that is obeyed."""
SCHEMES = ("http", "https")
CONNECTED_EVENTS = ("connection.connect_tcp.complete", "connection.start_tls.complete")
"""The trace events of the HTTP library that report a connection, with TLS one after the other."""


def select_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Select the headers that the API reads: only these are sent again and stored in evidence."""
    return pick(headers, *READ_HEADERS)


class ServerReply(NamedTuple):
    """A reply as a Recorded, to be judged, and as the Interaction that it was parsed from. Status 0 means no answer."""

    recorded: Recorded
    interaction: Interaction

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.recorded.status

    @property
    def fault(self) -> str:
        """The reason why the answer is missing, incomplete or unreadable; empty for a good one."""
        return self.interaction.reason

    @property
    def body(self) -> Any:
        """The JSON of the answer; for a stream, the object in its last event that has one."""
        return answer_object(self.recorded)

    @property
    def is_accepted(self) -> bool:
        """Whether the request was accepted and its answer is complete."""
        return 200 <= self.status < 300 and not self.fault


def parse_reply(interaction: Interaction, path: str) -> ServerReply:
    """Parse the reply to a request for `path`, relative to the base URL; an unreadable body is a fault."""
    below, _, query = path.partition("?")
    raw, fault = interaction.answer, interaction.reason
    decoded = decode_answer(raw or None, interaction.answer_headers)
    recorded = Recorded(
        id="",
        file="",
        method=interaction.method,
        host=urlsplit(interaction.uri).hostname or "",
        path=below,
        query=dict(parse_qsl(query)),
        headers=interaction.headers,
        request=None,
        raw=None,
        status=interaction.status,
        answer_headers=interaction.answer_headers,
        answer=decoded.body,
        events=decoded.events,
        provider=OPENAI,
        date="",
        flags=decoded.flags | ({"cut"} if fault else frozenset()),
        misframed=decoded.misframed,
    )
    is_unread = decoded.body is None and decoded.events is None and not FILE_CONTENT_PATH.fullmatch(path)
    if is_unread and interaction.status and not fault:
        fault = _describe_unreadable(interaction.status, interaction.answer_headers, len(raw))
    return ServerReply(recorded, replace(interaction, reason=fault))


class HttpClient:
    """A client for the API at the base URL `url`; `timeout` is the maximum duration of an answer in seconds.

    `max_attempts` limits the attempts while the server answers 429. Proxies and redirects are not followed, and each
    request uses a new connection. ConfigError for an invalid `url` or key.
    """

    def __init__(self, url: str, key: str, timeout: float, max_attempts: int = MAX_ATTEMPTS) -> None:
        self.url = url.rstrip("/")
        self.key = key
        self._timeout = timeout
        self._max_attempts = max_attempts
        try:
            parts = urlsplit(self.url)
            host, _, self.root = parts.hostname, parts.port, parts.path
            self._url = httpx2.URL(self.url)
        except (ValueError, httpx2.InvalidURL):
            parts, host = urlsplit(""), None
        if not host or parts.scheme not in SCHEMES or parts.query or parts.username:
            raise ConfigError("--server: pass a base URL such as http://127.0.0.1:8765/v1, without a query or a key.")
        if not key.isprintable():
            raise ConfigError("the key has a line break or another control character: pass only the key.")
        self._transport = httpx2.HTTPTransport(
            verify=ssl.create_default_context() if parts.scheme == "https" else False,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
        )

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> ServerReply:
        """Send a request for `path`, relative to the base URL, retrying after a 429; return the reply. Never raises."""
        for attempt in range(1, self._max_attempts + 1):
            interaction = self._send_once(method, path, headers, body)
            wait = asked_delay(interaction.answer_headers) if interaction.status == TOO_MANY_REQUESTS else None
            if wait is None or wait > MAX_WAIT_SECONDS or attempt == self._max_attempts:
                break
            time.sleep(wait)
        return parse_reply(interaction, path)

    def _send_once(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> Interaction:
        reading = _Reading(Interaction(method, f"{self.url}{path}", headers, body or b""))
        try:
            fault = run_within(self._timeout, lambda: self._read_answer(reading, path, body), reading.stop)
        except (httpx2.TransportError, OSError, ValueError) as problem:
            fault = self._describe_fault(problem)
        return reading.ended(fault)

    def _read_answer(self, reading: _Reading, path: str, body: bytes | None) -> str:
        """Send a request and read its answer; return why it is not read any further, or an empty string."""
        sent = reading.interaction
        request = httpx2.Request(
            sent.method,
            self._url,
            headers={b"accept-encoding": b"identity", **_encode_headers(sent.headers)},
            content=body,
            extensions={
                "target": quote(self.root + path, safe=SAFE_CHARACTERS).encode(),
                "timeout": httpx2.Timeout(self._timeout).as_dict(),
                "trace": reading.trace,
            },
        )
        with closing(self._transport.handle_request(request)) as response:
            reading.start(response)
            for chunk in response.iter_raw():
                reading.content += chunk
                if len(reading.content) > MAX_ANSWER_BYTES:
                    return f"the answer has more than {MAX_ANSWER_BYTES} bytes"
        return ""

    def _describe_fault(self, problem: Exception) -> str:
        if isinstance(problem, (TimeoutError, httpx2.TimeoutException)):
            return f"no whole answer within {self._timeout:g} s"
        cause = next((cause for cause in error_chain(problem) if isinstance(cause, OSError)), problem)
        if isinstance(cause, ConnectionRefusedError):
            return "the connection is refused"
        if isinstance(cause, (ConnectionError, httpx2.RemoteProtocolError)):
            return f"the answer is cut off ({type(cause).__name__})"
        return f"{type(cause).__name__}: {cause}"


class _Reading:
    """An answer as far as it has been read, and its connection."""

    def __init__(self, sent: Interaction) -> None:
        self.interaction = sent
        self.content = bytearray()
        self._connection: socket.socket | None = None
        self._is_stopped = False

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Note the connection; this is the `trace` extension of a request."""
        if event in CONNECTED_EVENTS:
            self._connection = info["return_value"].get_extra_info("socket")
            if self._is_stopped:
                self.stop()

    def start(self, response: httpx2.Response) -> None:
        head = normalize_headers(response.headers.raw)
        self.interaction = replace(self.interaction, status=response.status_code, answer_headers=head)

    def stop(self) -> None:
        """End the connection, or the one that is being made once it is."""
        self._is_stopped = True
        if self._connection is not None:
            shut_down(self._connection)

    def ended(self, fault: str) -> Interaction:
        """Return the interaction as far as it went, and why it went no further."""
        if fault and self.interaction.status:
            fault += f", after {len(self.content)} bytes of it"
        chunks = ((0.0, bytes(self.content)),) if self.content else ()
        return replace(self.interaction, chunks=chunks, cut=bool(fault), reason=fault)


def _encode_headers(headers: Mapping[str, str]) -> dict[bytes, bytes]:
    """Encode headers, stripping white space around values, which the HTTP library refuses."""
    return {name.encode(): value.strip(" \t").encode() for name, value in headers.items()}


def _describe_unreadable(status: int, headers: Mapping[str, str], size: int) -> str:
    if 300 <= status < 400:
        return f"it leads elsewhere ({status}), to {headers.get('location', '').partition('?')[0] or 'nowhere'}"
    kind = headers.get("content-type", "").partition(";")[0] or "no content type"
    return f"the answer is neither JSON nor events ({status}, {size} bytes, {kind})"
