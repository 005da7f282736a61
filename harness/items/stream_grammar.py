"""The words in which the stream of an item is told: each writes some of its events, and reads them in a recorded one.

A sentence of words stands beside each kind of item (`harness.items.kind`). A word is told to a pen: one pen writes the
events, the other compares recorded ones with them, so there is one grammar for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.core.errors import ScriptError
from harness.core.exchange import Json

TextOrDeltas = str | Sequence[str]
"""A text, or the exact deltas in which it is streamed."""

Deltas = Mapping[tuple[str, int], Sequence[str]]
"""The exact deltas of an item's texts, by the stem of their events and their index: `("output_text", 0)`."""

LEFT_OUT: Any = object()
"""The blank of a member that is not announced at all."""

FINAL_PHASES = ("completed", "failed")
"""The phases that say how an item ended; none of the others depends on that."""


class EventVisitor(Protocol):
    """What a sentence is told to; `place` holds the index members that events carry beside those of their item."""

    def visit_event(self, name: str, members: Json) -> None:
        """One event, `response.<name>`, with its own members."""
        ...

    def visit_optional_event(self, name: str, place: Json) -> None:
        """An event that may stand here: it is read, and not written."""
        ...

    def visit_text(self, stem: str, place: Json, text: str) -> None:
        """The `response.<stem>.delta` events of a text."""
        ...

    def visit_annotated_text(self, stem: str, place: Json, part: Json) -> None:
        """The same for an `output_text` part, with its annotations between the deltas."""
        ...

    def visit_object_deltas(self, stem: str, place: Json, texts: Mapping[str, str]) -> None:
        """The same for several texts at once, say `stdout` and `stderr`: each delta is an object with parts of them."""
        ...

    def visit_images(self, stem: str, members: Json, image: str | None, /) -> None:
        """The `response.<stem>` events of an image (base64) and of what was to be seen before it was finished."""
        ...


class StreamElement(Protocol):
    """A word of a sentence; `thing` is the item, or the part of it, that the word is about."""

    def render_added(self, thing: Json) -> Json:
        """`thing` before this word was told."""
        ...

    def extract_deltas(self, thing: Json, /) -> Deltas:
        """Join texts that were given as deltas, in place, and return the deltas; other than text is a ScriptError."""
        ...

    def emit_events(self, thing: Json, visitor: EventVisitor, place: Json) -> None:
        """The events."""
        ...


@dataclass(frozen=True, slots=True)
class StreamedText:
    """A text that grows: `<stem>.delta`s, then `<stem>.done` with the whole of `member`.

    One that is not `needed` may be missing or null, and then nothing is told of it.
    """

    member: str
    stem: str
    required: bool = True

    def render_added(self, thing: Json) -> Json:
        """The text is empty at first."""
        return replace_members(thing, {self.member: ""})

    def extract_deltas(self, thing: Json) -> Deltas:
        """One text, or a sequence of deltas."""
        text = thing.get(self.member)
        if isinstance(text, str) or (text is None and not self.required):
            return {}
        if not isinstance(text, Sequence) or not all(isinstance(delta, str) for delta in text):
            raise ScriptError(f"{self.member} is {text!r}. Give a str, or a list of str: the exact deltas to stream.")
        thing[self.member] = "".join(text)
        return {(self.stem, 0): tuple(text)}

    def emit_events(self, thing: Json, visitor: EventVisitor, place: Json) -> None:
        """The deltas, then the whole."""
        if not self.required and thing.get(self.member) is None:
            return
        visitor.visit_text(self.stem, place, thing[self.member])
        visitor.visit_event(f"{self.stem}.done", {**place, self.member: thing[self.member]})


class AnnotatedText(StreamedText):
    """A text that grows with `logprobs` and with annotations, each added after the text it covers."""

    def render_added(self, thing: Json) -> Json:
        """Neither text nor annotations nor logprobs at first."""
        return replace_members(thing, {"annotations": [], "logprobs": [], self.member: ""})

    def extract_deltas(self, thing: Json) -> Deltas:
        """One text, or a sequence of deltas; a part written by hand may leave the rest out."""
        own = {"annotations": [], "logprobs": [], **thing}
        thing.clear()
        thing.update({"type": own.pop("type"), **dict(sorted(own.items()))})
        return StreamedText.extract_deltas(self, thing)

    def emit_events(self, thing: Json, visitor: EventVisitor, place: Json) -> None:
        """The deltas and annotations, then the whole."""
        visitor.visit_annotated_text(self.stem, place, thing)
        visitor.visit_event(
            f"{self.stem}.done", {**place, "logprobs": thing.get("logprobs", []), self.member: thing[self.member]}
        )


@dataclass(frozen=True, slots=True)
class Parts:
    """A list of parts: for each `<stem>.added`, the word of its type, `<stem>.done`; the member `index` counts them."""

    member: str
    stem: str
    index: str
    elements: Mapping[str, StreamElement]

    def render_added(self, thing: Json) -> Json:
        """No parts at first."""
        return replace_members(thing, {self.member: []})

    def extract_deltas(self, thing: Json) -> Deltas:
        """The deltas of all parts; a type that cannot stand here is a ScriptError."""
        deltas: dict[tuple[str, int], Sequence[str]] = {}
        parts = thing.get(self.member, [])
        if not isinstance(parts, list):
            raise ScriptError(f"{self.member} is {parts!r}. Give a list of parts.")
        for number, part in enumerate(parts):
            if not isinstance(part, dict) or part.get("type") not in self.elements:
                raise ScriptError(
                    f"{self.member}[{number}] is {part!r}. Its type is one of: {', '.join(self.elements)}."
                )
            own = self.elements[part["type"]].extract_deltas(part)
            deltas |= {(stem, number): pieces for (stem, _), pieces in own.items()}
        return deltas

    def emit_events(self, thing: Json, visitor: EventVisitor, place: Json) -> None:
        """Each part, one after the other."""
        for number, part in enumerate(thing.get(self.member, ())):
            word, at = self.elements[part["type"]], {**place, self.index: number}
            visitor.visit_event(f"{self.stem}.added", {**at, "part": word.render_added(part)})
            word.emit_events(part, visitor, at)
            # Recorded: the finished part leaves its logprobs to output_text.done and output_item.done.
            visitor.visit_event(f"{self.stem}.done", {**at, "part": replace_members(part, {"logprobs": []})})


@dataclass(frozen=True, slots=True)
class Phase:
    """A step of the work: one event, `<type>.<name>`; `completed` and `failed` stand only where the item ended so.

    One that is not `told` is read where it stands, and never written.
    """

    name: str
    is_written: bool = True

    def render_added(self, thing: Json) -> Json:
        """Nothing of it shows in the item."""
        return thing

    def extract_deltas(self, _: Json, /) -> Deltas:
        """It has no text."""
        return {}

    def emit_events(self, thing: Json, visitor: EventVisitor, place: Json) -> None:
        """The event, unless the item ended otherwise."""
        ended = "failed" if thing.get("error") else thing.get("status", "completed")
        if self.name in FINAL_PHASES and ended != self.name:
            return
        write = visitor.visit_event if self.is_written else visitor.visit_optional_event
        write(f"{thing['type']}.{self.name}", place)


@dataclass(frozen=True, slots=True)
class FinalMember:
    """A member that is known only at the end and has no event: announced as `blank`, or left out; null stays null."""

    member: str
    initial: Any = LEFT_OUT

    def render_added(self, thing: Json) -> Json:
        """The blank in its place."""
        if self.initial is LEFT_OUT:
            return {name: value for name, value in thing.items() if name != self.member}
        return thing if thing.get(self.member) is None else {**thing, self.member: self.initial}

    def extract_deltas(self, _: Json, /) -> Deltas:
        """It has no text."""
        return {}

    def emit_events(self, thing: Json, visitor: EventVisitor, place: Json) -> None:
        """It has no event."""


@dataclass(frozen=True, slots=True)
class NestedObject:
    """Words about the object that is a member of the item: `Inside("action", (Later("command", []),))`."""

    member: str
    elements: tuple[StreamElement, ...]

    def render_added(self, thing: Json) -> Json:
        """The object as its words announce it."""
        inner = thing[self.member]
        for word in self.elements:
            inner = word.render_added(inner)
        return {**thing, self.member: inner}

    def extract_deltas(self, thing: Json) -> Deltas:
        """The deltas of its words; ScriptError when the member is no object."""
        inner = thing.get(self.member)
        if not isinstance(inner, dict):
            raise ScriptError(f"{self.member} is {inner!r}. Give an object.")
        deltas: dict[tuple[str, int], Sequence[str]] = {}
        for word in self.elements:
            deltas |= word.extract_deltas(inner)
        return deltas

    def emit_events(self, thing: Json, visitor: EventVisitor, place: Json) -> None:
        """The events of its words."""
        for word in self.elements:
            word.emit_events(thing[self.member], visitor, place)


def replace_members(thing: Json, blank: Json) -> Json:
    """`thing` with those of its members that `blank` has replaced, in the same order."""
    return {**thing, **{name: value for name, value in blank.items() if name in thing}}
