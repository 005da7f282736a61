"""What was said over a WebSocket as answers: to each event of the client what the server said to it.

A lane's events answer the response that is under way there; what a lane says after its end answers the last event of the
client. A `response.steer` is answered by the events about steering.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from harness.api.statuses import END_EVENTS
from harness.cassettes.format.interaction import CLIENT, Frame
from harness.contract.rules.http.websocket import CREATE_EVENT, STEER_EVENT
from harness.core.exchange import Answer, Json
from harness.core.headers import normalize_headers
from harness.verify.compare import select_error_members

DEFAULT_REFUSAL_STATUS = 400
"""The status of a refusal that does not name one: steering never does."""
_STEERING_FAILED = f"{STEER_EVENT}.failed"


@dataclass(slots=True)
class SocketExchange:
    """An event of the client as it was sent, and what was said to it; `event` is empty when the text is no object.

    `is_settled` says whether it is known what became of it: its response has ended, it was refused, the steering was
    answered.
    """

    text: str = ""
    event: Json = field(default_factory=dict)
    events: list[Json] = field(default_factory=list)
    is_settled: bool = False

    @property
    def is_steering(self) -> bool:
        """Whether it is steering."""
        return self.event.get("type") == STEER_EVENT

    @property
    def is_request(self) -> bool:
        """Whether it is a request as HTTP has it, for the model to answer."""
        return self.event.get("type") == CREATE_EVENT and self.event.get("generate") is not False

    @property
    def http_events(self) -> list[Json]:
        """The events as a stream over HTTP has them: it has one lane only, which needs no name."""
        return [{name: value for name, value in event.items() if name != "stream_id"} for event in self.events]

    @property
    def is_begun(self) -> bool:
        """Whether its response has an id, or will never have one."""
        return self.is_settled or any(isinstance(event.get("response"), dict) for event in self.events)

    @property
    def answer(self) -> Answer:
        """What HTTP would have answered: a refusal, else the response as it was told last; status 0 for nothing."""
        for event in self.events:
            if event.get("type") in ("error", _STEERING_FAILED):
                return _build_refusal(event)
        responses = (event["response"] for event in reversed(self.events) if isinstance(event.get("response"), dict))
        return Answer(200, next(responses, self.events[0])) if self.events else Answer(0)

    def add_event(self, event: Json) -> None:
        """The server says this to it."""
        kind = str(event.get("type"))
        self.events.append(event)
        self.is_settled |= kind == "error" or (kind.startswith(STEER_EVENT) if self.is_steering else kind in END_EVENTS)


def _build_refusal(event: Json) -> Answer:
    error = event.get("error")
    members = error if isinstance(error, dict) else {**event, "type": None}
    headers = members.get("headers")
    lowered = normalize_headers(headers) if isinstance(headers, dict) else {}
    return Answer(refusal_status(event), {"error": select_error_members(members)}, lowered)


def refusal_status(event: Json) -> int:
    """The status of a refusal."""
    status = event.get("status")
    return status if isinstance(status, int) else DEFAULT_REFUSAL_STATUS


class SocketLog:
    """A connection as it goes on; `parts` are the events of the client so far, in order."""

    def __init__(self, frames: Iterable[Frame] = ()) -> None:
        self.parts: list[SocketExchange] = []
        self._lanes: dict[Any, SocketExchange] = {}
        for _, side, text in frames:
            (self.add_client_event if side == CLIENT else self.add_server_event)(text)

    def add_client_event(self, text: str) -> SocketExchange:
        """The client sends this."""
        event = parse_event(text)
        self.parts.append(SocketExchange(text, event))
        if event.get("type", CREATE_EVENT) != STEER_EVENT:
            self._lanes[stream_id(event)] = self.parts[-1]
        return self.parts[-1]

    def add_server_event(self, text: str) -> None:
        """The server sends this; before the client has said anything it answers nothing."""
        if self.parts:
            event = parse_event(text)
            self._find_exchange(event).add_event(event)

    def _find_exchange(self, event: Json) -> SocketExchange:
        """The event of the client that this one answers."""
        if str(event.get("type")).startswith(f"{STEER_EVENT}."):
            return next((part for part in reversed(self.parts) if part.is_steering), self.parts[-1])
        known = self._lanes.get(stream_id(event))
        return known if known and not known.is_settled else self.parts[-1]


def stream_id(event: Json) -> str | None:
    """The lane that an event names; None is the default one."""
    lane = event.get("stream_id")
    return lane if isinstance(lane, str) else None


def parse_event(text: str) -> Json:
    """The event that a message is; empty when it is no object."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
