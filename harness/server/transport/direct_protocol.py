"""Answers a request that comes whole in one read without a task and without ASGI.

That is in the same turn of the event loop, unless its answer is still to come. A head that came before is not parsed again.
Everything else goes the way of uvicorn: large and slow requests, other methods than POST, upgrades, HTTP/1.0, answers that
are long, delayed or cut, and clients that do not read what they get.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from harness.core.exchange import Answer
from harness.core.headers import ENCODING
from harness.core.limits import RepeatCache
from harness.server.transport.answer_bytes import encode_whole
from harness.server.transport.http_protocol import HttpProtocol
from harness.server.transport.stoppable_server import Receive, Scope, Send, end_when_cancelled


class Awaited(NamedTuple):
    """An answer that is still to come: `read` returns it when `done` has ended."""

    done: asyncio.Future[Any]
    read: Callable[[], Answer]


AnswerPost = Callable[[str, Mapping[str, str], bytes], Answer | Awaited | None]
"""Answers a POST by its path, headers, body, and whether its head came before; None if only ASGI can."""
SendMade = Callable[[Answer, Scope, Receive, Send], Awaitable[None]]
"""Sends an answer by way of ASGI."""
MAX_KNOWN_SIZE = 64 * 1024
"""Bytes of the longest request whose head is looked for among those that came before."""
_HEAD_END = b"\r\n\r\n"
_PLAIN_PATH = re.compile(rb"/[\w./~-]*")


class KnownHead(NamedTuple):
    """What the head of a request says: its path, its headers, and of how many bytes its body is."""

    path: str
    headers: Mapping[str, str]
    body_size: int


KnownHeads = RepeatCache[bytes, KnownHead]
"""The heads of a server's requests that came more than once, by their bytes."""


class DirectHttpProtocol(HttpProtocol):
    """The HTTP protocol of the mock; `answer_post` answers most requests, `known` are heads that need no parsing.

    `send_made` sends the answers that cannot be written at once.
    """

    def __init__(self, *, answer_post: AnswerPost, send_made: SendMade, known: KnownHeads, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._answer_post = answer_post
        self._send_made = send_made
        self._known = known
        self._held: list[bytes] | None = None
        self._decoded: tuple[list[tuple[bytes, bytes]], Mapping[str, str]] = [], {}
        self._idle_since: float | None = None
        self._made: _Made | None = None
        self._early: list[bytes] | None = None
        self._is_ending = False
        self._parsed: list[tuple[str, Mapping[str, str], bytes]] = []

    def data_received(self, data: bytes) -> None:
        """Take what the client sends; what comes before the answer to a request waits for it."""
        if self._early is not None:
            self._early.append(data)
            self.flow.pause_reading()
            return
        if len(data) > MAX_KNOWN_SIZE or not self._is_between_requests():
            super().data_received(data)
            return
        start = data.find(_HEAD_END) + len(_HEAD_END)
        known = self._known.get(data[:start])
        if known is None or len(data) - start != known.body_size:
            self._parsed.clear()
            super().data_received(data)
            self._note_head(data[:start], len(data) - start)
            return
        made = self._make(self._answer_post, known.path, known.headers, data[start:])
        self._unset_keepalive_if_required()
        if made.awaited:
            self._early, self.request_begun, self._idle_since = [], None, None
            made.awaited.done.add_done_callback(partial(self._end_wait, made.awaited, data))
        else:
            self._write(made, data)

    def _end_wait(self, awaited: Awaited, data: bytes, _: object) -> None:
        """Write the answer to a request that was these bytes, and take what came meanwhile."""
        early, self._early = b"".join(self._early or ()), None
        made = self._make(awaited.read)
        if self.transport.is_closing():
            return
        self._write(made, data)
        if self._is_ending:
            super().shutdown()
        elif early:
            self.flow.resume_reading()
            self.data_received(early)

    def _write(self, made: _Made, data: bytes) -> None:
        """Write an answer at once, or by way of ASGI, where the request is parsed."""
        if made.encoded:
            self._write_direct(made.encoded)
        else:
            self._made = made
            super().data_received(data)
            self._made = None

    def shutdown(self) -> None:
        """Close the connection, when its answer has been sent."""
        self._is_ending = True
        if self._early is None:
            super().shutdown()

    @property
    def is_waiting(self) -> bool:
        """Whether a request has no whole answer yet."""
        return self._early is not None or not (self.cycle is None or self.cycle.response_complete)

    def _is_between_requests(self) -> bool:
        """Whether the next byte begins a request that can be answered at once."""
        return (
            (self.request_begun is None or not self.received)
            and not self.is_waiting
            and not self.flow.write_paused
            and not self.transport.is_closing()
        )

    def _note_head(self, head: bytes, body_size: int) -> None:
        """Keep the head of a read that was one request and no more, if it came before."""
        if len(self._parsed) != 1 or self.request_begun is not None or not self._known.has_seen(head):
            return
        path, headers, body = self._parsed[0]
        if len(body) == body_size and headers.get("content-length") == str(body_size):
            self._known.put(head, KnownHead(path, headers, body_size), len(head))

    def _parse(self, data: memoryview) -> int:
        """Parse bytes; a request of which a part is still to come is one for ASGI."""
        taken = super()._parse(data)
        if self._held is not None:
            self._go_through(self.app)
        return taken

    def on_message_begin(self) -> None:
        """Begin a request, without what only ASGI needs."""
        self.url, self.headers, self.expect_100_continue = b"", [], False
        self._expect_request(received=1)

    def on_headers_complete(self) -> None:
        """Begin to answer a request; its body is held back if it may be answered at once."""
        if self._may_be_direct():
            self._held = []
        else:
            self._idle_since = None
            self._begin_asgi()

    def _begin_asgi(self) -> None:
        """Begin to answer a request whose head is there by way of ASGI."""
        head = self.url, self.headers, self.expect_100_continue
        HttpToolsProtocol.on_message_begin(self)
        self.url, self.headers, self.expect_100_continue = head
        self.scope["headers"] = self.headers
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        if self._held is None:
            super().on_body(body)
        else:
            self._held.append(body)

    def on_message_complete(self) -> None:
        """End a request, and answer it if that has not begun."""
        if self._held is None:
            super().on_message_complete()
            return
        path, headers, body = self.url.decode(), self._decoded[1], b"".join(self._held)
        made, self._made = self._made or self._make(self._answer_post, path, headers, body), None
        if made.encoded or made.awaited:
            self._parsed.append((path, headers, body))
        if made.encoded:
            self._write_direct(made.encoded)
        else:
            self._go_through(made.app)
            super().on_message_complete()

    def _make(self, answer_request: Callable[..., Answer | Awaited | None], *asked: Any) -> _Made:
        """The answer to a request as bytes if it can be written at once, else as an ASGI app."""
        try:
            answer = answer_request(*asked)
            if isinstance(answer, Awaited):
                return _Made(None, end_when_cancelled(partial(self._send_awaited, answer)), answer)
            encoded = encode_whole(answer, self.server_state.default_headers) if answer else None
        except Exception as problem:
            return _Made(None, partial(_raise, problem))
        if encoded or answer is None:
            return _Made(encoded, self.app)
        return _Made(None, end_when_cancelled(partial(self._send_made, answer)))

    async def _send_awaited(self, awaited: Awaited, scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.wait([awaited.done])
        await self._send_made(awaited.read(), scope, receive, send)

    def _write_direct(self, encoded: bytes) -> None:
        self._held = self.request_begun = None
        self._idle_since = self.loop.time()
        self.server_state.total_requests += 1
        self.transport.write(encoded)

    def end_slow_request(self) -> None:
        """Refuse a request that is not whole in time; close a connection on which none comes."""
        super().end_slow_request()
        idle = self.request_begun is None and self._idle_since is not None
        if idle and self.loop.time() - (self._idle_since or 0) > self.timeout_keep_alive:
            self.transport.close()

    def _may_be_direct(self) -> bool:
        parser, headers = self.parser, self._decode_headers()
        return (
            parser.get_method() == b"POST"
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not (parser.should_upgrade() or self.expect_100_continue or self.flow.write_paused)
            and not self.is_waiting
            and len(headers) == len(self.headers)
            and _PLAIN_PATH.fullmatch(self.url) is not None
            and not self.transport.is_closing()
        )

    def _decode_headers(self) -> Mapping[str, str]:
        """The headers of the request as texts; those of a connection are mostly the same, and then the same object."""
        if self._decoded[0] != self.headers:
            texts = {name.decode(ENCODING): value.decode(ENCODING) for name, value in self.headers}
            self._decoded = self.headers, texts
        return self._decoded[1]

    def _go_through(self, app: Any) -> None:
        """Hand the request that is held over to an ASGI app, with what has come of its body."""
        body, self._held, self._idle_since = b"".join(self._held or ()), None, None
        own, self.app = self.app, app
        try:
            self._begin_asgi()
        finally:
            self.app = own
        super().on_body(body)


class _Made(NamedTuple):
    """The bytes of an answer, or an ASGI app that answers where they cannot be written at once, or not yet."""

    encoded: bytes | None
    app: Any
    awaited: Awaited | None = None


async def _raise(problem: Exception, *_: object) -> None:
    """An ASGI app that fails, so that uvicorn reports it."""
    raise problem
