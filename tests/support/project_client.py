"""Asks a mock at the address of one Foundry project, without a network, as a client that asks for previews does."""

from __future__ import annotations

from typing import Any

import orjson

from harness.core.exchange import Answer, Json, ReceivedRequest
from harness.items import message
from harness.server.mock_api import MockApi
from harness.world.mock import Mock

PROJECT = "/api/projects/p"
HEADERS = {
    "api-key": "mine",
    "content-type": "application/json",
    "foundry-features": "MemoryStores=V1Preview,Skills=V1Preview",
    "host": "harness.test",
}


class ProjectClient:
    """Sends requests as `GET /connections`; `headers` are added, `query` are parameters beside the version."""

    def __init__(self, as_of: str | None = None) -> None:
        self.api = MockApi(fallback=lambda request: [message("Hello.")], **({"as_of": as_of} if as_of else {}))

    @property
    def mock(self) -> Mock:
        return self.api.open("mine")

    def ask(self, call: str, body: Any = None, headers: Json | None = None, **query: str) -> Answer:
        method, _, path = call.partition(" ")
        raw = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        return self.api.handle(
            ReceivedRequest(method, PROJECT + path, {**HEADERS, **(headers or {})}, {"api-version": "v1", **query}, raw)
        )

    def get(self, path: str, **query: str) -> Any:
        """Return the body of what is there."""
        answer = self.ask(f"GET {path}", **query)
        assert answer.status == 200, answer.body
        return answer.body
