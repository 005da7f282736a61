"""What an item is: the thing a model emits, how each kind is declared, and the words its stream is told in.

A kind is one function that returns the members of its items, and a sentence of words that says which events carry them:

    @item("ctc", Grow("input", "custom_tool_call_input"))
    def custom_tool_call(name, input): ...

`harness.stream` frames the sentence with `output_item.added` and `.done` and stamps every event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import wraps
from typing import ParamSpec, Protocol

import orjson

from harness.errors import RegistrationError, ScriptError
from harness.exchange import Json
from harness.ids import Ids

P = ParamSpec("P")

Text = str | Sequence[str]
"""A text, or the exact deltas in which it is streamed."""

Deltas = Mapping[tuple[str, int], Sequence[str]]
"""The exact deltas of an item's texts, by the stem of their events and their index: `("output_text", 0)`."""


@dataclass(frozen=True, slots=True)
class Item:
    """What a model emits, before it has an id: the wire `type`, its members in wire order, exact deltas if any."""

    type: str
    members: Json
    deltas: Deltas = field(default_factory=dict)


class Pen(Protocol):
    """What a sentence is told to: one pen writes the events, another reads recorded ones and compares."""

    def put(self, name: str, members: Json) -> None:
        """One event, `response.<name>`, with its own members."""
        ...

    def run(self, stem: str, place: Json, text: str) -> None:
        """The `response.<stem>.delta` events of a text."""
        ...

    def cited(self, stem: str, place: Json, part: Json) -> None:
        """The same for an `output_text` part, with its annotations between the deltas."""
        ...


class Word(Protocol):
    """A word of a sentence; `thing` is the item, or the part of it, that the word is about."""

    def announce(self, thing: Json) -> Json:
        """`thing` before this word was told."""
        ...

    def settle(self, thing: Json) -> Deltas:
        """Join texts that were given as deltas, in place, and return the deltas; other than text is a ScriptError."""
        ...

    def tell(self, thing: Json, pen: Pen, place: Json) -> None:
        """The events; `place` holds the index members that all of them carry."""
        ...


@dataclass(frozen=True, slots=True)
class Grow:
    """A text that grows: `<stem>.delta`s, then `<stem>.done` with the whole of `member`."""

    member: str
    stem: str

    def announce(self, thing: Json) -> Json:
        """The text is empty at first."""
        return blanked(thing, {self.member: ""})

    def settle(self, thing: Json) -> Deltas:
        """One text, or a sequence of deltas."""
        text = thing.get(self.member)
        if isinstance(text, str):
            return {}
        if not isinstance(text, Sequence) or not all(isinstance(delta, str) for delta in text):
            raise ScriptError(f"{self.member} is {text!r}. Give a str, or a list of str: the exact deltas to stream.")
        thing[self.member] = "".join(text)
        return {(self.stem, 0): tuple(text)}

    def tell(self, thing: Json, pen: Pen, place: Json) -> None:
        """The deltas, then the whole."""
        pen.run(self.stem, place, thing[self.member])
        pen.put(f"{self.stem}.done", {**place, self.member: thing[self.member]})


class Notes(Grow):
    """A text that grows with `logprobs` and with annotations, each added after the text it covers."""

    def announce(self, thing: Json) -> Json:
        """Neither text nor annotations nor logprobs at first."""
        return blanked(thing, {"annotations": [], "logprobs": [], self.member: ""})

    def settle(self, thing: Json) -> Deltas:
        """One text, or a sequence of deltas; a part written by hand may leave the rest out."""
        own = {"annotations": [], "logprobs": [], **thing}
        thing.clear()
        thing.update({"type": own.pop("type"), **dict(sorted(own.items()))})
        return Grow.settle(self, thing)

    def tell(self, thing: Json, pen: Pen, place: Json) -> None:
        """The deltas and annotations, then the whole."""
        pen.cited(self.stem, place, thing)
        pen.put(f"{self.stem}.done", {**place, "logprobs": thing.get("logprobs", []), self.member: thing[self.member]})


@dataclass(frozen=True, slots=True)
class Parts:
    """A list of parts: for each `<stem>.added`, the word of its type, `<stem>.done`; the member `index` counts them."""

    member: str
    stem: str
    index: str
    words: Mapping[str, Word]

    def announce(self, thing: Json) -> Json:
        """No parts at first."""
        return blanked(thing, {self.member: []})

    def settle(self, thing: Json) -> Deltas:
        """The deltas of all parts; a type that cannot stand here is a ScriptError."""
        deltas: dict[tuple[str, int], Sequence[str]] = {}
        parts = thing.get(self.member, [])
        if not isinstance(parts, list):
            raise ScriptError(f"{self.member} is {parts!r}. Give a list of parts.")
        for number, part in enumerate(parts):
            if not isinstance(part, dict) or part.get("type") not in self.words:
                raise ScriptError(f"{self.member}[{number}] is {part!r}. Its type is one of: {', '.join(self.words)}.")
            own = self.words[part["type"]].settle(part)
            deltas |= {(stem, number): pieces for (stem, _), pieces in own.items()}
        return deltas

    def tell(self, thing: Json, pen: Pen, place: Json) -> None:
        """Each part, one after the other."""
        for number, part in enumerate(thing.get(self.member, ())):
            word, at = self.words[part["type"]], {**place, self.index: number}
            pen.put(f"{self.stem}.added", {**at, "part": word.announce(part)})
            word.tell(part, pen, at)
            # Recorded: the finished part leaves its logprobs to output_text.done and output_item.done.
            pen.put(f"{self.stem}.done", {**at, "part": blanked(part, {"logprobs": []})})


def blanked(thing: Json, blank: Json) -> Json:
    """`thing` with those of its members that `blank` has replaced, in the same order."""
    return {**thing, **{name: value for name, value in blank.items() if name in thing}}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of item: its wire `type`, the prefix of its ids, its sentence, who builds it, what it is (`doc`).

    `status` says whether items of this kind carry one on the wire; `fills` are the members that an item written by hand
    may leave out.
    """

    type: str
    prefix: str
    words: tuple[Word, ...]
    builder: Callable[..., Item]
    doc: str
    status: bool = True
    fills: Json = field(default_factory=dict)

    def announced(self, thing: Json) -> Json:
        """A finished item as `output_item.added` shows it."""
        thing = blanked(thing, {"status": "in_progress"})
        for word in self.words:
            thing = word.announce(thing)
        return thing


ITEMS: dict[str, Kind] = {}
"""Every kind, by its wire `type`."""


def item(
    prefix: str, *words: Word, status: bool = True, fills: Json | None = None
) -> Callable[[Callable[P, Json]], Callable[P, Item]]:
    """Register a function as the builder of the kind it is named after; what it returns become the item's members.

    RegistrationError when it has no docstring or its kind is registered already.
    """

    def register(members: Callable[P, Json]) -> Callable[P, Item]:
        name, doc = members.__name__, (members.__doc__ or "").strip()
        if not doc:
            raise RegistrationError(f"@item {name} has no docstring. Say in one line what the item is.")
        if name in ITEMS:
            raise RegistrationError(f"@item {name} is registered twice. Rename one, or remove it from ITEMS first.")

        @wraps(members)
        def builder(*args: P.args, **kwargs: P.kwargs) -> Item:
            with _blaming(name):
                return _settled(ITEMS[name], members(*args, **kwargs))

        ITEMS[name] = Kind(name, prefix, words, builder, doc, status, fills or {})
        return builder

    return register


def kind(name: str) -> Kind:
    """The kind of that wire `type`; an unknown one is a RegistrationError that names the nearest."""
    if name not in ITEMS:
        near = get_close_matches(str(name), ITEMS, 1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(sorted(ITEMS))}."
        raise RegistrationError(f"No item kind {name!r}. {hint}")
    return ITEMS[name]


def from_wire(wire: Json) -> Item:
    """A recorded or hand-written item as a turn; its `id` and `status` are dropped, a text may be a list of deltas."""
    if not isinstance(wire, dict):
        raise ScriptError(f"{wire!r} is no item. Give an object with a 'type'.")
    if str(wire.get("type")) not in ITEMS:
        raise ScriptError(f"type is {wire.get('type')!r}. An item's type is one of: {', '.join(sorted(ITEMS))}.")
    with _blaming(wire["type"]):
        return _settled(kind(wire["type"]), {name: wire[name] for name in wire if name not in ("type", "id", "status")})


def finish(item: Item, ids: Ids, response_id: str, now: int, status: str = "completed") -> Json:
    """The item as the API returns it: `id`, `type`, `status` if its kind has one, then its members by name.

    `now` is unix seconds. A `call_id` that is None is given out here.
    """
    declared = kind(item.type)
    wire: Json = {"id": ids.item(declared.prefix, response_id, now), "type": item.type}
    if declared.status:
        wire["status"] = status
    wire.update(_copy(item.members))
    if wire.get("call_id", "") is None:
        wire["call_id"] = ids.call()
    return wire


def _settled(declared: Kind, members: Json) -> Item:
    own = _copy({**declared.fills, **members})
    deltas: dict[tuple[str, int], Sequence[str]] = {}
    for word in declared.words:
        deltas |= word.settle(own)
    return Item(declared.type, dict(sorted(own.items())), deltas)


@contextmanager
def _blaming(name: str) -> Iterator[None]:
    try:
        yield
    except ScriptError as error:
        raise ScriptError(f"{name}: {error}") from error
    except orjson.JSONEncodeError as error:
        raise ScriptError(f"{name}: {error}. Give plain JSON values; a str must be valid Unicode.") from error


def _copy(members: Json) -> Json:
    copy: Json = orjson.loads(orjson.dumps(members))
    return copy
