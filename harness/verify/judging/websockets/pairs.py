"""Pairs the frames of a WebSocket: each client event with the server events that answer it.

The events of a stream (`stream_id`) answer the client event whose response is in progress there; events after its end
answer the last client event. Events about steering answer a `response.steer`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from harness.api.http.bodies import load_json
from harness.api.responses import CREATE_EVENT, END_EVENTS, STEER_EVENT
from harness.cassettes.format.interaction import CLIENT, Frame
from harness.core.exchange import Answer, Json
from harness.core.headers import normalize_headers
from harness.verify.compare import select_error_members

DEFAULT_REFUSAL_STATUS = 400
"""The status of an error event without one; errors about steering never have one."""
_STEERING_FAILED = f"{STEER_EVENT}.failed"


@dataclass(slots=True)
class SocketExchange:
    """A client event and the server events that answer it; `event` is empty if `text` is not a JSON object.

    Unlike an Exchange or a Recorded, which are built from it once it is settled, it grows while frames arrive.
    `is_settled` is True once the outcome is known: the response ended, the event was refused, or steering was answered.
    """

    text: str = ""
    event: Json = field(default_factory=dict)
    events: list[Json] = field(default_factory=list)
    is_settled: bool = False

    @property
    def is_steering(self) -> bool:
        """Whether the client event is a `response.steer`."""
        return self.event.get("type") == STEER_EVENT

    @property
    def is_request(self) -> bool:
        """Whether the client event requests a response, as `POST /responses` does; a warm-up does not."""
        return self.event.get("type") == CREATE_EVENT and self.event.get("generate") is not False

    @property
    def http_events(self) -> list[Json]:
        """The server events as in an HTTP stream, without `stream_id`."""
        return [{name: value for name, value in event.items() if name != "stream_id"} for event in self.events]

    @property
    def is_begun(self) -> bool:
        """Whether the response has an id, or will never have one."""
        return self.is_settled or any(isinstance(event.get("response"), dict) for event in self.events)

    @property
    def answer(self) -> Answer:
        """The equivalent HTTP answer: the error, else the last state of the response; status 0 without any event."""
        for event in self.events:
            if event.get("type") in ("error", _STEERING_FAILED):
                return _build_refusal(event)
        responses = (event["response"] for event in reversed(self.events) if isinstance(event.get("response"), dict))
        return Answer(200, next(responses, self.events[0])) if self.events else Answer(0)

    def add_event(self, event: Json) -> None:
        """Add a server event to the answer."""
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
    """Return the HTTP status of an error event."""
    status = event.get("status")
    return status if isinstance(status, int) else DEFAULT_REFUSAL_STATUS


class SocketLog:
    """The pairs of a connection, which may still be open; `parts` has one per client event, in order."""

    def __init__(self, frames: Iterable[Frame] = ()) -> None:
        self.parts: list[SocketExchange] = []
        self._lanes: dict[Any, SocketExchange] = {}
        for _, side, text in frames:
            (self.add_client_event if side == CLIENT else self.add_server_event)(text)

    def add_client_event(self, text: str) -> SocketExchange:
        """Add an event that the client sent."""
        event = parse_event(text)
        self.parts.append(SocketExchange(text, event))
        if event.get("type", CREATE_EVENT) != STEER_EVENT:
            self._lanes[stream_id(event)] = self.parts[-1]
        return self.parts[-1]

    def add_server_event(self, text: str) -> None:
        """Add an event that the server sent; it is dropped before the first client event."""
        if self.parts:
            event = parse_event(text)
            self._find_exchange(event).add_event(event)

    def _find_exchange(self, event: Json) -> SocketExchange:
        """Find the pair to which a server event belongs."""
        if str(event.get("type")).startswith(f"{STEER_EVENT}."):
            return next((part for part in reversed(self.parts) if part.is_steering), self.parts[-1])
        known = self._lanes.get(stream_id(event))
        return known if known and not known.is_settled else self.parts[-1]


def stream_id(event: Json) -> str | None:
    """Return the `stream_id` of an event; None is the default stream."""
    lane = event.get("stream_id")
    return lane if isinstance(lane, str) else None


def parse_event(text: str) -> Json:
    """Parse the event in a message; empty if the message is not a JSON object."""
    try:
        found = load_json(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
