"""A live API on loopback with WebSockets: a mock of which a test changes some events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from harness.core.exchange import Answer
from harness.server.asgi import App
from harness.server.default_model import small_talk
from harness.server.mock_api import MockApi
from harness.server.websocket import refuse_upgrade
from tests.support.live_server import serving

Event = dict[str, Any]
Change = Callable[[Event], Event | None]


@dataclass
class Sockets:
    """A live API of which a test alters events; one that becomes None is not sent; `refused` answers the upgrades."""

    change: Change = lambda event: event
    refused: list[Answer] = field(default_factory=list)
    requests: list[Event] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    betas: list[str] = field(default_factory=list)
    opened: int = 0
    closing: bool = False
    app: App = field(default_factory=lambda: App(MockApi(fallback=small_talk)))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        for name, values in ((b"authorization", self.keys), (b"openai-beta", self.betas)):
            values.append(dict(scope["headers"]).get(name, b"").decode())
        if self.refused:
            await refuse_upgrade(self.refused.pop(0), send)
            return
        self.opened += 1
        closed: list[bool] = []

        async def heard() -> Any:
            message = await receive()
            if message.get("text"):
                self.requests.append(json.loads(message["text"]))
            return message

        async def said(message: Any) -> None:
            if message["type"] == "websocket.send":
                if self.closing:
                    if not closed:
                        closed.append(True)
                        await send({"type": "websocket.close", "code": 1011})
                    return
                event = self.change(json.loads(message["text"]))
                if event is None:
                    return
                message = {**message, "text": json.dumps(event)}
            await send(message)

        await self.app(scope, heard, said)


@contextmanager
def live(change: Change | None = None, **more: Any) -> Iterator[tuple[str, Sockets]]:
    """The base URL of a live API, and what is behind it."""
    behind = Sockets(change, **more) if change else Sockets(**more)
    with serving(behind) as origin:
        yield f"{origin}/v1", behind
