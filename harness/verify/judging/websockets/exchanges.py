"""Converts an interaction to the exchanges that are judged: HTTP is one exchange, a WebSocket one for each response.

A `response.create` and the events of its stream are an exchange with `POST /responses`. A response without such an
event (to a warm-up, to steering) is an exchange without a known request. Events about steering belong to no response.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import orjson

from harness.api.http.dialects import Upstream
from harness.api.responses import CREATE_EVENT, STEER_EVENT
from harness.cassettes.format.interaction import CLIENT, SERVER, Interaction
from harness.cassettes.format.messages import encode_body
from harness.cassettes.format.recorded import Recorded, parse_recorded
from harness.core.exchange import Json
from harness.server.websocket.session import ENVELOPE_MEMBERS, is_invalid_stream
from harness.verify.judging.rerender import UNORDERED_EVENTS
from harness.verify.judging.websockets.pairs import SocketExchange, SocketLog, parse_event, refusal_status, stream_id

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
    members = {name: value for name, value in event.items() if name not in ENVELOPE_MEMBERS}
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
            and not kind.startswith(STEER_EVENT)
        ):
            open_exchange.add_event(event)
    return begun
