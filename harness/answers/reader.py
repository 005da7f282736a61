"""Reads a recorded stream, comparing each event with the one that the grammar expects next.

The same grammar (`harness.items.stream_elements`) that writes a kind's events also reads them: the visitor here consumes
events instead of writing them.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import harness.items  # noqa: F401  (registers every kind)
from harness.api.responses import ENDED_STATUSES
from harness.core.errors import HarnessError
from harness.core.exchange import Json
from harness.core.json_values import as_object
from harness.core.text import show
from harness.items.kind import ITEMS, ItemKind

_show = partial(show, width=160)

ENCRYPTED_MEMBERS = ("encrypted_content", "fingerprint")
"""Members whose encrypted value differs in every event."""


class StreamError(HarnessError):
    """An invalid event stream; `index` is the position of the first wrong event."""

    section = "recordings"

    def __init__(self, index: int, message: str) -> None:
        super().__init__(f"event {index}: {message}")
        self.index = index


def first_number(events: Sequence[Any]) -> int:
    """Return the number of a stream's first event: 1 for a workflow (recorded 2026-02), otherwise 0."""
    begun = events[0].get("response") if events and isinstance(events[0], dict) else None
    return 1 if isinstance(begun, dict) and str(begun.get("id")).startswith("wfresp_") else 0


class EventReader:
    """The visitor that reads recorded events and compares each with the expected one.

    `drift` lists accepted events and members that the known API does not have, as position, rule and message; see
    `stream.read_recorded`.
    """

    def __init__(self, events: Sequence[Json]) -> None:
        self.drift: list[tuple[int, str, str]] = []
        for index, event in enumerate(events):
            if not isinstance(event, dict) or not isinstance(event.get("type"), str):
                raise StreamError(index, f"{_show(event)} is not an event; it needs a 'type'")
        counted = [(index, event) for index, event in enumerate(events) if event["type"] != "keepalive"]
        self._unread: list[tuple[int, Json]] = [(len(events), {}), *reversed(counted)]
        self._last_place = 0
        self._stamp: Json = {}
        self._cut = any(event["type"] == "response.incomplete" for event in events)
        self._check_numbers(events)

    def _check_numbers(self, events: Sequence[Json]) -> None:
        # Recorded: until spring 2025 no event had a number.
        if events and not any("sequence_number" in event for event in events):
            self._add_drift(0, "unnumbered", "no event has a sequence_number")
            return
        first = first_number(events)
        for number, event in enumerate(events, first):
            if event.get("sequence_number") != number:
                problem = f"sequence_number is {show(event.get('sequence_number'))}, expected {number}"
                raise StreamError(number - first, problem)

    def _add_drift(self, index: int, rule: str, message: str) -> None:
        self.drift.append((index, rule, message))

    @property
    def next_type(self) -> str:
        """The type of the next event; empty at the end."""
        return str(self._unread[-1][1].get("type", ""))

    @property
    def _found_phrase(self) -> str:
        return f"found {self.next_type}" if self.next_type else "but the stream ends"

    def error_at_next(self, message: str) -> StreamError:
        """Return an error about the next event."""
        return StreamError(self._unread[-1][0], message)

    def expect_event(self, name: str, expected: Json) -> Json:
        """Consume the next event, which must have this type and these members."""
        index, event = self._unread[-1]
        if self.next_type != name:
            raise self.error_at_next(f"expected {name}, {self._found_phrase}")
        for member, value in expected.items():
            if not _is_equivalent(event.get(member, value if member == "logprobs" else None), value):
                raise self.error_at_next(f"{name}: {member} is {_show(event.get(member))}, expected {_show(value)}")
        self._unread.pop()
        self._last_place = index
        return event

    def read_opening(self) -> Json:
        """Read the events before the first item; returns the response in `response.created`."""
        queued = [event.get("type") for _, event in self._unread[-2:]] == ["response.queued", "response.created"]
        started = self._read_response(
            "response.created", {"output": [], "status": "queued" if queued else "in_progress"}
        )
        if queued:
            self._read_response("response.queued", {"id": started["id"], "output": [], "status": "queued"})
        self._read_response("response.in_progress", {"id": started["id"], "output": [], "status": "in_progress"})
        return started

    def read_closing(self, started: Json, output: list[Json]) -> Json:
        """Read the final event; returns its response with the output that was read."""
        error = self.expect_event("error", {}).get("error") if self.next_type == "error" else None
        status = self.next_type.removeprefix("response.")
        if status not in ENDED_STATUSES:
            raise self.error_at_next(f"expected an item or the terminal event, {self._found_phrase}")
        due: Json = {"id": started["id"], "output": output, "status": status}
        if isinstance(error, dict):
            due["error"] = {name: error.get(name) for name in ("code", "message")}
        index, event = self._unread[-1]
        if output and not self._require_object(event, "response").get("output"):
            # Recorded: some backends send the output only in the items' own events.
            self._add_drift(index, "output_left_out", f"{self.next_type}: response.output is left out")
            del due["output"]
        elif output:
            due["output"] = _add_late_sources(output, event["response"]["output"])
        final = self._read_response(self.next_type, due)
        return {**final, "output": output}

    def read_item(self, index: int) -> Json:
        """Read the events of one item, which must add up to the item in its `done` event.

        Recorded: if a response fails, its last item has no `done`; the item in the final event counts instead.
        """
        done = self._find_done(index)
        if done is None:
            return self._read_abandoned(index)
        declared = ITEMS.get(str(done.get("type")))
        if declared is None:
            return self._read_unknown(done, index)
        self._stamp = declared.stamp(done, index)
        try:
            self._read_added(declared, done, index)
            for element in declared.grammar:
                element.emit_events(done, self, {})
        except (AttributeError, KeyError, TypeError) as error:
            raise self.error_at_next(f"the done {declared.type} is malformed ({show(error)}): {_show(done)}") from error
        # Recorded: a summary that max_output_tokens cut has no end and is not in the item.
        while self._cut and self.next_type.startswith("response.reasoning_summary_"):
            self._unread.pop()
        self.expect_event("response.output_item.done", {"item": done, "output_index": index})
        return done

    def _read_added(self, declared: ItemKind, done: Json, index: int) -> None:
        item = declared.render_added(done)
        added = self._unread[-1][1].get("item")
        if isinstance(added, dict):
            # Recorded: a message in a single delta is completed from the start.
            if "status" in item and added.get("status") == done["status"]:
                item["status"] = done["status"]
            # Recorded: some web searches are added with only the type of their action, those of Foundry with none.
            if "action" not in item and _is_type_only(added.get("action")):
                item["action"] = added["action"]
            # Recorded: a tool search of the client has another call_id in its done event.
            if done.get("type") == "tool_search_call" and isinstance(added.get("call_id"), str):
                item["call_id"] = added["call_id"]
        self.expect_event("response.output_item.added", {"item": item, "output_index": index})

    def _read_unknown(self, done: Json, index: int) -> Json:
        place = self._unread[-1][0]
        near = f"an item of the unknown kind {_show(done.get('type'))}"
        self.expect_event("response.output_item.added", {"output_index": index})
        while self.next_type != "response.output_item.done":
            if self._unread[-1][1].get("output_index") != index:
                raise self.error_at_next(f"expected an event of item {index}, {near}, {self._found_phrase}")
            self._unread.pop()
        self.expect_event("response.output_item.done", {"output_index": index})
        self._add_drift(place, "unknown_kind", f"item {index} is {near}")
        return done

    def visit_event(self, name: str, members: Json) -> None:
        """Expect this event."""
        self.expect_event(f"response.{name}", {**members, **self._stamp})

    def visit_optional_event(self, name: str, place: Json) -> None:
        """Consume this event if it is the next one."""
        if self.next_type == f"response.{name}":
            self.visit_event(name, place)

    def visit_text(self, stem: str, place: Json, text: str) -> None:
        """Expect deltas that add up to this text."""
        self._check_sum(stem, text, [event["delta"] for event in self._read_deltas(stem, place, str)])

    def visit_annotated_text(self, stem: str, place: Json, part: Json) -> None:
        """Expect deltas that add up to a part's text and logprobs, with all annotations between them in order."""
        notes, noted, deltas = (
            part["annotations"],
            f"{stem}.annotation.added",
            list(self._read_deltas(stem, place, str)),
        )
        for index, note in enumerate(notes):
            self.visit_event(noted, {**place, "annotation": note, "annotation_index": index})
            deltas += self._read_deltas(stem, place, str)
        # Checked here, because the general error would name the event that should have come instead.
        if self.next_type == f"response.{noted}":
            raise self.error_at_next(f"annotation {len(notes)} is not among the {len(notes)} of the done item")
        self._check_sum(stem, part["text"], [event["delta"] for event in deltas])
        entries = [entry for event in deltas for entry in event.get("logprobs", ())]
        if entries and not _is_equivalent({"logprobs": entries}, {"logprobs": part["logprobs"]}):
            raise self.error_at_next(
                f"the deltas' logprobs are {_show(entries)}, but the item says {_show(part['logprobs'])}"
            )

    def visit_object_deltas(self, stem: str, place: Json, texts: Mapping[str, str]) -> None:
        """Expect deltas that add up to these texts; each delta has pieces of some of them."""
        deltas = [event["delta"] for event in self._read_deltas(stem, place, dict)]
        for name in dict.fromkeys([*texts, *(name for delta in deltas for name in delta)]):
            self._check_sum(f"{stem} ({name})", texts.get(name, ""), [str(delta.get(name) or "") for delta in deltas])

    def visit_images(self, stem: str, members: Json, _: str | None, /) -> None:
        """Expect images, numbered from 0."""
        number = 0
        while self.next_type == f"response.{stem}":
            # Recorded: before autumn 2025 partial images had no properties.
            sent = {name: value for name, value in members.items() if name in self._unread[-1][1]}
            event = self.expect_event(f"response.{stem}", {**sent, **self._stamp, "partial_image_index": number})
            if not isinstance(event.get("partial_image_b64"), str):
                raise self._error_at_last(
                    f"partial_image_b64 is {_show(event.get('partial_image_b64'))}, expected a str"
                )
            number += 1

    def _error_at_last(self, message: str) -> StreamError:
        return StreamError(self._last_place, message)

    def _read_deltas(self, stem: str, place: Json, form: type) -> Iterator[Json]:
        name = f"response.{stem}.delta"
        while self.next_type == name:
            event = self.expect_event(name, {**place, **self._stamp})
            if not isinstance(event.get("delta"), form):
                raise self._error_at_last(f"{name}: delta is {_show(event.get('delta'))}, expected a {form.__name__}")
            yield event

    def _check_sum(self, stem: str, text: str, deltas: Sequence[str]) -> None:
        joined = "".join(deltas)
        if joined != text and not (self._cut and stem == "reasoning_summary_text"):
            raise self.error_at_next(
                f"the deltas of response.{stem} add up to {_show(joined)}, but the item says {_show(text)}"
            )

    def _read_response(self, name: str, due: Json) -> Json:
        event = self.expect_event(name, {})
        response = self._require_object(event, "response")
        if not isinstance(response.get("id"), str):
            raise self._error_at_last(f"{name}: response.id is {_show(response.get('id'))}, expected a str")
        for member, value in due.items():
            if not _is_equivalent(actual := response.get(member), value):
                raise self._error_at_last(f"{name}: response.{member} is {_show(actual)}, expected {_show(value)}")
        return response

    def _require_object(self, event: Json, name: str) -> Json:
        value = event.get(name)
        if not isinstance(value, dict):
            place = next((index for index, waiting in self._unread if waiting is event), self._last_place)
            raise StreamError(place, f"{event['type']}: {name} is {_show(value)}, expected an object")
        return value

    def _find_done(self, index: int) -> Json | None:
        for _, event in reversed(self._unread):
            if event.get("type") == "response.output_item.done" and event.get("output_index") == index:
                return self._require_object(event, "item")
        return None

    def _read_abandoned(self, index: int) -> Json:
        opened = self._unread[-1][0]
        while self.next_type and self.next_type not in ("error", "response.failed"):
            self._unread.pop()
        final = next((event for _, event in self._unread if event.get("type") == "response.failed"), None)
        output = self._require_object(final, "response").get("output", []) if final else []
        if len(output) <= index:
            raise StreamError(opened, f"item {index} is never done: no response.output_item.done of that output_index")
        unfinished: Json = output[index]
        return unfinished


def _add_late_sources(output: list[Json], final: Any) -> list[Json]:
    """Return the output expected in the final event, in which a web search may have more sources at the end.

    Recorded: until autumn 2025 the sites that the text cites came last, with a query of their own.
    """
    if not isinstance(final, list) or len(final) != len(output):
        return output
    return [_add_sources_of(last, item) for item, last in zip(output, final, strict=True)]


def _add_sources_of(last: Any, item: Json) -> Json:
    if item.get("type") != "web_search_call" or not isinstance(last, dict):
        return item
    begun, sources = (as_object(call.get("action")).get("sources") for call in (item, last))
    # Only if the earlier sources come first is the later list the same one, grown.
    if not isinstance(begun, list) or not isinstance(sources, list) or sources[: len(begun)] != begun:
        return item
    return {**item, "action": {**item["action"], "sources": sources}}


def _is_type_only(action: Any) -> bool:
    return isinstance(action, dict) and list(action) in ([], ["type"])


def _is_equivalent(actual: Any, wanted: Any) -> bool:
    return bool(actual == wanted) or strip_volatile(actual) == strip_volatile(wanted)


def strip_volatile(value: Any) -> Any:
    """Return a value without what differs between events: encrypted content, and the digits of logprobs."""
    if isinstance(value, list):
        return [strip_volatile(part) for part in value]
    if not isinstance(value, dict):
        return value
    bare = {
        name: strip_volatile(member) for name, member in value.items() if name not in (*ENCRYPTED_MEMBERS, "logprob")
    }
    for name in ENCRYPTED_MEMBERS:
        if name in value:
            # Only the presence of encrypted content is compared; its bytes differ in every event.
            bare[name] = value[name] is None
    return bare
