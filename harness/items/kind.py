"""Declares the types of items: one declaration each, from which the rest of the harness follows.

A kind that a model emits is declared by a function that returns the members of its items, and by the grammar of the
events that stream them (`harness.items.stream_elements`):

    @item("ctc", StreamedText("input", "custom_tool_call_input"), call_name="custom tool call")
    def custom_tool_call(name, input): ...

`harness.answers.item_writer` adds `output_item.added` and `.done` around these events and numbers all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypedDict, Unpack

import orjson

from harness.api.http.dialects import OPENAI
from harness.api.tokens import estimate_tokens
from harness.core.errors import RegistrationError, ScriptError
from harness.core.exchange import Json
from harness.core.ids import Ids
from harness.core.json_values import copy_json, omit
from harness.core.registry import Registry, suggest_name
from harness.core.text import show
from harness.items.examples import Examples
from harness.items.stream_elements import Deltas, StreamElement, replace_members

P = ParamSpec("P")

STATUSES_FROM_RESPONSE = ("completed", "incomplete")
"""Statuses that an item inherits from its response; any other status is the item's own."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the model without an id: the wire `type`, its members in wire order, exact deltas if any.

    With `off_schema` it is a call that the request's tools need not permit. In a stream its events end only after the
    next `holds` items of the turn.
    """

    type: str
    members: Json
    deltas: Deltas = field(default_factory=dict)
    off_schema: bool = False
    holds: int = 0
    _encoded: bytes = field(default=b"", init=False, repr=False, compare=False)
    _is_text: bool = field(default=False, init=False, repr=False, compare=False)
    _text_wire: Json | None = field(default=None, init=False, repr=False, compare=False)
    _text_tokens: int = field(default=-1, init=False, repr=False, compare=False)

    @property
    def is_text(self) -> bool:
        """Whether it is a message of text only, which is the same for every request and World."""
        return self._is_text if self._encoded else bool(self.encode_members() and self._is_text)

    def encode_members(self) -> bytes:
        """Encode the members as JSON, once for each item, as a script may play it many times."""
        if not self._encoded:
            object.__setattr__(self, "_is_text", self.type == "message" and _has_only_texts(self.members))
            object.__setattr__(self, "_encoded", orjson.dumps(_without_quotes(self)))
        return self._encoded

    def render_text(self) -> Json:
        """Render a text message without its id, once for all responses; the result must not be changed."""
        wire = self._text_wire
        if wire is None:
            wire = render_without_id(self)
            object.__setattr__(self, "_text_wire", wire)
        return wire

    @property
    def text_tokens(self) -> int:
        """The estimated tokens of a text message, counted once."""
        if self._text_tokens < 0:
            object.__setattr__(self, "_text_tokens", estimate_tokens([self.render_text()]))
        return self._text_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemType:
    """A type of item in a transcript.

    `call_name` is its name in the API's errors if it is a call that the client executes; `output_of` is the type of the
    call that it answers; both are empty for other items. `tool_types` are the types of the tools that make a model emit
    it. With `listed_status` a list of input items shows a `status` even if the client has omitted it. `examples` are
    inputs with such an item. `result_of` is the type of the API-executed call whose result it is. `dialects` are those
    that have such items; empty for all.
    """

    type: str
    doc: str
    call_name: str = ""
    output_of: str = ""
    tool_types: tuple[str, ...] = ()
    listed_status: bool = False
    examples: Examples = field(default_factory=dict)
    result_of: str = ""
    dialects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemKind(ItemType):
    """A type of item that a model emits: the prefix of its ids, the builder, the grammar of its events.

    `has_status` says whether such an item has a `status` on the wire, `has_item_id` whether its events have an
    `item_id`; `defaults` are members that an item written by hand may omit.
    """

    prefix: str
    grammar: tuple[StreamElement, ...]
    builder: Callable[..., Item]
    has_status: bool = True
    has_item_id: bool = True
    defaults: Json = field(default_factory=dict)

    def stamp(self, wire: Json, index: int) -> Json:
        """Return the members that identify the item in its events; `index` is its index in the output."""
        return {"item_id": wire.get("id"), "output_index": index} if self.has_item_id else {"output_index": index}

    def render_added(self, wire: Json) -> Json:
        """Render a finished item as in `output_item.added`."""
        wire = replace_members(wire, {"status": "in_progress"})
        for element in self.grammar:
            wire = element.render_added(wire)
        return wire


ITEMS: Registry[ItemKind] = Registry("item kind")
"""All kinds of items that a model emits, by their wire `type`."""

INPUT_ITEMS: Registry[ItemType] = Registry("input item")
"""All types that only a client sends, by their wire `type`."""

CLIENT_CALL_NAMES: dict[str, str] = {}
"""The calls that a client executes, with their names in the API's errors; filled when items are registered."""

CALL_OF_OUTPUT: dict[str, str] = {}
"""The items that answer a call, with the type of that call; filled when items are registered."""


class ItemFacts(TypedDict, total=False):
    """Optional declarations for any type of item; see `ItemType`."""

    call_name: str
    output_of: str
    tool_types: tuple[str, ...]
    examples: Examples
    result_of: str
    dialects: tuple[str, ...]


def item(
    prefix: str,
    *grammar: StreamElement,
    status: bool = True,
    listed_status: bool | None = None,
    has_item_id: bool = True,
    defaults: Json | None = None,
    example: list[Json] | None = None,
    **facts: Unpack[ItemFacts],
) -> Callable[[Callable[P, Json]], Callable[P, Item]]:
    """Register a function as the builder of the kind it is named after; it returns the members of an item.

    `example` is the only one of the `examples`, `listed_status` defaults to `status`. RegistrationError if it has no
    docstring or its kind is already registered.
    """

    def register(members: Callable[P, Json]) -> Callable[P, Item]:
        name, doc = members.__name__, (members.__doc__ or "").strip()
        if not doc:
            raise RegistrationError(f"@item {name} has no docstring. Say in one line what the item is.")
        if example:
            facts["examples"] = {name: example}

        @wraps(members)
        def builder(*args: P.args, **kwargs: P.kwargs) -> Item:
            with _prefix_errors(name):
                try:
                    own = members(*args, **kwargs)
                except TypeError as problem:
                    _check_arguments(members, args, kwargs)
                    raise ScriptError(f"{problem}. Its arguments: {inspect.signature(members)}.") from problem
                return _build_item(ITEMS[name], own)

        kind = ItemKind(
            type=name,
            doc=doc,
            prefix=prefix,
            grammar=grammar,
            builder=builder,
            has_status=status,
            has_item_id=has_item_id,
            defaults=defaults or {},
            listed_status=status if listed_status is None else listed_status,
            **facts,
        )
        _index_type(ITEMS.add(name, kind, members.__module__))
        return builder

    return register


def input_item(type: str, doc: str, *, status: bool = False, **facts: Unpack[ItemFacts]) -> None:
    """Register a type that only a client sends, without builder and events; RegistrationError if it is registered."""
    if type in ITEMS:
        raise RegistrationError(f"input item {type} is an item that a model emits")
    _index_type(INPUT_ITEMS.add(type, ItemType(type=type, doc=doc, listed_status=status, **facts)))


def _index_type(declared: ItemType) -> None:
    if declared.call_name:
        CLIENT_CALL_NAMES[declared.type] = declared.call_name
    if declared.output_of:
        CALL_OF_OUTPUT[declared.type] = declared.output_of


def item_types(dialect: str = OPENAI) -> dict[str, ItemType]:
    """Return all types of items in transcripts of a dialect, by name; those that a model emits come first."""
    return {
        name: declared
        for name, declared in {**ITEMS, **INPUT_ITEMS}.items()
        if not declared.dialects or dialect in declared.dialects
    }


def output_of_call(type: str) -> str:
    """Return the type of the item that answers a call of this type; empty for other items."""
    return next((output for output, call in CALL_OF_OUTPUT.items() if call == type), "")


def has_listed_status(type: str) -> bool:
    """Return whether a list of input items shows a `status` for this type even if the client has omitted it."""
    declared = ITEMS.get(type) or INPUT_ITEMS.get(type)
    return declared is not None and declared.listed_status


@lru_cache(maxsize=256)
def id_prefix(type: str, *, in_project: bool = False) -> str:
    """Return the prefix of an item's id: an output has its call's, a type that no model emits has `item`.

    Recorded: the prefix for a custom tool's output ends with an `o`, and in a project also that for a function's.
    """
    declared = ITEMS.get(CALL_OF_OUTPUT.get(type, type))
    if declared is None:
        return "item"
    is_own = type == "custom_tool_call_output" or (in_project and type in CALL_OF_OUTPUT)
    return f"{declared.prefix}o" if is_own else declared.prefix


def item_from_wire(wire: Json) -> Item:
    """Make an item from a recorded or hand-written one; a text in it may be a list of deltas.

    Its `id` is dropped, and so is a `status` that follows from the response; `failed` remains.
    """
    if not isinstance(wire, dict):
        raise ScriptError(f"{show(wire)} is not an item. Pass an object with a 'type'.")
    if str(wire.get("type")) not in ITEMS:
        is_part = wire.get("type") in ("output_text", "refusal")
        raise ScriptError(
            f"type is {show(wire.get('type'))}{', which is content of a message' if is_part else ''}. "
            f"An item's type is one of: {', '.join(sorted(ITEMS))}."
        )
    with _prefix_errors(wire["type"]):
        dropped = ("type", "id", "status") if wire.get("status") in STATUSES_FROM_RESPONSE else ("type", "id")
        return _build_item(ITEMS.find(wire["type"]), omit(wire, *dropped))


def render_item(item: Item, ids: Ids, response_id: str, now: int, status: str = "completed") -> Json:
    """Render an item as the API returns it: `id`, `type`, `status` if the kind has one, then the members by name.

    `now` is unix seconds. A `call_id`, `container_id`, `search_id` or `update_id` of None is generated; a tool search
    that the API executes has no `call_id`.
    """
    wire = render_without_id(item, status)
    wire["id"] = ids.item(ITEMS.find(item.type).prefix, response_id, now)
    if item.is_text:
        return wire
    for name, make in _MADE_IDS.items():
        if wire.get(name, "") is None and not (name == "call_id" and wire.get("execution") == "server"):
            wire[name] = make(ids)
    return wire


_MADE_IDS: Mapping[str, Callable[[Ids], str]] = {
    "call_id": Ids.call,
    "container_id": lambda ids: ids.hex("cntr_", 48),
    "search_id": lambda ids: ids.hex("", 32),
    "update_id": Ids.guid,
}
"""Members that get an id if null, with the functions that make these."""


def render_without_id(item: Item, status: str = "completed") -> Json:
    """Render an item as the API returns it, without its ids: `id` is empty, and a text message has no others."""
    wire: Json = {"id": "", "type": item.type}
    if ITEMS.find(item.type).has_status:
        wire["status"] = status
    wire.update(orjson.loads(item.encode_members()))
    return wire


_TEXT_MESSAGE = frozenset({"content", "phase", "role"})
"""The members of a message that is the same for every request."""
_TEXT_PARTS = ({"type": "output_text", "annotations": [], "logprobs": []}, {"type": "refusal"})
"""The parts of such a message without their text."""


def _has_only_texts(members: Json) -> bool:
    content = members.get("content")
    parts = [
        omit(part, "refusal", "text") if isinstance(part, dict) else part
        for part in (content if isinstance(content, list) else [None])
    ]
    return members.keys() <= _TEXT_MESSAGE and all(part in _TEXT_PARTS for part in parts)


def _without_quotes(item: Item) -> Json:
    """Return the members without the quotes of citations, which messages of a thread have and items do not."""
    content = item.members.get("content") if item.type == "message" else None
    if not isinstance(content, list):
        return item.members
    members: Json = copy_json(item.members)
    for part in members["content"]:
        for note in part.get("annotations") or ():
            note.pop("quote", None)
    return members


def require_text(member: str, value: Any) -> str:
    """Return the value of a required string member; ScriptError unless it is a non-empty str of valid Unicode."""
    if not isinstance(value, str) or not value:
        raise ScriptError(f"{member} is {show(value)}. Pass a non-empty string.")
    text: str = copy_json(value, f"{member}: ")
    return text


def _check_arguments(members: Callable[..., Json], args: Sequence[Any], kwargs: Json) -> None:
    """Raise ScriptError, with the nearest name, if a builder does not accept these arguments."""
    signature = inspect.signature(members)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as problem:
        known = list(signature.parameters)
        unknown = next((name for name in kwargs if name not in known), None)
        hint = suggest_name(unknown, known) if unknown else f"Its arguments: {', '.join(known)}."
        if unknown and "arguments" in known and hint.startswith("Known"):
            hint = f"Pass the arguments of the call as one dict: {{{unknown!r}: …}}."
        raise ScriptError(f"{problem}. {hint}") from problem


def _build_item(declared: ItemKind, members: Json) -> Item:
    wire = copy_json({**declared.defaults, **members})
    off_schema, holds = _take_off_schema(declared, wire), _take_holds(wire)
    deltas: dict[tuple[str, int], Sequence[str]] = {}
    for element in declared.grammar:
        deltas |= element.extract_deltas(wire)
    return Item(declared.type, dict(sorted(wire.items())), deltas, off_schema, holds)


def _take_holds(wire: Json) -> int:
    """Remove `holds`, which is not on the wire: how many items a script places inside this one."""
    said = wire.pop("holds", 0)
    if not isinstance(said, int) or isinstance(said, bool) or said < 0:
        raise ScriptError(f"holds is {show(said)}. Pass the number of items that follow inside this one.")
    return said


def _take_off_schema(declared: ItemKind, wire: Json) -> bool:
    """Remove `off_schema`, which is not on the wire; ScriptError unless the item is a call."""
    said = wire.pop("off_schema", False)
    if not isinstance(said, bool) or (said and not declared.tool_types):
        raise ScriptError(
            f"off_schema is {show(said)}. Use true or false, only for calls; for a text, end the turn with "
            "completed(off_schema=True)."
        )
    return said


@contextmanager
def _prefix_errors(name: str) -> Iterator[None]:
    try:
        yield
    except ScriptError as error:
        raise ScriptError(f"{name}: {error}") from error
