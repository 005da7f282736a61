"""HTTP without keep-alive: each connection is closed after its answer.

A test's event loop ends before the next test begins, and a client that both share would find a kept connection in its pool
whose event loop is closed: it can be neither used nor closed any more.
"""

from __future__ import annotations

from harness.server.transport.http_protocol import HttpProtocol


class ClosingHttpProtocol(HttpProtocol):
    """The HTTP protocol of a server in the process of the tests; every answer says `connection: close`."""

    def on_headers_complete(self) -> None:
        """Begin a request, the last of its connection; an upgrade to a WebSocket is none."""
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.keep_alive = False
