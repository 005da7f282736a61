"""Encodes events as server-sent events, one frame each, with the name and the JSON on one line.

If a fault changes the delivery of a stream, its frames have another form, it is sent in pieces, or its last event is
cut.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence

import orjson

from harness.core.delivery import Delivery, FrameForm
from harness.core.exchange import Json


def encode_event(event: Json) -> bytes:
    """Encode an event in UTF-8; events of the Assistants API have their name next to the data."""
    if "event" in event:
        data = event["data"]
        encoded = data.encode() if isinstance(data, str) else orjson.dumps(data)
        return b"event: %b\ndata: %b\n\n" % (event["event"].encode(), encoded)
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), orjson.dumps(event))


def encode_frames(events: Sequence[Json], form: FrameForm) -> Iterator[bytes]:
    """Encode the events of a stream in this form, one frame each."""
    for number, event in enumerate(events, 1):
        frame = _encode_frame(event, form)
        if form.bom and number == 1:
            frame = BOM_UTF8 + frame
        yield frame.removesuffix(form.line_end.encode()) if form.unended and number == len(events) else frame


def encode_partial_event(delivery: Delivery) -> bytes:
    """Encode the part of an event that is sent before the connection closes; empty if no event is cut."""
    frame = encode_event(dict(delivery.partial_event)) if delivery.partial_event else b""
    return frame[: int(len(frame) * delivery.partial_share)]


def cut_into_pieces(body: bytes, size: int | None) -> list[bytes]:
    """Split a body into the pieces in which it is sent; at least one."""
    return [body[start : start + size] for start in range(0, len(body), size)] if size and body else [body]


def _encode_frame(event: Json, form: FrameForm) -> bytes:
    """Encode an event in this form; its JSON contains no line ends."""
    name, data = encode_event(event).removesuffix(b"\n\n").split(b"\n")
    lines = [name, *(field.encode() for field in form.fields), data]
    if form.data_lines > 1:
        lines[-1:] = data.replace(b"{", b"{\ndata: ", 1).split(b"\n")
    if not form.space:
        lines = [line.replace(b": ", b":", 1) for line in lines]
    if form.comment:
        lines = [b": %b" % form.comment.encode(), b"", *lines]
    return form.line_end.encode().join([*lines, b"", b""])
