"""The types of ASGI, and what a scope says of a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
EDGE = "edge"
"""The part of a scope's `state` that is the record of the exchange, over HTTP."""
CONNECTION = "connection"
"""The part of a scope's `state` that is the number of the connection, over a WebSocket."""
STOPPING = "stopping"
"""The part of a scope's `state` that is there when the server is about to stop: what never ends should end now."""
EVENTS = "events"
"""The member of a part of a body that says how many events of a stream have gone out with it."""


def connection_scope(transport: asyncio.Transport) -> Scope:
    """Make what the scopes of all requests of a connection share."""
    ends = (transport.get_extra_info(name) for name in ("sockname", "peername"))
    server, client = (end[:2] if isinstance(end, tuple) else None for end in ends)
    return {
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "scheme": "https" if transport.get_extra_info("sslcontext") else "http",
        "server": server,
        "client": client,
    }
