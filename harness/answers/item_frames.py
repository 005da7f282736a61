"""The frames of an item's events, rendered once for items that differ only in their ids.

A template has slots for the id of the item, the id of its call and the paddings. It is made by the one writer of an item's
events (`harness.answers.item_writer`), and is kept for items that a script says again and again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice, pairwise, repeat
from operator import itemgetter
from typing import Any, NamedTuple, cast

import orjson

from harness.answers.item_writer import ItemPlace, ItemWriter
from harness.answers.padding import PaddingPlan, find_start
from harness.core.exchange import Json
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

    def fill(self, values: Iterable[bytes], start: int) -> Iterable[bytes]:
        """The pieces of the frames with these values in the slots, with the noise from a place on."""
        return self.arrange([*self.pieces, *values, *self.plan.paddings(start)])


class ItemFrames(NamedTuple):
    """The frames of one item: its template, and the value of each slot, of which the first is the id."""

    template: FrameTemplate
    values: Sequence[str]

    def pieces(self) -> Iterable[bytes]:
        """The frames, in UTF-8, in pieces."""
        start = find_start(self.values[0])
        if len(self.values) == 1 and self.template.size <= MAX_PADDED_SIZE:
            return (_encode_text(self.values[0]).join(_pad(self.template, start)),)
        return self.template.fill(map(_encode_text, self.values), start)


@lru_cache(maxsize=MAX_PADDED)
def _pad(template: FrameTemplate, start: int) -> Sequence[bytes]:
    """What stands between the places of the id in the frames of a template whose only slot that is."""
    mark = object()
    pieces: list[Any] = list(template.fill(cast("list[bytes]", [mark]), start))
    places = [-1, *[place for place, piece in enumerate(pieces) if piece is mark], len(pieces)]
    return [b"".join(pieces[before + 1 : place]) for before, place in pairwise(places)]


def frame_item(wire: Json, deltas: Deltas, place: ItemPlace) -> ItemFrames:
    """The frames of an item's events at a place of a stream; `deltas` are its exact deltas, if any."""
    slots = [name for name in SLOTS if isinstance(wire.get(name), str)]
    encoded = orjson.dumps({**wire, **dict.fromkeys(slots, "")})
    exact = tuple([(name, tuple(pieces)) for name, pieces in deltas.items()])
    make = _make_template if len(encoded) <= MAX_KEPT_SIZE else _make_template.__wrapped__
    return ItemFrames(make(encoded, tuple(slots), exact, place), [wire[name] for name in slots])


@lru_cache(maxsize=MAX_KEPT)
def _make_template(
    encoded: bytes,
    slots: Sequence[str],
    deltas: Sequence[tuple[tuple[str, int], Sequence[str]]],
    place: ItemPlace,
) -> FrameTemplate:
    padding, *marks = _unused_marks(encoded, len(slots) + 1)
    wire = {**orjson.loads(encoded), **dict(zip(slots, marks, strict=True))}
    frames, lengths = ItemWriter(wire, dict(deltas), place, padding).encode()
    found = re.split(b"(%b)" % b"|".join([re.escape(_encode_text(mark)) for mark in (padding, *marks)]), frames)
    pieces, held = found[::2], found[1::2]
    paddings = count(len(pieces) + len(marks))
    after = {_encode_text(mark): repeat(place) for place, mark in enumerate(marks, len(pieces))}
    places = {_encode_text(padding): paddings, **after}
    order = [at for piece, mark in enumerate(held) for at in (piece, next(places[mark]))]
    plan = PaddingPlan(place.first_number, lengths)
    return FrameTemplate(pieces, itemgetter(*order, len(held)), plan, len(lengths), len(frames))


def _unused_marks(encoded: bytes, number: int) -> list[str]:
    """Texts that do not occur in an encoded item."""
    marks = (f"\0{n}\0" for n in count())
    return list(islice((mark for mark in marks if _encode_text(mark) not in encoded), number))


def _encode_text(text: str) -> bytes:
    """A text as it stands between the quotation marks of JSON."""
    return orjson.dumps(text)[1:-1]
