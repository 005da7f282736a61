"""Encodes answers: JSON, and events as server-sent events, one frame each; the events of a script's answer from templates.

If a fault changes the delivery of a stream, its frames have another form, it is sent in pieces, or its last event is
cut.
"""

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count, repeat, zip_longest
from typing import Any

import orjson

from harness.answers.item_writer import ItemPlace, cut_noise, find_start, write_item
from harness.answers.writer import ResponseEvents, write_response
from harness.core.delivery import Delivery, FrameForm
from harness.core.exchange import Answer, Json
from harness.items.stream_elements import Deltas


def encode_event(event: Json) -> bytes:
    """Encode an event in UTF-8; events of the Assistants API have their name next to the data."""
    if "type" not in event:
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


SLOTS = {"id": b"\xff", "call_id": b"\xfe"}
"""Members of an item that are new in every response, with their placeholders in frames: bytes UTF-8 never uses."""
MAX_KEPT = 256
"""How many templates are cached; the least recently used are dropped first."""
MAX_KEPT_SIZE = 1 << 14
"""Size limit, in bytes, of items whose template is cached."""
MAX_PADDED = 256
"""How many templates are cached with their paddings, counted for each position at which the noise may begin."""
MAX_PADDED_SIZE = 1 << 16
"""Size limit, in bytes, of frames that are cached with their paddings."""
_FRAME_END = b',"sequence_number":%d}\n\n'
_MARK = "\0"
_ENCODED_MARK = b"\\u0000"
"""The character around placeholders while a template is made; items that contain it are not cached."""


def encode_body(answer: Answer) -> bytes:
    """Encode a body for sending: the events of a stream, otherwise JSON, except for the bytes of a file."""
    if answer.events is not None:
        return encode_events(answer.events)
    body: Any = answer.body
    return body if isinstance(body, bytes) else orjson.dumps(body)


def encode_events(events: Iterable[Json]) -> bytes:
    """Encode the events of a stream in UTF-8, those of a response from templates, with nothing after the last one."""
    if not isinstance(events, ResponseEvents):
        return b"".join(map(encode_event, events))
    writer = FrameWriter()
    write_response(events, writer)
    return b"".join(writer.pieces)


class FrameWriter:
    """Writes a stream as the `pieces` of its frames."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.number = 0

    def write_event(self, event: Json) -> None:
        """Write an event with the next sequence number."""
        self.pieces.append(encode_event({**event, "sequence_number": self.number}))
        self.number += 1

    def write_snapshots(self, names: Sequence[str], response: Json) -> None:
        """Write one event of each name, all with the same response."""
        encoded = orjson.dumps(response)
        for name in names:
            self.pieces += (_frame_start(name), encoded, _FRAME_END % self.number)
            self.number += 1

    def write_item(self, wire: Json, deltas: Deltas, place: ItemPlace) -> None:
        """Write the events of an item; `deltas` are its scripted deltas, if any."""
        slots = ("id", "call_id") if isinstance(wire.get("call_id"), str) else ("id",)
        encoded = orjson.dumps({**wire, **dict.fromkeys(slots, "")})
        exact = tuple([(name, tuple(pieces)) for name, pieces in deltas.items()]) if deltas else ()
        if len(encoded) <= MAX_KEPT_SIZE and next(count_uses(encoded, slots, exact, place)):  # 0 the first time
            template = make_template(encoded, slots, exact, place)
            self.pieces.append(fill_template(template, wire))
            self.number += template.number
        else:
            events = write_item(wire, deltas, place)
            self.pieces += map(encode_event, events)
            self.number += len(events)


@lru_cache(maxsize=32)
def _frame_start(name: str) -> bytes:
    return f'event: {name}\ndata: {{"type":"{name}","response":'.encode()


@dataclass(frozen=True, slots=True, eq=False)  # a cache key, compared by identity
class FrameTemplate:
    """The frames of `number` events, cut at their paddings, which are given as event and length.

    `size` is the length of the pieces in bytes.
    """

    slots: Sequence[str]
    pieces: Sequence[bytes]
    paddings: Sequence[tuple[int, int]]
    number: int
    size: int


def fill_template(template: FrameTemplate, wire: Json) -> bytes:
    """Build the frames of an item that differs from the template's only in its ids."""
    pad = _pad if template.size <= MAX_PADDED_SIZE else _pad.__wrapped__
    frames = _encode_text(wire["id"]).join(pad(template, find_start(wire["id"]) if template.paddings else 0))
    for name in template.slots[1:]:
        frames = frames.replace(SLOTS[name], _encode_text(wire[name]))
    return frames


@lru_cache(maxsize=MAX_PADDED)
def _pad(template: FrameTemplate, noise_start: int) -> list[bytes]:
    """Insert the paddings into the frames of a template, and cut these where the id of the item belongs."""
    paddings = [cut_noise(noise_start, number, length).encode() for number, length in template.paddings]
    return b"".join(chain.from_iterable(zip_longest(template.pieces, paddings, fillvalue=b""))).split(SLOTS["id"])


Exact = tuple[tuple[tuple[str, int], tuple[str, ...]], ...]
"""Scripted deltas as a cache key."""


@lru_cache(maxsize=MAX_KEPT)
def count_uses(encoded: bytes, slots: Sequence[str], exact: Exact, place: ItemPlace) -> Iterator[int]:
    """Return a counter of the item's earlier occurrences; an item that occurs once needs no template."""
    return repeat(0) if _ENCODED_MARK in encoded else count()


@lru_cache(maxsize=MAX_KEPT)
def make_template(encoded: bytes, slots: Sequence[str], exact: Exact, place: ItemPlace) -> FrameTemplate:
    """Build the template of an item's frames; `encoded` is the item with empty slots."""
    wire = {**orjson.loads(encoded), **{name: f"{_MARK}{name}{_MARK}" for name in slots}}
    padding = f"{_MARK}padding{_MARK}"
    events = write_item(wire, dict(exact), place)
    paddings = [(event["sequence_number"], len(event["obfuscation"])) for event in events if "obfuscation" in event]
    frames = encode_events({**event, "obfuscation": padding} if "obfuscation" in event else event for event in events)
    for name in slots:
        frames = frames.replace(_encode_text(wire[name]), SLOTS[name])
    return FrameTemplate(slots, frames.split(_encode_text(padding)), paddings, len(events), len(frames))


def _encode_text(text: str) -> bytes:
    """Encode a string as it appears between the quotation marks of JSON."""
    return orjson.dumps(text)[1:-1]
