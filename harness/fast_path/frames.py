"""Encodes the events of a response without writing each of them: most answers of a script differ only in their ids.

The frames of an item are kept as a template, in which the id of the item, the id of its call and the paddings are open. It
is made of the events that `harness.answers.item_writer` writes, when a script says the same item for the second time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count, zip_longest

import orjson

from harness.answers.encode import encode_event, encode_events
from harness.answers.item_writer import ItemPlace, cut_noise, find_start, write_item
from harness.answers.writer import ResponseEvents, write_response
from harness.core.exchange import Json
from harness.items.stream_grammar import Deltas

SLOTS = {"id": b"\xff", "call_id": b"\xfe"}
"""The members of an item that are new in every response, and what stands for them in its frames: no text has such bytes."""
MAX_KEPT = 256
"""How many templates are kept, those used last."""
MAX_KEPT_SIZE = 1 << 14
"""Bytes of the largest item whose template is kept."""
MAX_PADDED = 256
"""How many templates are kept with their paddings, for each place at which the noise may begin."""
MAX_PADDED_SIZE = 1 << 16
"""Bytes of the longest frames that are kept with their paddings."""
_FRAME_END = b',"sequence_number":%d}\n\n'
_MARK = "\0"
_ENCODED_MARK = b"\\u0000"
"""The character around what stands for ids and paddings while a template is made; no item that has it is kept."""


def encode_stream(events: Sequence[Json]) -> bytes:
    """Encode events as `harness.answers.encode.encode_events` does, those of a response with templates."""
    if not isinstance(events, ResponseEvents):
        return encode_events(events)
    writer = FrameWriter()
    write_response(events, writer)
    return b"".join(writer.pieces)


class FrameWriter:
    """Writes a stream as the `pieces` of its frames."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.number = 0

    def write_event(self, event: Json) -> None:
        """Write an event, with the next number."""
        self.pieces.append(encode_event({**event, "sequence_number": self.number}))
        self.number += 1

    def write_snapshots(self, names: Sequence[str], response: Json) -> None:
        """Write an event of each name, all of which show the same response."""
        encoded = orjson.dumps(response)
        for name in names:
            self.pieces += (_frame_start(name), encoded, _FRAME_END % self.number)
            self.number += 1

    def write_item(self, wire: Json, deltas: Deltas, place: ItemPlace) -> None:
        """Write the events of an item; `deltas` are its exact deltas, if any."""
        slots = ("id", "call_id") if isinstance(wire.get("call_id"), str) else ("id",)
        encoded = orjson.dumps({**wire, **dict.fromkeys(slots, "")})
        exact = tuple([(name, tuple(pieces)) for name, pieces in deltas.items()]) if deltas else ()
        is_kept = len(encoded) <= MAX_KEPT_SIZE and _ENCODED_MARK not in encoded
        if is_kept and next(count_uses(encoded, slots, exact, place)):  # 0 the first time
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
    """The frames of `number` events, in pieces between which the paddings stand: the event and the length of each.

    `size` is how many bytes the pieces have.
    """

    slots: Sequence[str]
    pieces: Sequence[bytes]
    paddings: Sequence[tuple[int, int]]
    number: int
    size: int


def fill_template(template: FrameTemplate, wire: Json) -> bytes:
    """Make the frames of an item that differs from that of the template only in its ids."""
    pad = _pad if template.size <= MAX_PADDED_SIZE else _pad.__wrapped__
    frames = pad(template, find_start(wire["id"]) if template.paddings else 0)
    for name in template.slots:
        frames = frames.replace(SLOTS[name], _encode_text(wire[name]))
    return frames


@lru_cache(maxsize=MAX_PADDED)
def _pad(template: FrameTemplate, noise_start: int) -> bytes:
    """Make the frames of a template with their paddings."""
    paddings = [cut_noise(noise_start, number, length).encode() for number, length in template.paddings]
    return b"".join(chain.from_iterable(zip_longest(template.pieces, paddings, fillvalue=b"")))


Exact = tuple[tuple[tuple[str, int], tuple[str, ...]], ...]
"""Exact deltas as the key of a cache."""


@lru_cache(maxsize=MAX_KEPT)
def count_uses(encoded: bytes, slots: Sequence[str], exact: Exact, place: ItemPlace) -> Iterator[int]:
    """Count how often an item came before: what comes once needs no template."""
    return count()


@lru_cache(maxsize=MAX_KEPT)
def make_template(encoded: bytes, slots: Sequence[str], exact: Exact, place: ItemPlace) -> FrameTemplate:
    """Make the template of an item's frames; `encoded` is the item with nothing in its slots."""
    wire = {**orjson.loads(encoded), **{name: f"{_MARK}{name}{_MARK}" for name in slots}}
    padding = f"{_MARK}padding{_MARK}"
    events = write_item(wire, dict(exact), place)
    paddings = [(event["sequence_number"], len(event["obfuscation"])) for event in events if "obfuscation" in event]
    frames = encode_events({**event, "obfuscation": padding} if "obfuscation" in event else event for event in events)
    for name in slots:
        frames = frames.replace(_encode_text(wire[name]), SLOTS[name])
    return FrameTemplate(slots, frames.split(_encode_text(padding)), paddings, len(events), len(frames))


def _encode_text(text: str) -> bytes:
    """Encode a text as it stands between the quotation marks of JSON."""
    return orjson.dumps(text)[1:-1]
