"""How a recorded stream is read: each event is compared with the one that the item's kind says next.

The sentence that writes a kind's events (`harness.item`) also reads them: here its pen takes events instead of making
them, so there is one grammar for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import harness.items  # noqa: F401  (registers every kind)
from harness.errors import HarnessError, RegistrationError
from harness.exchange import Json
from harness.item import Kind, kind

TERMINAL = ("completed", "incomplete", "failed")
"""The states a response can have when its stream ends, each with an event of that name."""


class StreamError(HarnessError):
    """A list of events that is no stream of the API; `index` is the position of the first event that is wrong."""

    def __init__(self, index: int, message: str) -> None:
        super().__init__(f"event {index}: {message}")
        self.index = index


class Reader:
    """The pen that reads recorded events and compares each with the one that is due."""

    def __init__(self, events: Sequence[Json]) -> None:
        for index, event in enumerate(events):
            if not isinstance(event, dict) or not isinstance(event.get("type"), str):
                raise StreamError(index, f"{_brief(event)} is no event; it needs a 'type'")
            if event.get("sequence_number") != index:
                raise StreamError(index, f"sequence_number is {event.get('sequence_number')!r}, expected {index}")
        told = [(index, event) for index, event in enumerate(events) if event["type"] != "keepalive"]
        self._left: list[tuple[int, Json]] = [(len(events), {}), *reversed(told)]
        self._stamp: Json = {}
        self._cut = any(event["type"] == "response.incomplete" for event in events)

    @property
    def next(self) -> str:
        """The type of the event at hand, empty at the end."""
        return str(self._left[-1][1].get("type", ""))

    @property
    def _found(self) -> str:
        return f"found {self.next}" if self.next else "but the stream ends"

    def error(self, message: str) -> StreamError:
        """That the event at hand is wrong."""
        return StreamError(self._left[-1][0], message)

    def take(self, name: str, expected: Json) -> Json:
        """The event at hand, which must be of this type and have these members; then the next is at hand."""
        event = self._left[-1][1]
        if self.next != name:
            raise self.error(f"expected {name}, {self._found}")
        for member, value in expected.items():
            if not _same(event.get(member, value if member == "logprobs" else None), value):
                raise self.error(f"{name}: {member} is {_brief(event.get(member))}, expected {_brief(value)}")
        self._left.pop()
        return event

    def opening(self) -> Json:
        """The events before the first item; returns the response as it was created."""
        queued = [event.get("type") for _, event in self._left[-2:]] == ["response.queued", "response.created"]
        started = self._response("response.created", {"output": [], "status": "queued" if queued else "in_progress"})
        if queued:
            self._response("response.queued", {"id": started["id"], "output": [], "status": "queued"})
        self._response("response.in_progress", {"id": started["id"], "output": [], "status": "in_progress"})
        return started

    def closing(self, started: Json, output: list[Json]) -> Json:
        """The terminal event; returns its response with the output that was read."""
        told = self.take("error", {}).get("error") if self.next == "error" else None
        status = self.next.removeprefix("response.")
        if status not in TERMINAL:
            raise self.error(f"expected an item or the terminal event, {self._found}")
        due: Json = {"id": started["id"], "output": output, "status": status}
        if isinstance(told, dict):
            due["error"] = {name: told.get(name) for name in ("code", "message")}
        final = self._response(self.next, due)
        return {**final, "output": output}

    def item(self, index: int) -> Json:
        """The events of one item, which must tell what its `done` says.

        Recorded: when a response fails, its last item is left as it is, without `done`; it is taken as the terminal
        event shows it.
        """
        done = self._done(index)
        if done is None:
            return self._abandoned(index)
        declared = self._kind(done)
        self._stamp = {"item_id": done.get("id"), "output_index": index}
        try:
            self._announced(declared, done, index)
            for word in declared.words:
                word.tell(done, self, {})
        except (AttributeError, KeyError, TypeError) as error:
            raise self.error(f"the done {declared.type} is malformed ({error!r}): {_brief(done)}") from error
        self.take("response.output_item.done", {"item": done, "output_index": index})
        return done

    def _announced(self, declared: Kind, done: Json, index: int) -> None:
        item = declared.announced(done)
        added = self._left[-1][1].get("item")
        # Recorded: a message that comes in one piece is completed from the start.
        if isinstance(added, dict) and "status" in item and added.get("status") == done["status"]:
            item["status"] = done["status"]
        self.take("response.output_item.added", {"item": item, "output_index": index})

    def put(self, name: str, members: Json) -> None:
        """The event at hand is this one."""
        self.take(f"response.{name}", {**members, **self._stamp})

    def run(self, stem: str, place: Json, text: str) -> None:
        """The deltas at hand add up to this text."""
        self._add_up(stem, text, list(self._deltas(stem, place)))

    def cited(self, stem: str, place: Json, part: Json) -> None:
        """The deltas at hand add up to this text and its logprobs; all annotations stand between them, in order."""
        notes, noted, deltas = part["annotations"], f"{stem}.annotation.added", list(self._deltas(stem, place))
        for index, note in enumerate(notes):
            self.put(noted, {**place, "annotation": note, "annotation_index": index})
            deltas += self._deltas(stem, place)
        if self.next == f"response.{noted}":
            raise self.error(f"annotation {len(notes)} is not among the {len(notes)} of the done item")
        self._add_up(stem, part["text"], deltas)
        entries = [entry for event in deltas for entry in event.get("logprobs", ())]
        if entries and not _same({"logprobs": entries}, {"logprobs": part["logprobs"]}):
            raise self.error(
                f"the deltas' logprobs are {_brief(entries)}, but the item says {_brief(part['logprobs'])}"
            )

    def _deltas(self, stem: str, place: Json) -> Iterator[Json]:
        name = f"response.{stem}.delta"
        while self.next == name:
            event = self.take(name, {**place, **self._stamp})
            if not isinstance(event.get("delta"), str):
                raise StreamError(
                    event["sequence_number"], f"{name}: delta is {_brief(event.get('delta'))}, expected a str"
                )
            yield event

    def _add_up(self, stem: str, text: str, deltas: Sequence[Json]) -> None:
        told = "".join(event["delta"] for event in deltas)
        if told != text and not (self._cut and stem == "reasoning_summary_text"):
            raise self.error(
                f"the deltas of response.{stem} add up to {_brief(told)}, but the item says {_brief(text)}"
            )

    def _response(self, name: str, due: Json) -> Json:
        event = self.take(name, {})
        response = self._object(event, "response")
        if not isinstance(response.get("id"), str):
            raise StreamError(
                event["sequence_number"], f"{name}: response.id is {_brief(response.get('id'))}, expected a str"
            )
        for member, value in due.items():
            if not _same(found := response.get(member), value):
                raise StreamError(
                    event["sequence_number"], f"{name}: response.{member} is {_brief(found)}, expected {_brief(value)}"
                )
        return response

    def _object(self, event: Json, name: str) -> Json:
        value = event.get(name)
        if not isinstance(value, dict):
            raise StreamError(
                event["sequence_number"], f"{event['type']}: {name} is {_brief(value)}, expected an object"
            )
        return value

    def _done(self, index: int) -> Json | None:
        for _, event in reversed(self._left):
            if event.get("type") == "response.output_item.done" and event.get("output_index") == index:
                return self._object(event, "item")
        return None

    def _kind(self, item: Json) -> Kind:
        try:
            return kind(str(item.get("type")))
        except RegistrationError as error:
            raise self.error(str(error)) from error

    def _abandoned(self, index: int) -> Json:
        opened = self._left[-1][0]
        while self.next and self.next not in ("error", "response.failed"):
            self._left.pop()
        final = next((event for _, event in self._left if event.get("type") == "response.failed"), None)
        output = self._object(final, "response").get("output", []) if final else []
        if len(output) <= index:
            raise StreamError(opened, f"item {index} is never done: no response.output_item.done of that output_index")
        unfinished: Json = output[index]
        return unfinished


def _same(actual: Any, wanted: Any) -> bool:
    return bool(actual == wanted) or _plain(actual) == _plain(wanted)


def _plain(value: Any) -> Any:
    """A value without what differs from event to event: ciphertexts, and the digits of logprobs."""
    if isinstance(value, list):
        return [_plain(own) for own in value]
    if not isinstance(value, dict):
        return value
    plain = {name: _plain(own) for name, own in value.items() if name not in ("encrypted_content", "logprob")}
    if "encrypted_content" in value:
        plain["encrypted_content"] = value["encrypted_content"] is None
    return plain


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:120]} … {text[-37:]}"
