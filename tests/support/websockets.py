"""A connection to a mock of its own, without a network: every event it gets conforms to the schema of server events."""

from __future__ import annotations

from typing import Any

import orjson

from harness.contract.check import check_answer
from harness.core.exchange import Exchange
from harness.server.socket_session import SocketSession
from tests.support.in_process import KEY, Client

Event = dict[str, Any]
AUTH = {"authorization": f"Bearer {KEY}"}


class Socket:
    """Sends events over one connection; `of` is another connection of the same World."""

    def __init__(self, of: Socket | None = None, **account: Any) -> None:
        self.client = of.client if of else Client(**account)
        self.world = self.client.world
        session = self.client.mock.open_session("/v1/responses", AUTH, {})
        assert isinstance(session, SocketSession)
        self.session = session

    def send(self, event: Any) -> list[Event]:
        """The server's events for one event of the client; bytes and texts are sent as they are."""
        said = event if isinstance(event, bytes | str) else orjson.dumps(event)
        told = list(self.session.receive(said))
        assert [check_answer("ResponsesServerEvent", one) for one in told] == [None] * len(told)
        return told

    def create(self, input: Any = "hi", **members: Any) -> list[Event]:
        """The events for a `response.create`."""
        return self.send({"type": "response.create", "model": "gpt-4.1", "input": input, **members})

    def made(self, input: Any = "hi", **members: Any) -> Event:
        """The response that a `response.create` leads to."""
        last = self.create(input, **members)[-1]
        assert last["type"] == "response.completed", last
        return dict(last["response"])

    def refused(self, **members: Any) -> tuple[Any, ...]:
        """The status, code, param and message with which a `response.create` is refused, by one event alone."""
        return error(*self.create(**members))

    def steer(self, id: str, input: Any = "Be brief.", **members: Any) -> list[Event]:
        """The events for a `response.steer`."""
        return self.send({"type": "response.steer", "previous_response_id": id, "input": input, **members})

    @property
    def journal(self) -> list[Exchange]:
        """The exchanges of the World."""
        return self.world.exchanges


def error(event: Event) -> tuple[Any, ...]:
    """What an `error` event says."""
    assert event["type"] == "error"
    assert event["error"]["type"] == "invalid_request_error"
    return event["status"], event["error"]["code"], event["error"]["param"], event["error"]["message"]


def types(events: list[Event]) -> list[str]:
    """The types of events, without what they have in common."""
    return [event["type"].removeprefix("response.") for event in events]
