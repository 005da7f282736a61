"""Encodes events as server-sent events, one frame each: the name, and the JSON in one line."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from harness.core.exchange import Json


def encode_events(events: Iterable[Json]) -> bytes:
    """Encode the events of a stream in UTF-8; nothing follows the last one."""
    return b"".join(map(encode_event, events))


def encode_event(event: Json) -> bytes:
    """Encode an event in UTF-8; events of the Assistants API have their name beside the data."""
    if "event" in event:
        data = event["data"]
        encoded = data.encode() if isinstance(data, str) else orjson.dumps(data)
        return b"event: %b\ndata: %b\n\n" % (event["event"].encode(), encoded)
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), orjson.dumps(event))
