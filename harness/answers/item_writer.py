"""Writes the events of one item from its grammar; `harness.answers.reader` is the counterpart.

Members are in the order of the API's newer serializer: `type`, then by name.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate, chain
from typing import NamedTuple
from zlib import crc32

from harness.api.encrypted_content import make_announced_content
from harness.core.exchange import Json
from harness.core.ids import ALPHANUMERIC_TABLE
from harness.items.kind import ITEMS
from harness.items.stream_elements import Deltas

TOKEN_PATTERN = re.compile(r" ?[^\W\d_]{1,16}|\d{1,3}| ?(?:[^\w\s]|_){1,16}|\s+")
"""The tokens of a text without exact deltas; every character matches one of the four alternatives."""

WEB_SEARCH = "web_search_call"
"""Recorded: `output_item.added` has the action's type for models that do not reason, and no action for others."""

WIDTH = 16
"""Text deltas are padded to a multiple of this many characters (`obfuscation`)."""
STARTS = 16
STEP = 61
PLACES = 4096
NOISE = b"".join(blake2b(b"%d" % n).digest() for n in range(PLACES // 64 + 1)).translate(ALPHANUMERIC_TABLE).decode()
"""The noise from which padding is cut, WIDTH longer than PLACES so that padding may start at the last place.

The id of the item and the number of the event decide where it starts, so that it is the same in every run.
"""


@lru_cache(maxsize=256)
def split_into_tokens(text: str) -> tuple[str, ...]:
    """Split a text into pieces about as long as a model's tokens."""
    return tuple(TOKEN_PATTERN.findall(text))


def sort_members(type: str, members: Json) -> Json:
    """Make an event of this type, with its members in order."""
    return {"type": type, **{name: members[name] for name in _sort_names(tuple(members))}}


@lru_cache(maxsize=256)
def _sort_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(names))


class ItemPlace(NamedTuple):
    """The place of an item in a stream, and how it is streamed.

    `output_index` is its index in the output, `first_number` the number of its first event. If `padded`, its deltas
    have padding; if `left_open`, its events end with the last delta. `reasons` says whether the model does.
    """

    output_index: int
    first_number: int
    padded: bool
    left_open: bool
    reasons: bool


def write_item(wire: Json, deltas: Deltas, place: ItemPlace) -> list[Json]:
    """Write the events of an item at a place of a stream; `deltas` are its exact deltas, if any."""
    return _ItemWriter(wire, deltas, place).write()


class _ItemWriter:
    def __init__(self, wire: Json, deltas: Deltas, place: ItemPlace) -> None:
        self._wire = wire
        self._deltas = deltas
        self._place = place
        self._kind = ITEMS.find(wire["type"])
        self._owner = {"agent": wire["agent"]} if wire.get("agent") else {}
        self._stamp = {**self._kind.stamp(wire, place.output_index), **self._owner}
        self._noise_start = find_start(wire["id"]) if place.padded else 0
        self._events: list[Json] = []
        self._last_delta = 0

    def write(self) -> list[Json]:
        """Write the events, from `output_item.added` to `output_item.done` or to the last delta."""
        around = {"output_index": self._place.output_index, **self._owner}
        self._append_event("response.output_item.added", {"item": self._announce(self._wire), **around})
        for element in self._kind.grammar:
            element.emit_events(self._wire, self, {})
        if self._place.left_open:
            return self._events[: self._last_delta + 1]
        self._append_event("response.output_item.done", {"item": self._wire, **around})
        return self._events

    def _announce(self, wire: Json) -> Json:
        announced = self._kind.render_added(wire)
        if wire["type"] == WEB_SEARCH and not self._place.reasons and (action := wire.get("action")):
            announced["action"] = {"type": action["type"]}
        if wire["type"] == "reasoning" and (text := announced.get("encrypted_content")):
            announced["encrypted_content"] = make_announced_content(text)
        return announced

    def visit_event(self, name: str, members: Json) -> None:
        """Write an event of the current item."""
        self._append_event(f"response.{name}", {**members, **self._stamp})

    def visit_optional_event(self, name: str, place: Json) -> None:
        """Write nothing: such events are only read."""

    def visit_text(self, stem: str, place: Json, text: str) -> None:
        """Write the deltas of a text."""
        self._append_deltas(self._delta_template(stem, place), self._split_text(stem, place, text))

    def visit_annotated_text(self, stem: str, place: Json, part: Json) -> None:
        """Write the deltas of a text with their logprobs, and each annotation after the delta that contains its end."""
        entries, notes, text = part.get("logprobs", ()), part["annotations"], part["text"]
        pieces = self._split_text(stem, place, text, [entry["token"] for entry in entries])
        template = self._delta_template(stem, {**place, "logprobs": []})
        if not entries and not notes:
            return self._append_deltas(template, pieces)
        shares = _share_logprobs(entries, pieces)
        waiting = list(enumerate(notes))
        for piece, end in zip(pieces, accumulate(map(len, pieces)), strict=True):
            self._append_deltas({**template, "logprobs": next(shares)}, [piece])
            # Recorded: an annotation follows the delta that completes the words it stands for.
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
        for number, partial in enumerate(images):
            self.visit_event(stem, {**members, "partial_image_b64": partial, "partial_image_index": number})

    def _write_annotation(self, stem: str, place: Json, index: int, note: Json) -> None:
        self.visit_event(f"{stem}.annotation.added", {**place, "annotation": note, "annotation_index": index})

    def _split_text(self, stem: str, place: Json, text: str, tokens: Sequence[str] = ()) -> Sequence[str]:
        exact = self._deltas.get((stem, next(iter(place.values()), 0)), tokens)
        joined = "".join(exact)
        if joined == text:
            return exact
        return _clip_pieces(exact, len(text)) if exact and joined.startswith(text) else split_into_tokens(text)

    def _delta_template(self, stem: str, members: Json) -> Json:
        """Make a delta without text, padding and number, to copy for each delta: a stream consists mostly of these."""
        padding = {"obfuscation": ""} if self._place.padded else {}
        members = {**members, "delta": "", **padding, **self._stamp, "sequence_number": 0}
        return sort_members(f"response.{stem}.delta", members)

    def _append_deltas(self, template: Json, pieces: Sequence[str]) -> None:
        for number, piece in enumerate(pieces, self._next_number):
            event = {**template, "delta": piece, "sequence_number": number}
            if self._place.padded:
                event["obfuscation"] = cut_noise(self._noise_start, number, -len(piece) % WIDTH)
            self._events.append(event)
        self._last_delta = len(self._events) - 1

    def _append_event(self, name: str, members: Json) -> None:
        self._events.append(sort_members(name, {**members, "sequence_number": self._next_number}))

    @property
    def _next_number(self) -> int:
        return self._place.first_number + len(self._events)


def _share_logprobs(entries: Sequence[Json], pieces: Sequence[str]) -> Iterator[list[Json]]:
    """Distribute logprobs entries: each piece has those whose token ends in it, the last piece all others."""
    ends = accumulate(len(entry["token"]) for entry in entries)
    left = list(zip(ends, entries, strict=True))
    for number, end in enumerate(accumulate(map(len, pieces)), 1):
        count = len(left) if number == len(pieces) else sum(1 for token_end, _ in left if token_end <= end)
        yield [entry for _, entry in left[:count]]
        del left[:count]


def _annotation_end(note: Json, text: str) -> int:
    # Recorded: a citation of an empty range (0 to 0) comes last.
    return note.get("end_index", note.get("index")) or len(text) + 1


def _clip_pieces(pieces: Sequence[str], length: int) -> list[str]:
    starts = chain((0,), accumulate(map(len, pieces)))
    return [piece[: length - start] for piece, start in zip(pieces, starts, strict=False) if start < length]


def find_start(id: str) -> int:
    """Return where the noise for the item with this id starts, one of STARTS places."""
    return crc32(id.encode()) % STARTS * (PLACES // STARTS)


def cut_noise(start: int, number: int, length: int) -> str:
    """Return `length` characters of noise for the event with this number."""
    place = (start + STEP * number) % PLACES
    return NOISE[place : place + length]
