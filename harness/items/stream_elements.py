"""The grammar of an item's stream: elements, each of which describes some of its events.

Each kind of item declares its elements (`harness.items.kind`). They emit their events to a visitor: one visitor writes
the events, another compares recorded events with them, so that one grammar serves both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.json_values import omit
from harness.core.text import show

TextOrDeltas = str | Sequence[str]
"""A string, or the exact deltas of its stream."""

Deltas = Mapping[tuple[str, int], Sequence[str]]
"""The exact deltas of an item's texts, by the stem of their events and the index of the part: `("output_text", 0)`."""

LEFT_OUT: Any = object()
"""The initial value of a member that is absent in `output_item.added`."""

FINAL_PHASES = ("completed", "failed")
"""The phases that occur depending on how the item ended."""


class EventVisitor(Protocol):
    """Receives the events of the elements; `place` holds their index members besides those of the item."""

    def visit_event(self, name: str, members: Json) -> None:
        """Visit one event, `response.<name>`, with its own members."""

    def visit_optional_event(self, name: str, place: Json) -> None:
        """Visit an event that a recorded stream may have here but that is never written."""

    def visit_text(self, stem: str, place: Json, text: str) -> None:
        """Visit the `response.<stem>.delta` events of a text."""

    def visit_annotated_text(self, stem: str, place: Json, part: Json) -> None:
        """Visit the `delta` events of an `output_text` part, with its annotations between them."""

    def visit_object_deltas(self, stem: str, place: Json, texts: Mapping[str, str]) -> None:
        """Visit the `delta` events of several texts (`stdout` and `stderr`), each an object with pieces of them."""

    def visit_images(self, stem: str, members: Json, image: str | None, /) -> None:
        """Visit the `response.<stem>` events of an image (base64) and its partial images."""


class StreamElement:
    """An element of the grammar, by default without events; `value` is the item, or the part that it describes."""

    __slots__ = ()

    def render_added(self, value: Json) -> Json:
        """Return `value` as it is before the events of this element."""
        return value

    def extract_deltas(self, _: Json, /) -> Deltas:
        """Join texts given as lists of deltas, in place, and return the deltas; ScriptError unless they are strings."""
        return {}

    def emit_events(self, value: Json, visitor: EventVisitor, place: Json) -> None:
        """Emit the events to the visitor."""


@dataclass(frozen=True, slots=True)
class StreamedText(StreamElement):
    """A streamed text: `<stem>.delta` events, then `<stem>.done` with the complete `member`.

    Unless `required`, it may be absent or null and then has no events.
    """

    member: str
    stem: str
    required: bool = True

    def render_added(self, value: Json) -> Json:
        """Return the value with an empty text."""
        return replace_members(value, {self.member: ""})

    def extract_deltas(self, value: Json) -> Deltas:
        """Split a text into its deltas."""
        text = value.get(self.member)
        if isinstance(text, str) or (text is None and not self.required):
            return {}
        if not isinstance(text, Sequence) or not all(isinstance(delta, str) for delta in text):
            raise ScriptError(
                f"{self.member} is {show(text)}. Pass a str, or a list of str: the exact deltas to stream."
            )
        value[self.member] = "".join(text)
        return {(self.stem, 0): tuple(text)}

    def emit_events(self, value: Json, visitor: EventVisitor, place: Json) -> None:
        """Emit the deltas, then the complete text."""
        if not self.required and value.get(self.member) is None:
            return
        visitor.visit_text(self.stem, place, value[self.member])
        visitor.visit_event(f"{self.stem}.done", {**place, self.member: value[self.member]})


class AnnotatedText(StreamedText):
    """A streamed text with `logprobs` and with annotations, each added after the text that it covers."""

    def render_added(self, value: Json) -> Json:
        """Return the value without text, annotations and logprobs."""
        return replace_members(value, {"annotations": [], "logprobs": [], self.member: ""})

    def extract_deltas(self, value: Json) -> Deltas:
        """Split a text into its deltas; a part written by hand may omit the other members."""
        own = {"annotations": [], "logprobs": [], **value}
        value.clear()
        value.update({"type": own.pop("type"), **dict(sorted(own.items()))})
        return StreamedText.extract_deltas(self, value)

    def emit_events(self, value: Json, visitor: EventVisitor, place: Json) -> None:
        """Emit the deltas and annotations, then the complete text."""
        visitor.visit_annotated_text(self.stem, place, value)
        visitor.visit_event(
            f"{self.stem}.done", {**place, "logprobs": value.get("logprobs", []), self.member: value[self.member]}
        )


@dataclass(frozen=True, slots=True)
class StreamedList(StreamElement):
    """A list that is streamed element by element."""

    member: str

    def render_added(self, value: Json) -> Json:
        """Return the value with an empty list."""
        return replace_members(value, {self.member: []})


@dataclass(frozen=True, slots=True)
class Parts(StreamedList):
    """A list of parts: for each one `<stem>.added`, the element of its type, `<stem>.done`; `index` counts them."""

    stem: str
    index: str
    elements: Mapping[str, StreamElement]

    def extract_deltas(self, value: Json) -> Deltas:
        """Split all parts into their deltas; ScriptError for a part of another type."""
        deltas: dict[tuple[str, int], Sequence[str]] = {}
        parts = value.get(self.member, [])
        if not isinstance(parts, list):
            raise ScriptError(f"{self.member} is {show(parts)}. Pass a list of parts.")
        for number, part in enumerate(parts):
            if not isinstance(part, dict) or part.get("type") not in self.elements:
                raise ScriptError(
                    f"{self.member}[{number}] is {show(part)}. Its type is one of: {', '.join(self.elements)}."
                )
            own = self.elements[part["type"]].extract_deltas(part)
            deltas |= {(stem, number): pieces for (stem, _), pieces in own.items()}
        return deltas

    def emit_events(self, value: Json, visitor: EventVisitor, place: Json) -> None:
        """Emit the parts one after the other."""
        for number, part in enumerate(value.get(self.member, ())):
            element, at = self.elements[part["type"]], {**place, self.index: number}
            visitor.visit_event(f"{self.stem}.added", {**at, "part": element.render_added(part)})
            element.emit_events(part, visitor, at)
            # Recorded: the logprobs are in output_text.done and output_item.done, not in the finished part.
            visitor.visit_event(f"{self.stem}.done", {**at, "part": replace_members(part, {"logprobs": []})})


@dataclass(frozen=True, slots=True)
class Phase(StreamElement):
    """A phase of the item's work: one event, `<type>.<name>`; `completed` and `failed` depend on how the item ended.

    Unless `is_written`, it is only read in recorded streams.
    """

    name: str
    is_written: bool = True

    def emit_events(self, value: Json, visitor: EventVisitor, place: Json) -> None:
        """Emit the event, unless the item ended with another status."""
        ended = "failed" if value.get("error") else value.get("status", "completed")
        if self.name in FINAL_PHASES and ended != self.name:
            return
        write = visitor.visit_event if self.is_written else visitor.visit_optional_event
        write(f"{value['type']}.{self.name}", place)


@dataclass(frozen=True, slots=True)
class FinalMember(StreamElement):
    """A member known only at the end, without an event: at first it is `initial` or absent; null stays null."""

    member: str
    initial: Any = LEFT_OUT

    def render_added(self, value: Json) -> Json:
        """Return `value` with the initial value."""
        if self.initial is LEFT_OUT:
            return omit(value, self.member)
        return value if value.get(self.member) is None else {**value, self.member: self.initial}


@dataclass(frozen=True, slots=True)
class NestedObject(StreamElement):
    """Elements of the object in a member of the item: `NestedObject("action", (FinalMember("command", []),))`."""

    member: str
    elements: tuple[StreamElement, ...]

    def render_added(self, value: Json) -> Json:
        """Render the object as it is before the events of its elements."""
        inner = value[self.member]
        for element in self.elements:
            inner = element.render_added(inner)
        return {**value, self.member: inner}

    def extract_deltas(self, value: Json) -> Deltas:
        """Split the elements into their deltas; ScriptError unless the member is an object."""
        inner = value.get(self.member)
        if not isinstance(inner, dict):
            raise ScriptError(f"{self.member} is {show(inner)}. Pass an object.")
        deltas: dict[tuple[str, int], Sequence[str]] = {}
        for element in self.elements:
            deltas |= element.extract_deltas(inner)
        return deltas

    def emit_events(self, value: Json, visitor: EventVisitor, place: Json) -> None:
        """Emit the events of its elements."""
        for element in self.elements:
            element.emit_events(value[self.member], visitor, place)


def replace_members(value: Json, initial: Json) -> Json:
    """Return `value` with the values in `initial` for the members that both have, in the same order."""
    return {**value, **{name: member for name, member in initial.items() if name in value}}
