"""Converts an interaction to the exchanges that are judged: HTTP is one exchange, a WebSocket one for each response.

A `response.create` and the events of its stream are an exchange with `POST /responses`. A response without such an
event (to a warm-up, to steering) is an exchange without a known request. Events about steering and about injected
outputs belong to no response.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

import orjson

from harness.api.http.bodies import load_json
from harness.api.http.dialects import Upstream
from harness.api.responses import CREATE_EVENT, END_EVENTS, INJECT_EVENT, STEER_EVENT
from harness.cassettes.format.interaction import CLIENT, SERVER, Frame, Interaction
from harness.cassettes.format.messages import encode_body
from harness.cassettes.format.recorded import Recorded, parse_recorded
from harness.core.exchange import Answer, Json
from harness.core.headers import normalize_headers
from harness.core.json_values import as_object, omit
from harness.endpoints.websocket_events import ENVELOPE_MEMBERS, is_invalid_stream
from harness.verify.compare import select_error_members
from harness.verify.judging.rerender import UNORDERED_EVENTS

DEFAULT_REFUSAL_STATUS = 400
"""The status of an error event without one; errors about steering never have one."""
_INTERVENTIONS = (STEER_EVENT, INJECT_EVENT)
"""The client events about a response that is open; the types of the events that answer one begin with its type."""
_FAILURES = ("error", *(f"{kind}.failed" for kind in _INTERVENTIONS))


@dataclass(slots=True)
class SocketExchange:
    """A client event and the server events that answer it; `event` is empty if `text` is not a JSON object.

    Unlike an Exchange or a Recorded, which are built from it once it is settled, it grows while frames arrive.
    `is_settled` is True once the outcome is known: the response ended, the event was refused, or an intervention was
    answered.
    """

    text: str = ""
    event: Json = field(default_factory=dict)
    events: list[Json] = field(default_factory=list)
    is_settled: bool = False

    @property
    def is_intervention(self) -> bool:
        """Whether the client event is about an open response: `response.steer`, `response.inject`."""
        return self.event.get("type") in _INTERVENTIONS

    @property
    def is_request(self) -> bool:
        """Whether the client event requests a response, as `POST /responses` does; a warm-up does not."""
        return self.event.get("type") == CREATE_EVENT and self.event.get("generate") is not False

    @property
    def http_events(self) -> list[Json]:
        """The server events as in an HTTP stream, without `stream_id`."""
        return [omit(event, "stream_id") for event in self.events]

    @property
    def is_begun(self) -> bool:
        """Whether the response has an id, or will never have one."""
        return self.is_settled or any(isinstance(event.get("response"), dict) for event in self.events)

    @property
    def answer(self) -> Answer:
        """The equivalent HTTP answer: the error, else the last state of the response; status 0 without any event."""
        for event in self.events:
            if event.get("type") in _FAILURES:
                return _build_refusal(event)
        responses = (event["response"] for event in reversed(self.events) if isinstance(event.get("response"), dict))
        return Answer(200, next(responses, self.events[0])) if self.events else Answer(0)

    def add_event(self, event: Json) -> None:
        """Add a server event to the answer."""
        kind = str(event.get("type"))
        self.events.append(event)
        self.is_settled |= kind == "error" or (
            kind.startswith(_INTERVENTIONS) if self.is_intervention else kind in END_EVENTS
        )


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
        if not self.parts[-1].is_intervention:
            self._lanes[stream_id(event)] = self.parts[-1]
        return self.parts[-1]

    def add_server_event(self, text: str) -> None:
        """Add an event that the server sent; it is dropped before the first client event."""
        if self.parts:
            event = parse_event(text)
            self._find_exchange(event).add_event(event)

    def _find_exchange(self, event: Json) -> SocketExchange:
        """Find the pair to which a server event belongs."""
        kind = str(event.get("type")).rpartition(".")[0]
        if kind in _INTERVENTIONS:
            return next((part for part in reversed(self.parts) if part.event.get("type") == kind), self.parts[-1])
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
    return as_object(found)


_RESPONSE_CREATED = "response.created"
"""The event with which a response begins."""


def to_recorded(interaction: Interaction, name: str, upstream: Upstream) -> Iterator[Recorded]:
    """Yield the exchanges of an interaction in order; `name` is its id (`file#1`; in a WebSocket `file#1.1`, …)."""
    file, _, _ = name.rpartition("#")
    numbers = (
        (f"{name}.{number}" for number in range(1, 1 + len(interaction.frames))) if interaction.frames else (name,)
    )
    for id, exchange in zip(numbers, to_http_interactions(interaction), strict=False):
        parts = urlsplit(exchange.uri)
        uri = parts._replace(path=upstream.to_api_path(parts.path)).geturl()
        notes = {"provider": upstream.dialect, **exchange.notes, "id": id}
        yield parse_recorded(replace(exchange, uri=uri, notes=notes), file, 1)


def to_http_interactions(interaction: Interaction) -> Iterator[Interaction]:
    """Yield an interaction as HTTP exchanges, in order: itself, or a WebSocket's responses with the note `socket`."""
    if not interaction.frames:
        yield interaction
        return
    for exchange in _group_by_response(interaction):
        status, body = _http_answer(exchange.http_events)
        yield replace(
            interaction,
            method="POST",
            body=orjson.dumps(to_http_request(exchange.event)) if exchange.is_request else b"",
            status=status,
            chunks=() if body is None else ((0.0, encode_body(body, interaction.answer_headers)),),
            cut=not exchange.is_settled,
            frames=(),
            notes={**interaction.notes, "socket": True, "no_request": not exchange.is_request},
        )


def to_http_request(event: Json) -> Json:
    """Build the body of the HTTP request that is equivalent to a `response.create`."""
    members = omit(event, *ENVELOPE_MEMBERS)
    return members if is_invalid_stream(members.get("stream")) else {**members, "stream": True}


def split_by_client_event(interaction: Interaction) -> list[tuple[SocketExchange, list[Interaction]]]:
    """Split a WebSocket before each client event; return each part as a SocketExchange and as HTTP exchanges."""
    starts = [place for place, (_, side, _) in enumerate(interaction.frames) if side == CLIENT]
    spans = zip(starts, [*starts[1:], len(interaction.frames)], strict=True)
    turns = [replace(interaction, frames=interaction.frames[start:end]) for start, end in spans]
    return [(SocketLog(turn.frames).parts[0], list(to_http_interactions(turn))) for turn in turns]


def _http_answer(events: list[Json]) -> tuple[int, Any]:
    """Build the status and the body, or events, of the equivalent HTTP answer."""
    first = next((event for event in events if str(event.get("type")) not in UNORDERED_EVENTS), {})
    if first.get("type") == "error" and isinstance(first.get("error"), dict):
        return refusal_status(first), {"error": first["error"]}
    return (200, events) if events else (0, None)


def _group_by_response(interaction: Interaction) -> list[SocketExchange]:
    """Group the events of a connection by response, in the order in which the responses began."""
    begun: list[SocketExchange] = []
    open_in: dict[str | None, SocketExchange] = {}
    for _, side, text in interaction.frames:
        event = parse_event(text)
        lane, kind = stream_id(event), str(event.get("type"))
        # A new request ends the open response in its lane, even if that end was not recorded.
        if side == CLIENT and kind == CREATE_EVENT:
            open_in.pop(lane, None)
        open_exchange, exchange = open_in.get(lane), SocketExchange(text, event) if side == CLIENT else SocketExchange()
        if exchange.is_request or (
            side == SERVER and kind == _RESPONSE_CREATED and (open_exchange is None or open_exchange.is_settled)
        ):
            begun.append(exchange)
            open_exchange = open_in[lane] = exchange
        if (
            side == SERVER
            and open_exchange
            and event
            and not open_exchange.is_settled
            and not kind.startswith(_INTERVENTIONS)
        ):
            open_exchange.add_event(event)
    return begun
