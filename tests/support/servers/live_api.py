"""A live API on loopback: a mock of which a test replaces some answers, or some events of WebSockets."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from harness.core.exchange import Answer
from harness.server.http_server import App
from harness.server.mock_api import MockApi
from harness.server.transport.upload_spool import read_body
from harness.server.websocket.connection import refuse_upgrade
from harness.unscripted.default_model import small_talk
from tests.support.servers.live_server import serving

KEY = "sk-live-Zx81nQp5Vb7Lk2Hd9Ws4"
Reply = tuple[int, dict[str, str], Any]
"""Status, headers and body: JSON, a text, or None for a connection that breaks off."""
Change = Callable[[str, str, Any], Reply | None]


@pytest.fixture
def live_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of the live API is in the environment."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def error(status: int, message: str, param: str | None = None, code: str | None = None, **headers: str) -> Reply:
    detail = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return status, headers, {"error": detail}


@dataclass
class Live:
    """An app that answers with what `change` returns, else as the mock; `requests` holds the requests."""

    change: Change = lambda method, path, body: None
    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    app: App = field(default_factory=lambda: App(MockApi(fallback=small_talk)))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        raw = await read_body(receive) or b""
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = raw
        path = scope["path"]
        self.keys.append(dict(scope["headers"]).get(b"authorization", b"").decode())
        self.requests.append((scope["method"], path, body))
        if reply := self.change(scope["method"], path, body):
            await _send_reply(reply, send)
            return

        async def again() -> Any:
            return {"type": "http.request", "body": raw, "more_body": False}

        await self.app(scope, again, send)


async def _send_reply(reply: Reply, send: Any) -> None:
    status, headers, body = reply
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    kind = "text/html" if isinstance(body, str) else "application/json"
    fields = {"content-type": kind, "content-length": str(len(data)), **headers}
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": data})


@contextmanager
def live(change: Change | None = None) -> Iterator[tuple[str, Live]]:
    """Provide the base URL of a live API, and what is behind it."""
    behind = Live(change) if change else Live()
    with serving(behind) as origin:
        yield f"{origin}/v1", behind


Event = dict[str, Any]
EventChange = Callable[[Event], Event | None]


@dataclass
class Sockets:
    """A live API of which a test alters events; one that becomes None is not sent; `refused` answers the upgrades."""

    change: EventChange = lambda event: event
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
def live_websocket(change: EventChange | None = None, **more: Any) -> Iterator[tuple[str, Sockets]]:
    """Provide the base URL of a live API, and what is behind it."""
    behind = Sockets(change, **more) if change else Sockets(**more)
    with serving(behind) as origin:
        yield f"{origin}/v1", behind
