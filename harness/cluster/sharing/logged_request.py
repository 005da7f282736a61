"""A request as the log of a key holds it: all that a process needs to carry it out as the others do."""

from __future__ import annotations

from typing import NamedTuple

import orjson

from harness.api.http.body import parse_query

HTTP, CONTROL, UPGRADE, TEXT, BYTES, LEFT = "http", "control", "upgrade", "text", "bytes", "left"
"""The kinds: a request to the API, one to the control plane, an upgrade to a WebSocket, its messages, its end."""


class LoggedRequest(NamedTuple):
    """What a client has sent: `raw` is the body, or the message of the WebSocket named `session`."""

    kind: str
    method: str = ""
    path: str = ""
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    session: str = ""
    raw: bytes = b""

    @property
    def header_values(self) -> dict[str, str]:
        """The headers by name, of several the last one."""
        return dict(self.headers)

    @property
    def parameters(self) -> dict[str, str | list[str]]:
        """The parameters of the query."""
        return parse_query(self.query.encode("latin-1")) if self.query else {}

    def encode(self) -> bytes:
        """Encode a request for the log: all but the body as a line of JSON, then the body."""
        return orjson.dumps(self[:-1]) + b"\n" + self.raw


def decode_request(line: bytes) -> LoggedRequest:
    """Decode a request from its bytes in the log."""
    head, _, raw = line.partition(b"\n")
    kind, method, path, query, headers, session = orjson.loads(head)
    return LoggedRequest(kind, method, path, query, tuple((name, value) for name, value in headers), session, raw)
