"""Writes the events of a response; `harness.answers.reader` is its counterpart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

import orjson

from harness.answers.item_frames import ItemFrames, frame_item
from harness.answers.item_writer import ItemPlace, sort_members
from harness.answers.sse import decode_frames, encode_event
from harness.core.exchange import Json
from harness.ending import to_api_error
from harness.items.stream_grammar import Deltas, replace_members

_RESPONSE_FRAME = b'event: %b\ndata: {"type":"%b","response":%b,"sequence_number":%d}\n\n'


class EncodedFrames(NamedTuple):
    """The frames of some events, in UTF-8."""

    frames: bytes

    def encode(self) -> bytes:
        """The frames."""
        return self.frames


class EventSequence(Sequence[Json]):
    """The events of a stream, in order; `parts` are single events and frames of several, which are parsed when read."""

    def __init__(self) -> None:
        self.parts: list[Json | ItemFrames | EncodedFrames] = []
        self._count = 0

    def add_response(self, names: Sequence[str], response: Json) -> None:
        """Append an event of each name that tells a response."""
        encoded = orjson.dumps(response)
        self.parts.append(
            EncodedFrames(
                b"".join(
                    [
                        _RESPONSE_FRAME % (name.encode(), name.encode(), encoded, number)
                        for number, name in enumerate(names, self._count)
                    ]
                )
            )
        )
        self._count += len(names)

    def add_event(self, event: Json) -> None:
        """Append an event."""
        self.parts.append(event)
        self._count += 1

    def add_item(self, frames: ItemFrames) -> None:
        """Append the events of an item."""
        self.parts.append(frames)
        self._count += frames.template.number

    def encode(self) -> bytes:
        """The events as server-sent events, in UTF-8."""
        return b"".join([encode_event(part) if isinstance(part, dict) else part.encode() for part in self.parts])

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Json]:
        for part in self.parts:
            if isinstance(part, dict):
                yield part
            else:
                yield from decode_frames(part.encode())

    def __reversed__(self) -> Iterator[Json]:
        return reversed(list(self))

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
    """Writes `events`, one after the other."""

    def __init__(self, obfuscate: bool) -> None:
        self.events = EventSequence()
        self._obfuscate = obfuscate
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
        if background:
            self.events.add_response(["response.created", "response.queued"], {**running, "status": "queued"})
            self.events.add_response(["response.in_progress"], running)
        else:
            self.events.add_response(["response.created", "response.in_progress"], running)

    def write_item(self, index: int, wire: Json, deltas: Deltas, left_open: bool = False) -> None:
        """Write the events of an item; with `left_open` they end with its last delta."""
        place = ItemPlace(index, len(self.events), self._obfuscate, left_open, self._reasons)
        self.events.add_item(frame_item(wire, deltas, place))

    def write_events(self, events: Iterable[Json]) -> None:
        """Write these events, numbered from here on."""
        for event in events:
            self.events.add_event({**event, "sequence_number": len(self.events)})

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
        self.events.add_response([f"response.{response['status']}"], response)

    def _append_event(self, name: str, members: Json) -> None:
        self.events.add_event(sort_members(name, {**members, "sequence_number": len(self.events)}))
