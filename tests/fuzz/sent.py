"""A request as a client sends it, and the stand it is sent to: a mock in process, whose key has a World."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.cassettes.format.interaction import Interaction
from harness.core.exchange import Answer, Exchange, Json, ReceivedRequest
from harness.server.mock_api import API_ROOT, MockApi
from harness.server.websocket.session import SocketSession
from harness.verify.examples import EXAMPLE_HEADERS, EXAMPLE_KEY
from harness.world.world import World

SOCKET = "WS"
"""The method of an event that goes over the WebSocket."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One request: its whole path, header names in lower case, the query as texts, the bytes of the body."""

    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=lambda: EXAMPLE_HEADERS)
    query: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> Json:
        """Return the request as JSON, each byte of the body a character."""
        return {
            "method": self.method,
            "path": self.path,
            "headers": dict(self.headers),
            "query": dict(self.query),
            "body": self.body.decode("latin-1"),
        }

    @staticmethod
    def from_json(kept: Json) -> Sent:
        """Return what `to_json` has written."""
        return Sent(**{**kept, "body": kept["body"].encode("latin-1")})

    @staticmethod
    def from_interaction(made: Interaction, query: Mapping[str, Any]) -> Sent:
        """Return the request of an example."""
        return Sent(made.method, made.uri.partition("?")[0], made.body, made.headers, query)


@dataclass(slots=True)
class Stand:
    """A mock that has been prepared, and right requests to it, from which wrong ones are made."""

    api: MockApi
    seeds: Sequence[Sent]
    key: str = EXAMPLE_KEY
    _opened: SocketSession | None = None

    @property
    def world(self) -> World:
        """The World of the key."""
        return self.api.open(self.key).world

    def deliver(self, sent: Sent) -> Answer:
        """Return the answer to a request; to an event it is the one that HTTP would give."""
        if sent.method != SOCKET:
            return self.api.handle(ReceivedRequest(sent.method, sent.path, sent.headers, sent.query, sent.body))
        self._session.receive(sent.body)
        return self.world.exchanges[-1].answer

    def journal_since(self, count: int) -> list[Exchange]:
        """Return the exchanges of the World after its first `count` ones."""
        return self.world.exchanges[count:]

    @property
    def _session(self) -> SocketSession:
        if self._opened is None or self._opened.closed:
            headers = {"authorization": f"Bearer {self.key}"}
            opened = self.api.open_session(ReceivedRequest("GET", f"{API_ROOT}/responses", headers))
            assert isinstance(opened, SocketSession)
            self._opened = opened
        return self._opened
