"""Writes the events of a response; `harness.answers.reader` is its counterpart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, overload

import orjson

from harness.answers.item_frames import ItemFrames, frame_item
from harness.answers.item_writer import ItemPlace, sort_members
from harness.answers.response import TOOL_USAGE
from harness.answers.sse import decode_frames, encode_event
from harness.core.exchange import Json
from harness.ending import to_api_error
from harness.items.stream_grammar import Deltas, replace_members

_AT_START: Json = {
    "completed_at": None,
    "content_filters": None,
    "error": None,
    "incomplete_details": None,
    "moderation": None,
    "output": [],
    "tool_usage": TOOL_USAGE,
    "usage": None,
}
"""Members of a response before it has an output. Recorded: whatever its tools have done in the end, they have not yet."""
_OWN_MEMBERS = ("id", "object", "created_at")
"""The first members of a response; all others are the same at the start of every answer to a request."""
_OPENING = ("response.created", "response.in_progress")
_FRAME_END = b',"sequence_number":%d}\n\n'


class BegunResponse:
    """A response in progress as JSON, encoded once for all answers to a request, which differ in id and time."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = b""

    def encode(self, response: Json) -> bytes:
        """The JSON of a finished response as it was at its start."""
        named = {name: response[name] for name in _OWN_MEMBERS if name in response}
        head = orjson.dumps(named)[:-1]
        if not self._rest:
            begun = _begin(response, "in_progress")
            self._rest = orjson.dumps({name: value for name, value in begun.items() if name not in named})[1:]
        return b"%b,%b" % (head, self._rest)


class ResponseFrames(NamedTuple):
    """The frames of events that tell a response, one of each name, numbered from `number` on.

    `response` is the response at its end. It is told as it was at its start, with a `status`, or as `begun` has it.
    """

    names: Sequence[str]
    number: int
    response: Json
    status: str = ""
    begun: BegunResponse | None = None

    def pieces(self) -> list[bytes]:
        """The frames, in UTF-8, in pieces."""
        numbered = enumerate(self.names, self.number)
        encoded = self._encode()
        return [piece for number, name in numbered for piece in (_frame_start(name), encoded, _FRAME_END % number)]

    def _encode(self) -> bytes:
        if self.begun is not None:
            return self.begun.encode(self.response)
        return orjson.dumps(_begin(self.response, self.status) if self.status else self.response)


@lru_cache(maxsize=32)
def _frame_start(name: str) -> bytes:
    return f'event: {name}\ndata: {{"type":"{name}","response":'.encode()


def _begin(response: Json, status: str) -> Json:
    """A response as it was at its start."""
    # Without a requested tier the final one is "default"; it starts as "auto".
    tier = "auto" if response.get("service_tier") == "default" else response.get("service_tier")
    return replace_members(response, {**_AT_START, "service_tier": tier, "status": status})


class EventSequence(Sequence[Json]):
    """The events of a stream, in order; `parts` are single events and frames of several, which are made when read."""

    __slots__ = ("_count", "parts")

    def __init__(self) -> None:
        self.parts: list[Json | ItemFrames | ResponseFrames] = []
        self._count = 0

    def add_response(
        self, names: Sequence[str], response: Json, status: str = "", begun: BegunResponse | None = None
    ) -> None:
        """Append the events that tell a response; see `ResponseFrames`."""
        self.parts.append(ResponseFrames(names, self._count, response, status, begun))
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
        pieces: list[bytes] = []
        for part in self.parts:
            pieces += (encode_event(part),) if isinstance(part, dict) else part.pieces()
        return b"".join(pieces)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Json]:
        for part in self.parts:
            if isinstance(part, dict):
                yield part
            else:
                yield from decode_frames(b"".join(part.pieces()))

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

    def write_opening(self, response: Json, background: bool, begun: BegunResponse) -> None:
        """Write the events before the first item; `begun` is kept for those of the next response to the same request."""
        self._reasons = (response.get("reasoning") or {}).get("effort") is not None
        if background:
            self.events.add_response(("response.created", "response.queued"), response, "queued")
            self.events.add_response(("response.in_progress",), response, "in_progress")
        else:
            self.events.add_response(_OPENING, response, begun=begun)

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
        self.events.add_response((f"response.{response['status']}",), response)

    def _append_event(self, name: str, members: Json) -> None:
        self.events.add_event(sort_members(name, {**members, "sequence_number": len(self.events)}))
