"""Encodes the events of a response without writing each of them: most answers of a script differ only in their ids.

The frames of an item are kept as a template, with slots for the id of the item, the id of its call and the paddings. It is
made of the events that `harness.answers.item_writer` writes, when a script says the same item for the second time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice, pairwise, repeat
from operator import itemgetter
from typing import Any, cast

import orjson

from harness.answers.item_writer import ItemPlace, write_item
from harness.answers.padding import find_start, padding_length
from harness.answers.sse import encode_event, encode_events
from harness.answers.writer import ResponseEvents, write_response
from harness.core.exchange import Json
from harness.fast_path.padding_plan import PaddingPlan
from harness.items.stream_grammar import Deltas

SLOTS = ("id", "call_id")
"""The members of an item that are new in every response."""
MAX_KEPT = 256
"""How many templates are kept, those used last."""
MAX_KEPT_SIZE = 1 << 14
"""Bytes of the largest item whose template is kept."""
MAX_PADDED = 256
"""How many templates are kept with their paddings, for each place at which the noise may begin."""
MAX_PADDED_SIZE = 1 << 16
"""Bytes of the longest frames that are kept with their paddings."""
_FRAME_END = b',"sequence_number":%d}\n\n'


def encode_stream(events: Sequence[Json]) -> bytes:
    """Encode events as `harness.answers.sse.encode_events` does, those of a response with templates."""
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
        slots = tuple([name for name in SLOTS if isinstance(wire.get(name), str)])
        encoded = orjson.dumps({**wire, **dict.fromkeys(slots, "")})
        exact = tuple([(name, tuple(pieces)) for name, pieces in deltas.items()]) if deltas else ()
        if "id" in slots and len(encoded) <= MAX_KEPT_SIZE and next(count_uses(encoded, slots, exact, place)):
            template = make_template(encoded, slots, exact, place)
            self.pieces += template.fill([wire[name] for name in slots])
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
    """The frames of `number` events: `arrange` puts their pieces, the values of the slots and the paddings in order.

    `size` is about how many bytes they have.
    """

    pieces: Sequence[bytes]
    arrange: Callable[[Sequence[bytes]], Iterable[bytes]]
    plan: PaddingPlan
    number: int
    size: int

    def fill(self, values: Sequence[str]) -> Iterable[bytes]:
        """Put values into the slots, of which the first is the id; return the frames in pieces."""
        start = find_start(values[0])
        if len(values) == 1 and self.size <= MAX_PADDED_SIZE:
            return (_encode_text(values[0]).join(_pad(self, start)),)
        return self.fill_encoded(map(_encode_text, values), start)

    def fill_encoded(self, values: Iterable[bytes], start: int) -> Iterable[bytes]:
        """Put encoded values into the slots, and the noise from `start` on into the paddings."""
        return self.arrange([*self.pieces, *values, *self.plan.paddings(start)])


@lru_cache(maxsize=MAX_PADDED)
def _pad(template: FrameTemplate, start: int) -> Sequence[bytes]:
    """Split the frames of a template at its only slot, the id, so that filling it is one `join`."""
    mark = object()
    pieces: list[Any] = list(template.fill_encoded(cast("list[bytes]", [mark]), start))
    places = [-1, *[place for place, piece in enumerate(pieces) if piece is mark], len(pieces)]
    return [b"".join(pieces[before + 1 : place]) for before, place in pairwise(places)]


Exact = tuple[tuple[tuple[str, int], tuple[str, ...]], ...]
"""Exact deltas as the key of a cache."""


@lru_cache(maxsize=MAX_KEPT)
def count_uses(encoded: bytes, slots: Sequence[str], exact: Exact, place: ItemPlace) -> Iterator[int]:
    """Count how often an item came before: what comes once needs no template."""
    return count()


@lru_cache(maxsize=MAX_KEPT)
def make_template(encoded: bytes, slots: Sequence[str], exact: Exact, place: ItemPlace) -> FrameTemplate:
    """Make the template of an item's frames; `encoded` is the item with nothing in its slots."""
    padding, *marks = _unused_marks(encoded, len(slots) + 1)
    wire = {**orjson.loads(encoded), **dict(zip(slots, marks, strict=True))}
    events = write_item(wire, dict(exact), place)
    lengths = [padding_length(event["delta"]) if "obfuscation" in event else None for event in events]
    frames = encode_events({**event, "obfuscation": padding} if "obfuscation" in event else event for event in events)
    split = re.split(b"(%b)" % b"|".join([re.escape(_encode_text(mark)) for mark in (padding, *marks)]), frames)
    pieces, held = split[::2], split[1::2]
    paddings = count(len(pieces) + len(marks))
    after = {_encode_text(mark): repeat(place) for place, mark in enumerate(marks, len(pieces))}
    places = {_encode_text(padding): paddings, **after}
    order = [index for piece, mark in enumerate(held) for index in (piece, next(places[mark]))]
    plan = PaddingPlan(place.first_number, lengths)
    return FrameTemplate(pieces, itemgetter(*order, len(held)), plan, len(lengths), len(frames))


def _unused_marks(encoded: bytes, number: int) -> list[str]:
    """Make texts that do not occur in an encoded item."""
    marks = (f"\0{n}\0" for n in count())
    return list(islice((mark for mark in marks if _encode_text(mark) not in encoded), number))


def _encode_text(text: str) -> bytes:
    """Encode a text as it stands between the quotation marks of JSON."""
    return orjson.dumps(text)[1:-1]
