"""ASGI types, and the keys and scope members that this server adds."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]
EDGE = "edge"
"""The key in a scope's `state` of the exchange's edge record, over HTTP."""
CONNECTION = "connection"
"""The key in a scope's `state` of the connection's number, over a WebSocket."""
STOPPING = "stopping"
"""The key in a scope's `state` that appears when the server is about to stop: endless streams must end now."""
EVENTS = "events"
"""The member of a body message that says how many events of a stream have been sent so far, this message included."""
