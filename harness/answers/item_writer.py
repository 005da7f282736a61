"""Writes the events of one item, as its grammar says; `harness.answers.reader` is the counterpart.

Members stand in the order of the API's newer serialiser: `type`, then by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from json.encoder import encode_basestring as quoted
from typing import NamedTuple

import orjson

from harness.answers.padding import padding_length
from harness.answers.sse import encode_event
from harness.core.exchange import Json
from harness.items.kind import ITEMS
from harness.items.stream_grammar import Deltas

TOKEN_PATTERN = re.compile(r" ?[^\W\d_]{1,16}|\d{1,3}| ?(?:[^\w\s]|_){1,16}|\s+")
"""The pieces of a text without exact deltas; every character belongs to one of the four alternatives."""

WEB_SEARCH = "web_search_call"
"""Recorded: `output_item.added` has the type of the action for models that do not reason, and no action for others."""


@lru_cache(maxsize=256)
def split_into_tokens(text: str) -> tuple[str, ...]:
    """A text in pieces about as long as a model's tokens."""
    return tuple(TOKEN_PATTERN.findall(text))


def sort_members(type: str, members: Json) -> Json:
    """An event with its members in order."""
    return {"type": type, **{name: members[name] for name in _sort_names(tuple(members))}}


@lru_cache(maxsize=256)
def _sort_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(names))


class ItemPlace(NamedTuple):
    """Where an item stands in a stream, and how it is streamed.

    `output_index` is its place in the output, `first_number` the number of its first event. Its deltas may be padded; with
    `left_open` its events end with the last delta. `reasons` says whether the model does.
    """

    output_index: int
    first_number: int
    padded: bool
    left_open: bool
    reasons: bool


class ItemWriter:
    """The visitor that writes the events of an item; `padding` stands for the padding of each delta."""

    def __init__(self, wire: Json, deltas: Deltas, place: ItemPlace, padding: str) -> None:
        self._deltas = deltas
        self._place = place
        self._padding = padding
        self._frames: list[bytes] = []
        self._paddings: list[int | None] = []
        self._last_delta = 1, 1
        declared = ITEMS.find(wire["type"])
        owner = {"agent": wire["agent"]} if wire.get("agent") else {}
        self._stamp = {**declared.stamp(wire, place.output_index), **owner}
        around = {"output_index": place.output_index, **owner}
        self._append_event("response.output_item.added", {"item": self._announce(wire), **around})
        for element in declared.grammar:
            element.emit_events(wire, self, {})
        if place.left_open:
            self._drop_tail()
        else:
            self._append_event("response.output_item.done", {"item": wire, **around})

    def encode(self) -> tuple[bytes, Sequence[int | None]]:
        """The frames of the events, and for each the length of its padding, None for one that is no padded delta."""
        return b"".join(self._frames), self._paddings

    def _announce(self, wire: Json) -> Json:
        announced = ITEMS.find(wire["type"]).render_added(wire)
        if wire["type"] == WEB_SEARCH and not self._place.reasons and (action := wire.get("action")):
            announced["action"] = {"type": action["type"]}
        return announced

    def visit_event(self, name: str, members: Json) -> None:
        """Write an event of the current item."""
        self._append_event(f"response.{name}", {**members, **self._stamp})

    def visit_optional_event(self, name: str, place: Json) -> None:
        """Write nothing."""

    def visit_text(self, stem: str, place: Json, text: str) -> None:
        """Write the deltas of a text."""
        self._append_deltas(self._delta_template(stem, place), self._split_text(stem, place, text))

    def visit_annotated_text(self, stem: str, place: Json, part: Json) -> None:
        """Write the deltas of a text with their logprobs, and each annotation after the delta that contains its end."""
        entries, notes, text = part.get("logprobs", ()), part["annotations"], part["text"]
        pieces = self._split_text(stem, place, text, [entry["token"] for entry in entries])
        frame = self._delta_template(stem, {**place, "logprobs": []})
        if not entries and not notes:
            return self._append_deltas(frame, pieces)
        shares = _share_logprobs(entries, pieces)
        waiting = list(enumerate(notes))
        for piece, end in zip(pieces, accumulate(map(len, pieces)), strict=True):
            self._append_deltas({**frame, "logprobs": next(shares)}, [piece])
            while waiting and _annotation_end(waiting[0][1], text) <= end:
                self._write_annotation(stem, place, *waiting.pop(0))
        for index, note in waiting:
            self._write_annotation(stem, place, index, note)
        return None

    def visit_object_deltas(self, stem: str, place: Json, texts: Mapping[str, str]) -> None:
        """Write one delta for each text."""
        for name, text in texts.items():
            self.visit_event(f"{stem}.delta", {**place, "delta": {name: text}})

    def visit_images(self, stem: str, members: Json, image: str | None) -> None:
        """Write the partial images of the item, or else the finished one."""
        images = self._deltas.get((stem, 0), () if image is None else (image,))
        for number, each in enumerate(images):
            self.visit_event(stem, {**members, "partial_image_b64": each, "partial_image_index": number})

    def _write_annotation(self, stem: str, place: Json, index: int, note: Json) -> None:
        self.visit_event(f"{stem}.annotation.added", {**place, "annotation": note, "annotation_index": index})

    def _split_text(self, stem: str, place: Json, text: str, tokens: Sequence[str] = ()) -> Sequence[str]:
        exact = self._deltas.get((stem, next(iter(place.values()), 0)), tokens)
        joined = "".join(exact)
        if joined == text:
            return exact
        return _clip_pieces(exact, len(text)) if exact and joined.startswith(text) else split_into_tokens(text)

    def _delta_template(self, stem: str, members: Json) -> Json:
        padding = {"obfuscation": self._padding} if self._place.padded else {}
        return {"type": f"response.{stem}.delta", **members, **padding, **self._stamp}

    def _append_deltas(self, shared: Json, pieces: Sequence[str]) -> None:
        """Deltas that differ only in text, padding and number; a stream consists mostly of them."""
        start, between, end = _encode_around(shared)
        numbered = enumerate(map(quoted, pieces), self._next_number)
        frames = "".join([f"{start}{piece}{between}{number}{end}" for number, piece in numbered])
        self._frames.append(frames.encode())
        self._paddings += map(padding_length, pieces) if self._place.padded else [None] * len(pieces)
        self._last_delta = len(self._frames), len(self._paddings)

    def _append_event(self, name: str, members: Json) -> None:
        self._frames.append(encode_event(sort_members(name, {**members, "sequence_number": self._next_number})))
        self._paddings.append(None)

    @property
    def _next_number(self) -> int:
        return self._place.first_number + len(self._paddings)

    def _drop_tail(self) -> None:
        """Drop the events after the last delta, but not the first event."""
        frames, events = self._last_delta
        del self._frames[frames:], self._paddings[events:]


def _encode_around(shared: Json) -> tuple[str, str, str]:
    """What stands in the frame of each delta of a series before its text, between text and number, and after that."""
    places: tuple[Json, Json, Json] = {"type": shared["type"]}, {}, {}
    for name in _sort_names(tuple(shared)):
        if name != "type":
            places[(name > "delta") + (name > "sequence_number")][name] = shared[name]
    before, inner, last = (orjson.dumps(members).decode()[1:-1] for members in places)
    after = f",{last}" if last else ""
    return (
        f'event: {shared["type"]}\ndata: {{{before},"delta":',
        f',{inner},"sequence_number":',
        f"{after}}}\n\n",
    )


def _share_logprobs(entries: Sequence[Json], pieces: Sequence[str]) -> Iterator[list[Json]]:
    """The logprobs entries of each piece: those whose token ends in it; the last piece has the others."""
    ends = accumulate(len(entry["token"]) for entry in entries)
    left = list(zip(ends, entries, strict=True))
    for number, end in enumerate(accumulate(map(len, pieces)), 1):
        count = len(left) if number == len(pieces) else sum(1 for own, _ in left if own <= end)
        yield [entry for _, entry in left[:count]]
        del left[:count]


def _annotation_end(note: Json, text: str) -> int:
    # Recorded: a citation of an empty range (0 to 0) comes last.
    return note.get("end_index", note.get("index")) or len(text) + 1


def _clip_pieces(pieces: Sequence[str], length: int) -> list[str]:
    starts = chain((0,), accumulate(map(len, pieces)))
    return [piece[: length - start] for piece, start in zip(pieces, starts, strict=False) if start < length]
