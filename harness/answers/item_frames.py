"""The frames of an item's events, rendered once for items that differ only in their ids.

A template has slots for the id of the item, the id of its call and the paddings. It is made by the one writer of an item's
events (`harness.answers.item_writer`), and is kept for items that a script says again and again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import count, islice, repeat
from operator import itemgetter
from typing import NamedTuple

import orjson

from harness.answers.item_writer import ItemPlace, ItemWriter
from harness.answers.padding import PaddingPlan
from harness.core.exchange import Json
from harness.items.stream_grammar import Deltas

SLOTS = ("id", "call_id")
"""The members of an item that are new in every response."""
MAX_KEPT = 256
"""How many templates are kept, those used last."""
MAX_KEPT_SIZE = 1 << 14
"""Bytes of the largest item whose template is kept."""


class FrameTemplate(NamedTuple):
    """The frames of `number` events: `arrange` puts their pieces, the values of the slots and the paddings in order."""

    pieces: Sequence[bytes]
    arrange: Callable[[Sequence[bytes]], Iterable[bytes]]
    plan: PaddingPlan
    number: int


class ItemFrames(NamedTuple):
    """The frames of one item: its template, and the value of each slot, of which the first is the id."""

    template: FrameTemplate
    values: Sequence[str]

    def pieces(self) -> Iterable[bytes]:
        """The frames, in UTF-8, in pieces."""
        pieces, arrange, plan, _ = self.template
        return arrange([*pieces, *map(_encode_text, self.values), *plan.paddings(self.values[0])])


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
    return FrameTemplate(pieces, itemgetter(*order, len(held)), PaddingPlan(place.first_number, lengths), len(lengths))


def _unused_marks(encoded: bytes, number: int) -> list[str]:
    """Texts that do not occur in an encoded item."""
    marks = (f"\0{n}\0" for n in count())
    return list(islice((mark for mark in marks if _encode_text(mark) not in encoded), number))


def _encode_text(text: str) -> bytes:
    """A text as it stands between the quotation marks of JSON."""
    return orjson.dumps(text)[1:-1]
