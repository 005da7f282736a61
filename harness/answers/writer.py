"""Writes the events of a response; `harness.answers.reader` is its counterpart.

Members stand in the order of the API's newer serialiser: `type`, then by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate, chain, count, repeat
from json.encoder import encode_basestring as quoted
from typing import overload
from zlib import crc32

import orjson

from harness.core.exchange import Json
from harness.core.ids import ALPHANUMERIC_TABLE
from harness.ending import to_api_error
from harness.items.kind import ITEMS
from harness.items.stream_grammar import Deltas, replace_members

TOKEN_PATTERN = re.compile(r" ?[^\W\d_]{1,16}|\d{1,3}| ?(?:[^\w\s]|_){1,16}|\s+")
"""The pieces of a text without exact deltas; every character belongs to one of the four alternatives."""

WEB_SEARCH = "web_search_call"
"""Recorded: `output_item.added` has the type of the action for models that do not reason, and no action for others."""

_NOISE_SIZE = 4096
_NOISE = (
    b"".join(blake2b(b"%d" % n).digest() for n in range(_NOISE_SIZE // 64 + 1)).translate(ALPHANUMERIC_TABLE).decode()
)


@lru_cache(maxsize=256)
def split_into_tokens(text: str) -> tuple[str, ...]:
    """A text in pieces about as long as a model's tokens."""
    return tuple(TOKEN_PATTERN.findall(text))


def encode_event(event: Json) -> bytes:
    """An event as a server-sent event, in UTF-8; events of the Assistants API have their name beside the data."""
    if "event" in event:
        data = event["data"]
        encoded = data.encode() if isinstance(data, str) else orjson.dumps(data)
        return b"event: %b\ndata: %b\n\n" % (event["event"].encode(), encoded)
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), orjson.dumps(event))


@dataclass(frozen=True, slots=True)
class DeltaSeries:
    """A series of deltas that differ only in text, padding and number; `template` is the event that they share.

    It is expanded only on demand, because a stream consists mostly of deltas: encoding it costs a third of its events.
    """

    template: Json
    pieces: Sequence[str]
    first_number: int
    padding_seed: int

    def __iter__(self) -> Iterator[Json]:
        padded = "obfuscation" in self.template
        for number, piece, padding in zip(count(self.first_number), self.pieces, self._make_paddings(), strict=False):
            own = {"obfuscation": padding} if padded else {}
            yield {**self.template, "delta": piece, "sequence_number": number, **own}

    def encode(self) -> bytes:
        """The series as server-sent events."""
        padded = "obfuscation" in self.template
        marks = {"delta": "\0delta", "sequence_number": "\0number"} | ({"obfuscation": "\0padding"} if padded else {})
        before, rest = encode_event({**self.template, **marks}).decode().split('"\\u0000delta"')
        between, rest = rest.split("\\u0000padding") if padded else ("", rest)
        inner, after = rest.split('"\\u0000number"')
        paddings = self._make_paddings() if padded else repeat("")
        encoded = zip(map(quoted, self.pieces), paddings, count(self.first_number), strict=False)
        return "".join(
            [f"{before}{piece}{between}{padding}{inner}{number}{after}" for piece, padding, number in encoded]
        ).encode()

    def _make_paddings(self) -> list[str]:
        places = count(self.padding_seed + self.first_number * 61, 61)
        return [
            _NOISE[(at := place % _NOISE_SIZE) : at + -len(piece) % 16]
            for place, piece in zip(places, self.pieces, strict=False)
        ]


class EventSequence(Sequence[Json]):
    """The events of a stream, in order; `parts` are single events and series of deltas."""

    def __init__(self) -> None:
        self.parts: list[Json | DeltaSeries] = []
        self._count = 0

    def add(self, part: Json | DeltaSeries, number: int = 1) -> None:
        """Append an event, or a series of `number` events."""
        self.parts.append(part)
        self._count += number

    def drop_tail(self, start: int) -> None:
        """Drop the events after the last series of deltas, but none before `start`."""
        while len(self.parts) > start and not isinstance(self.parts[-1], DeltaSeries):
            self.parts.pop()
            self._count -= 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Json]:
        return chain.from_iterable(part if isinstance(part, DeltaSeries) else (part,) for part in self.parts)

    @overload
    def __getitem__(self, index: int) -> Json: ...
    @overload
    def __getitem__(self, index: slice) -> list[Json]: ...
    def __getitem__(self, index: int | slice) -> Json | list[Json]:
        return list(self)[index]

    def __eq__(self, other: object) -> bool:
        return list(self) == (list(other) if isinstance(other, EventSequence) else other)

    __hash__ = None  # type: ignore[assignment]


class EventWriter:
    """The visitor that writes `events`."""

    def __init__(self, obfuscate: bool) -> None:
        self.events = EventSequence()
        self._obfuscate = obfuscate
        self._stamp: Json = {}
        self._deltas: Deltas = {}
        self._seed = 0
        self._reasons = False

    def write_opening(self, response: Json, background: bool) -> None:
        """Write the events before the first item."""
        self._reasons = (response.get("reasoning") or {}).get("effort") is not None
        # Without a requested tier the final one is "default"; it starts as "auto".
        tier = response.get("service_tier")
        blank: Json = {
            "completed_at": None,
            "content_filters": None,
            "error": None,
            "incomplete_details": None,
            "moderation": None,
            "output": [],
            "service_tier": "auto" if tier == "default" else tier,
            "usage": None,
        }
        running = replace_members(response, {**blank, "status": "in_progress"})
        created = {**running, "status": "queued"} if background else running
        self._append_event("response.created", {"response": created})
        if background:
            self._append_event("response.queued", {"response": created})
        self._append_event("response.in_progress", {"response": running})

    def write_item(self, index: int, wire: Json, deltas: Deltas, left_open: bool = False) -> None:
        """Write the events of an item; with `left_open` they end with its last delta."""
        declared = ITEMS.find(wire["type"])
        announced = declared.render_added(wire)
        if wire["type"] == WEB_SEARCH and not self._reasons and (action := wire.get("action")):
            announced["action"] = {"type": action["type"]}
        owner = {"agent": wire["agent"]} if wire.get("agent") else {}
        self._append_event("response.output_item.added", {"item": announced, "output_index": index, **owner})
        self._stamp = {**declared.stamp(wire, index), **owner}
        self._deltas = deltas
        self._seed = crc32(wire["id"].encode())
        start = len(self.events.parts)
        for element in declared.grammar:
            element.emit_events(wire, self, {})
        if left_open:
            return self.events.drop_tail(start)
        self._append_event("response.output_item.done", {"item": wire, "output_index": index, **owner})
        return None

    def write_closing(self, response: Json) -> None:
        """Write the error if there is one, then the final event."""
        if error := response.get("error"):
            api_error = to_api_error(error)
            self._append_event(
                "error",
                {
                    "error": {
                        "type": api_error.type,
                        "code": api_error.code,
                        "message": api_error.message,
                        "param": api_error.param,
                    }
                },
            )
        self._append_event(f"response.{response['status']}", {"response": response})

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
        padding = {"obfuscation": ""} if self._obfuscate else {}
        own = {**members, **padding, **self._stamp, "delta": "", "sequence_number": 0}
        return {"type": f"response.{stem}.delta", **dict(sorted(own.items()))}

    def _append_deltas(self, frame: Json, pieces: Sequence[str]) -> None:
        self.events.add(DeltaSeries(frame, pieces, len(self.events), self._seed), len(pieces))

    def _append_event(self, name: str, members: Json) -> None:
        members["sequence_number"] = len(self.events)
        self.events.add({"type": name, **{key: members[key] for key in _sort_names(tuple(members))}})


@lru_cache(maxsize=256)
def _sort_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(names))


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
