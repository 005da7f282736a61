"""Events as server-sent events, one frame each: their name, and their JSON in one line."""

from __future__ import annotations

import orjson

from harness.core.exchange import Json


def encode_event(event: Json) -> bytes:
    """An event as a server-sent event, in UTF-8; events of the Assistants API have their name beside the data."""
    if "event" in event:
        data = event["data"]
        encoded = data.encode() if isinstance(data, str) else orjson.dumps(data)
        return b"event: %b\ndata: %b\n\n" % (event["event"].encode(), encoded)
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), orjson.dumps(event))


def decode_frames(frames: bytes) -> list[Json]:
    """The events of whole frames as `encode_event` writes them, of those whose name is in the data."""
    return [orjson.loads(frame.partition(b"\ndata: ")[2]) for frame in frames.split(b"\n\n")[:-1]]
