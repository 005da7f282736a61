"""What an item is: the thing a model emits, and how each kind is declared.

A kind is one function that returns the members of its items, and a sentence of words (`harness.items.stream_grammar`)
that says which events carry them:

    @item("ctc", Grow("input", "custom_tool_call_input"))
    def custom_tool_call(name, input): ...

`harness.answers.writer` frames the sentence with `output_item.added` and `.done` and stamps every event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec

import orjson

from harness.core.errors import RegistrationError, ScriptError
from harness.core.exchange import Json
from harness.core.ids import Ids
from harness.core.registry import Registry
from harness.items.stream_grammar import Deltas, StreamElement, replace_members

P = ParamSpec("P")

RESPONSE_GIVEN_STATUSES = ("completed", "incomplete")
"""How an item stands when its response ends; any other status is the item's own."""


@dataclass(frozen=True, slots=True)
class Item:
    """What a model emits, before it has an id: the wire `type`, its members in wire order, exact deltas if any."""

    type: str
    members: Json
    deltas: Deltas = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ItemKind:
    """A kind of item: its wire `type`, the prefix of its ids, its sentence, who builds it, what it is (`doc`).

    `status` says whether items of this kind carry one on the wire, `named` whether their events carry `item_id`; `fills`
    are the members that an item written by hand may leave out.
    """

    type: str
    prefix: str
    grammar: tuple[StreamElement, ...]
    builder: Callable[..., Item]
    doc: str
    has_status: bool = True
    has_item_id: bool = True
    defaults: Json = field(default_factory=dict)

    def stamp(self, thing: Json, index: int) -> Json:
        """The members by which the events of an item name it; `index` is its place in the output."""
        return {"item_id": thing.get("id"), "output_index": index} if self.has_item_id else {"output_index": index}

    def render_added(self, thing: Json) -> Json:
        """A finished item as `output_item.added` shows it."""
        thing = replace_members(thing, {"status": "in_progress"})
        for word in self.grammar:
            thing = word.render_added(thing)
        return thing


ITEMS: Registry[ItemKind] = Registry("item kind")
"""Every kind, by its wire `type`."""


def item(
    prefix: str, *words: StreamElement, status: bool = True, named: bool = True, fills: Json | None = None
) -> Callable[[Callable[P, Json]], Callable[P, Item]]:
    """Register a function as the builder of the kind it is named after; what it returns become the item's members.

    RegistrationError when it has no docstring or its kind is registered already.
    """

    def register(members: Callable[P, Json]) -> Callable[P, Item]:
        name, doc = members.__name__, (members.__doc__ or "").strip()
        if not doc:
            raise RegistrationError(f"@item {name} has no docstring. Say in one line what the item is.")

        @wraps(members)
        def builder(*args: P.args, **kwargs: P.kwargs) -> Item:
            with _prefix_errors(name):
                return _build_item(ITEMS[name], members(*args, **kwargs))

        ITEMS.add(name, ItemKind(name, prefix, words, builder, doc, status, named, fills or {}), members.__module__)
        return builder

    return register


def item_from_wire(wire: Json) -> Item:
    """A recorded or hand-written item as a turn; a text may be a list of deltas.

    Its `id` is dropped, and a `status` that the response gives it anyway; one of its own (`failed`) is kept.
    """
    if not isinstance(wire, dict):
        raise ScriptError(f"{wire!r} is no item. Give an object with a 'type'.")
    if str(wire.get("type")) not in ITEMS:
        raise ScriptError(f"type is {wire.get('type')!r}. An item's type is one of: {', '.join(sorted(ITEMS))}.")
    with _prefix_errors(wire["type"]):
        dropped = ("type", "id", "status") if wire.get("status") in RESPONSE_GIVEN_STATUSES else ("type", "id")
        return _build_item(ITEMS.find(wire["type"]), {name: wire[name] for name in wire if name not in dropped})


def render_item(item: Item, ids: Ids, response_id: str, now: int, status: str = "completed") -> Json:
    """The item as the API returns it: `id`, `type`, `status` if its kind has one, then its members by name.

    `now` is unix seconds. A `call_id` or `container_id` that is None is given out here; a search for tools that the API
    does itself has no `call_id`.
    """
    declared = ITEMS.find(item.type)
    wire: Json = {"id": ids.item(declared.prefix, response_id, now), "type": item.type}
    if declared.has_status:
        wire["status"] = status
    wire.update(_copy_json(item.members))
    if wire.get("call_id", "") is None and wire.get("execution") != "server":
        wire["call_id"] = ids.call()
    if wire.get("container_id", "") is None:
        wire["container_id"] = ids.hex("cntr_", 48)
    return wire


def require_text(member: str, value: Any) -> str:
    """`value`, the text of a member that no item can do without; anything but a text is a ScriptError."""
    if not isinstance(value, str) or not value:
        raise ScriptError(f"{member} is {value!r}. Give a text that is not empty.")
    return value


def _build_item(declared: ItemKind, members: Json) -> Item:
    own = _copy_json({**declared.defaults, **members})
    deltas: dict[tuple[str, int], Sequence[str]] = {}
    for word in declared.grammar:
        deltas |= word.extract_deltas(own)
    return Item(declared.type, dict(sorted(own.items())), deltas)


@contextmanager
def _prefix_errors(name: str) -> Iterator[None]:
    try:
        yield
    except ScriptError as error:
        raise ScriptError(f"{name}: {error}") from error
    except orjson.JSONEncodeError as error:
        raise ScriptError(f"{name}: {error}. Give plain JSON values; a str must be valid Unicode.") from error


def _copy_json(members: Json) -> Json:
    copy: Json = orjson.loads(orjson.dumps(members))
    return copy
