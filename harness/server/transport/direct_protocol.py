"""Answers a request that comes whole in one read in that very turn of the event loop, without a task and without ASGI.

Everything else goes the way of uvicorn: large and slow requests, other methods than POST, upgrades, HTTP/1.0, answers that
are long, delayed or cut, and clients that do not read what they get.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from harness.core.exchange import Answer
from harness.core.headers import ENCODING
from harness.server.transport.answer_bytes import carry_out, encode_whole
from harness.server.transport.faulty_delivery import Receive, Send
from harness.server.transport.http_protocol import HttpProtocol
from harness.server.transport.stoppable_server import AsgiApp, Scope, end_when_cancelled

AnswerPost = Callable[[str, Mapping[str, str], bytes], Answer | None]
"""Answers a POST by its path, headers and body; None if only ASGI can."""
_PLAIN_PATH = re.compile(rb"/[\w./~-]*")


class DirectHttpProtocol(HttpProtocol):
    """The HTTP protocol of the mock; `answer_post` answers most requests."""

    def __init__(self, *, answer_post: AnswerPost, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._answer_post = answer_post
        self._held: list[bytes] | None = None
        self._decoded: tuple[list[tuple[bytes, bytes]], Mapping[str, str]] = [], {}
        self._idle_since: float | None = None

    def _parse(self, data: bytes) -> bytes | None:
        """Parse bytes; a request of which a part is still to come is one for ASGI."""
        rest = super()._parse(data)
        if self._held is not None:
            self._go_through(self.app)
        return rest

    def on_headers_complete(self) -> None:
        """Begin to answer a request; its body is held back if it may be answered at once."""
        if self._may_be_direct():
            self._held = []
        else:
            self._idle_since = None
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
        try:
            answer = self._answer_post(self.url.decode(), self._decode_headers(), b"".join(self._held))
            encoded = answer and encode_whole(answer, self.server_state.default_headers)
        except Exception as problem:
            self._go_through(partial(_raise, problem))
        else:
            if encoded:
                self._held = self.request_begun = None
                self._idle_since = self.loop.time()
                self.server_state.total_requests += 1
                self.transport.write(encoded)
                return
            self._go_through(partial(_answer_whole, answer) if answer else self.app)
        super().on_message_complete()

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
            and (self.cycle is None or self.cycle.response_complete)
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
            super().on_headers_complete()
        finally:
            self.app = own
        super().on_body(body)


async def _answer_whole(answer: Answer, scope: Scope, receive: Receive, send: Send) -> None:
    """An ASGI app with an answer that is made already."""

    async def carry(_: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await carry_out(answer, receive, send)

    app: AsgiApp = end_when_cancelled(carry)
    await app(scope, receive, send)


async def _raise(problem: Exception, *_: object) -> None:
    """An ASGI app that fails, so that uvicorn reports it."""
    raise problem
