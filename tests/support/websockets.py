"""A connection to a mock of its own, without a network: every event it gets conforms to the schema of server events."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from harness.cassettes.format.interaction import CLIENT, SERVER, CassetteHeader, Frame, Interaction
from harness.cassettes.format.serializer import dump_cassette
from harness.contract.check import check_answer
from harness.core.exchange import Exchange, ReceivedRequest
from harness.server.websocket.session import SocketSession
from tests.support.in_process import KEY, Client

Event = dict[str, Any]
URI = "https://api.openai.com/v1/responses"
AUTH = {"authorization": f"Bearer {KEY}"}


class Socket:
    """Sends events over one connection with these headers; `of` is another connection of the same World."""

    def __init__(self, of: Socket | None = None, headers: Mapping[str, str] = AUTH, **account: Any) -> None:
        self.client = of.client if of else Client(**account)
        self.mock, self.world = self.client.mock, self.client.world
        session = self.client.api.open_session(ReceivedRequest("GET", "/v1/responses", {**headers, **AUTH}))
        assert isinstance(session, SocketSession)
        self.session = session

    def send(self, event: Any) -> list[Event]:
        """Return the server's events for one event of the client; bytes and texts are sent as they are."""
        raw = event if isinstance(event, bytes | str) else orjson.dumps(event)
        events = list(self.session.receive(raw))
        assert [check_answer("ResponsesServerEvent", answer) for answer in events] == [None] * len(events)
        return events

    def create(self, input: Any = "hi", **members: Any) -> list[Event]:
        """Return the events for a `response.create`."""
        return self.send({"type": "response.create", "model": "gpt-4.1", "input": input, **members})

    def made(self, input: Any = "hi", **members: Any) -> Event:
        """Return the response that a `response.create` leads to."""
        last = self.create(input, **members)[-1]
        assert last["type"] == "response.completed", last
        return dict(last["response"])

    def refused(self, **members: Any) -> tuple[Any, ...]:
        """Return the status, code, param and message with which a `response.create` is refused, by one event alone."""
        return error(*self.create(**members))

    def steer(self, id: str, input: Any = "Be brief.", **members: Any) -> list[Event]:
        """Return the events for a `response.steer`."""
        return self.send({"type": "response.steer", "previous_response_id": id, "input": input, **members})

    @property
    def journal(self) -> list[Exchange]:
        """The exchanges of the World."""
        return self.world.exchanges


def error(event: Event) -> tuple[Any, ...]:
    """Return what an `error` event says."""
    assert event["type"] == "error"
    assert event["error"]["type"] == "invalid_request_error"
    return event["status"], event["error"]["code"], event["error"]["param"], event["error"]["message"]


def types(events: list[Event]) -> list[str]:
    """Return the types of events, without what they have in common."""
    return [event["type"].removeprefix("response.") for event in events]


def frames_of(side: str, *events: Any) -> list[Frame]:
    """Return the frames in which one side sends these events."""
    return [(0.0, side, event if isinstance(event, str) else orjson.dumps(event).decode()) for event in events]


def connection(*frames: Frame, **members: Any) -> Interaction:
    """Return a recorded WebSocket."""
    return Interaction("GET", URI, status=101, frames=frames, **members)


def frames_sent(socket: Socket, *events: Any) -> list[Frame]:
    """Return the frames of both sides when these events are sent to a mock."""
    return [frame for event in events for frame in (*frames_of(CLIENT, event), *frames_of(SERVER, *socket.send(event)))]


def create(input: Any = "hi", **members: Any) -> dict[str, Any]:
    """Return a `response.create`."""
    return {"type": "response.create", "model": "gpt-4.1", "input": input, **members}


def cassette(folder: Path, *interactions: Interaction) -> Path:
    """Return a cassette with these interactions."""
    file = folder / "it.yaml"
    file.write_text(
        dump_cassette(CassetteHeader(dialect="openai", recorded="2026-09-21"), interactions), encoding="utf-8"
    )
    return file


def scripted(*turns: Any) -> Socket:
    """Return a connection to a mock with this script."""
    socket = Socket()
    socket.mock.script(*turns)
    return socket
