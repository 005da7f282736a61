"""Writes the events of a response; `harness.answers.reader` is its counterpart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol, overload

from harness.answers.item_writer import ItemPlace, write_item
from harness.answers.reader import StreamError
from harness.answers.response import TOOL_USAGE
from harness.api.responses import ENDED_STATUSES
from harness.core.exchange import Json
from harness.core.text import show
from harness.ending import to_api_error
from harness.items.kind import ITEMS, Item
from harness.items.stream_elements import Deltas

MCP_LIST_TOOLS = "mcp_list_tools"
"""The kind of item for an MCP server's tools; a response begins with one per server.

Recorded in 2026: several of them are created side by side, and only the last has a `done` event; the others are
complete in the final event.
"""

_AT_START: Json = {
    "completed_at": None,
    "content_filters": None,
    "error": None,
    "incomplete_details": None,
    "moderation": None,
    "output": [],
    "prompt_cache_diagnostics": None,
    "tool_usage": TOOL_USAGE,
    "usage": None,
}
"""Members of a response before it has output. Recorded: they do not yet show what its tools do later."""


@dataclass(frozen=True, slots=True, eq=False)
class ResponseEvents(Sequence[Json]):
    """The events of a finished response, rendered anew on each access, so that a journal need not store them.

    `items` holds the scripted items of its output, in order, for their exact deltas. If `is_padded`, each text delta is
    padded; a `background` response is queued first.
    """

    response: Json
    items: Sequence[Item | None]
    is_padded: bool
    background: bool
    _count: int = field(default=-1, init=False, repr=False)

    def __iter__(self) -> Iterator[Json]:
        return iter(self._write())

    def __len__(self) -> int:
        return self._count if self._count >= 0 else len(self._write())

    def __reversed__(self) -> Iterator[Json]:
        return reversed(self._write())

    @overload
    def __getitem__(self, index: int) -> Json: ...
    @overload
    def __getitem__(self, index: slice) -> list[Json]: ...
    def __getitem__(self, index: int | slice) -> Json | list[Json]:
        return self._write()[index]

    def __eq__(self, other: object) -> bool:
        return self._write() == (other._write() if isinstance(other, ResponseEvents) else other)

    __hash__ = None  # type: ignore[assignment]

    def _write(self) -> list[Json]:
        writer = EventWriter()
        write_response(self, writer)
        object.__setattr__(self, "_count", writer.number)
        return writer.events


def render_events(
    response: Json, *, items: Sequence[Item | None] = (), obfuscate: bool = True, background: bool = False
) -> ResponseEvents:
    """Make the events of a finished response, from `response.created` on, numbered from 0; they are rendered when read.

    `items` holds the scripted items of its output, in order, for their exact deltas. `obfuscate` pads every text delta
    to a multiple of 16 characters; a `background` response is queued first and never padded. StreamError for an
    unfinished response, RegistrationError for an item of an unknown kind.
    """
    if response["status"] not in ENDED_STATUSES:
        raise StreamError(
            0,
            f"the response is {show(response['status'])}; only one that is "
            f"{', '.join(ENDED_STATUSES[:-1])} or {ENDED_STATUSES[-1]} is streamed",
        )
    for wire in response["output"]:  # events are rendered when they are read: too late for this error
        ITEMS.find(wire["type"])
    has_deltas = any(item is not None and (item.deltas or item.holds) for item in items)
    return ResponseEvents(response, items if has_deltas else (), obfuscate and not background, background)


class StreamWriter(Protocol):
    """Receives the parts of a stream, in order."""

    @property
    def number(self) -> int:
        """The number of the next event."""
        ...

    def write_event(self, event: Json) -> None:
        """Write an event, with the next number."""
        ...

    def write_snapshots(self, names: Sequence[str], response: Json) -> None:
        """Write an event of each name, all with the same response."""
        ...

    def write_item(self, wire: Json, deltas: Deltas, place: ItemPlace) -> None:
        """Write the events of an item; `deltas` are its exact deltas, if any."""
        ...


class EventWriter:
    """Collects a stream in `events`."""

    def __init__(self) -> None:
        self.events: list[Json] = []

    @property
    def number(self) -> int:
        """The number of the next event."""
        return len(self.events)

    def write_event(self, event: Json) -> None:
        """Write an event, with the next number."""
        self.events.append({**event, "sequence_number": len(self.events)})

    def write_snapshots(self, names: Sequence[str], response: Json) -> None:
        """Write an event of each name, all with the same response."""
        for name in names:
            self.write_event({"type": name, "response": response})

    def write_item(self, wire: Json, deltas: Deltas, place: ItemPlace) -> None:
        """Write the events of an item; `deltas` are its exact deltas, if any."""
        self.events += write_item(wire, deltas, place)


def write_response(events: ResponseEvents, writer: StreamWriter) -> None:
    """Write the events of a response to the writer, from `response.created` to the final one."""
    response, output = events.response, events.response["output"]
    if events.background:
        writer.write_snapshots(("response.created", "response.queued"), _begin(response, "queued"))
        writer.write_snapshots(("response.in_progress",), _begin(response, "in_progress"))
    else:
        writer.write_snapshots(("response.created", "response.in_progress"), _begin(response, "in_progress"))
    # Recorded: the last item of a failed response has no done event.
    open_from = len(output) - 1 if response["status"] == "failed" else len(output)
    index = _write_listings(output[:open_from], writer)
    while index < len(output):
        index = _write_item(index, open_from, events, writer)
    if error := response.get("error"):
        api_error = to_api_error(error)
        members = {name: getattr(api_error, name) for name in ("type", "code", "message", "param")}
        writer.write_event({"type": "error", "error": members})
    writer.write_snapshots((f"response.{response['status']}",), response)


def _begin(response: Json, status: str) -> Json:
    begun = {**response, "status": status}
    begun |= {name: value for name, value in _AT_START.items() if name in response}
    # A response to a request without a tier ends with "default" but starts with "auto".
    if begun.get("service_tier") == "default":
        begun["service_tier"] = "auto"
    return begun


def _write_item(index: int, open_from: int, events: ResponseEvents, writer: StreamWriter) -> int:
    """Write the events of an item, with items inside it before its last event; returns the next index."""
    response, output, after = events.response, events.response["output"], index + 1
    item = events.items[index] if index < len(events.items) else None
    # An incomplete response may break off inside a step, so that items inside it are missing.
    last = min(index + (item.holds if item else 0), len(output) - 1)
    is_left_open = last >= open_from
    reasons = (response.get("reasoning") or {}).get("effort") is not None
    place = ItemPlace(index, writer.number, events.is_padded, is_left_open or after <= last, reasons)
    writer.write_item(output[index], item.deltas if item else {}, place)
    if after > last:
        return after
    while after <= last:
        after = _write_item(after, open_from, events, writer)
    if not is_left_open:
        writer.write_event(end_item(index, output[index]))
    return after


def end_item(index: int, item: Json) -> Json:
    """Make an item's `done` event, without its number."""
    return {"type": "response.output_item.done", "item": item, "output_index": index}


def _write_listings(output: Sequence[Json], writer: StreamWriter) -> int:
    """Write the events of the listings at the start of an output, if there are several; returns the index after them.

    Each phase of all of them comes before the next phase; only the last one has a `done`.
    """
    count = 0
    while count < len(output) and output[count]["type"] == MCP_LIST_TOOLS:
        count += 1
    if count < 2:
        return 0
    by_item = [write_item(output[index], {}, ItemPlace(index, 0, False, False, False)) for index in range(count)]
    begun, middle = [events[:2] for events in by_item], [events[2:-1] for events in by_item]
    for event in chain(*begun, *middle, by_item[-1][-1:]):
        writer.write_event(event)
    return count
