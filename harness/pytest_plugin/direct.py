"""The transport of the fixture `client`, which asks the mock without a connection where the answer is the same.

That applies to JSON requests whose answer is sent at once. Streams, faults, functions of a test, forms and whatever
only a connection can refuse go over HTTP, and so does everything with HARNESS_FAST_PATH=0.
"""

from __future__ import annotations

import re
import sys
from email.utils import formatdate
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.core.exchange import Answer
    from harness.server.asgi import Server

LARGEST = 1 << 20
"""Bytes of a body beyond which a request goes over HTTP."""
_PLAIN_PATH = re.compile(r"/v1/[\w/.-]+")
_PLAIN_VALUE = re.compile(rb"[\x20-\x7e]*")
_BYTES = "/content"
"""The path suffix of a file's bytes, which are sent piece by piece."""
_METHODS = ("POST", "GET", "DELETE")
_NEEDED = ("BaseTransport", "ByteStream", "HTTPTransport", "Response")
"""The names that a client's HTTP package must have."""


def transport_options(client_type: Any, server: Server, base_url: str) -> dict[str, Any]:
    """Return the options for a client of httpx, or of its successor, that asks directly.

    Empty if that is impossible.
    """
    from harness.fast_path import is_enabled

    library = _library_of(client_type)
    if library is None or not is_enabled() or not base_url.startswith("http:"):
        return {}
    return {"transport": _transport_type(library)(server, base_url.removesuffix("/v1"))}


def _library_of(client_type: Any) -> Any:
    """Return the HTTP package of a client: httpx, or the one that the SDK uses in its place."""
    packages = (kind.__module__.partition(".")[0] for kind in getattr(client_type, "__mro__", ()))
    name = next((package for package in packages if package.startswith("httpx")), "")
    library = sys.modules.get(name)
    return library if all(hasattr(library, needed) for needed in _NEEDED) else None


@cache
def _transport_type(library: Any) -> Any:
    """Create the class of the transport, once per HTTP package."""
    from harness.answers.encode import encode_body, encode_events
    from harness.core.headers import encode_headers
    from harness.server.transport.framing import STATUS_LINES

    class DirectTransport(library.BaseTransport):  # type: ignore[misc]
        """Asks the server in its own thread, or over HTTP."""

        def __init__(self, server: Server, origin: str) -> None:
            self._server = server
            self._origin = origin

        @cached_property
        def _over_http(self) -> Any:
            return library.HTTPTransport(verify=False)

        def handle_request(self, request: Any) -> Any:
            answer = _ask(self._server, request, self._origin)
            if answer is None:
                return self._over_http.handle_request(request)
            body = encode_body(answer, encode_events)
            headers = [
                (b"date", formatdate(usegmt=True).encode()),
                *encode_headers(answer.headers.items()),
                (b"content-length", str(len(body)).encode()),
                (b"connection", b"close"),
            ]
            reason = STATUS_LINES[answer.status].split(b" ", 2)[2].strip()
            extensions = {"http_version": b"HTTP/1.1", "reason_phrase": reason}
            return library.Response(
                answer.status, headers=headers, stream=library.ByteStream(body), extensions=extensions
            )

        def close(self) -> None:
            if "_over_http" in vars(self):
                self._over_http.close()

    return DirectTransport


def _ask(server: Server, request: Any, origin: str) -> Answer | None:
    """Answer a request without a connection; None for a request that must go over HTTP."""
    raw = request.url.raw_path.decode("ascii", "replace")
    if request.method not in _METHODS or not _PLAIN_PATH.fullmatch(raw) or raw.endswith(_BYTES):
        return None
    if str(request.url) != origin + raw:
        return None
    headers = {name.decode("latin-1").lower(): value for name, value in request.headers.raw}
    kind = headers.get("content-type", b"application/json")
    if len(headers) != len(request.headers.raw) or "transfer-encoding" in headers or kind != b"application/json":
        return None
    if not all(map(_PLAIN_VALUE.fullmatch, headers.values())):
        return None
    body = request.read()
    texts = {name: value.decode("latin-1") for name, value in headers.items()}
    if len(body) > LARGEST or b'"stream"' in body:
        return None
    from harness.core.exchange import ReceivedRequest

    received = ReceivedRequest(request.method, raw, texts, raw=body)
    answer = server.ask(received, if_plain=lambda: _is_plain_world(server, texts))
    assert answer is None or (answer.delivery is None and answer.events is None)  # as the World is plain
    return answer


def _is_plain_world(server: Server, headers: dict[str, str]) -> bool:
    """Return whether the World of a request answers at once, without running a function of the test."""
    world = server.api.world_of(headers)
    if world is None or world.routed or world.mcp_servers or world.webhooks:
        return False
    return world.script.is_plain
