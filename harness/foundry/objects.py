"""A project's objects, written member by member from the tables in `members`.

Also the events of an agent that writes its own stream.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from harness.api.project_types import PROJECT_DEFAULTS
from harness.api.resources.files import MODEL_PURPOSES
from harness.core.dates import is_valid_on
from harness.core.exchange import Json
from harness.foundry.members import (
    CALL_ORDER,
    ITEM_HEAD,
    ITEM_LIST,
    MODEL_FILE,
    NULLS,
    OBJECT_VALUES,
    OBJECTS,
    OLD_ITEM_END,
    OLD_ITEM_HEAD,
    OWN_EVENT_ORDER,
    REWRITTEN,
    SHAPES,
    USAGE_WITHOUT,
    Member,
)

NESTED = ("content", "annotations", "container", "user_location", "format")
"""The members of an object that hold other typed objects."""
ITEM, FILE, STORE, STORED_FILE = "ConversationItem", "FileObject", "VectorStore", "VectorStoreFile"
COMPACTED = "CompactedResponse"
_ELEMENTS = {
    "ConversationItemList": ITEM,
    "ResponseItemList": ITEM,
    "FileList": FILE,
    "VectorStoreList": STORE,
    "VectorStoreFileList": STORED_FILE,
}
"""The element schema of each list schema."""


def show_members(value: Json, members: Sequence[Member], day: str) -> Json:
    """Show the members that an object has on a day, in order."""
    return {
        name: value[name]
        for name, shows_null in _names_on(tuple(members), day)
        if name in value and (shows_null or value[name] is not None)
    }


@lru_cache(maxsize=64)
def _names_on(members: tuple[Member, ...], day: str) -> tuple[tuple[str, bool], ...]:
    return tuple((member.name, member.shows_null) for member in members if is_valid_on(day, member.since, member.until))


def show_object(schema: str, value: Json, day: str, is_read: bool, render_item: Callable[[Json], Json]) -> Json:
    """Show an operation's answer of this schema as a project does; other objects stay unchanged.

    `is_read` says whether the operation only reads; `render_item` shows an item.
    """
    if schema == ITEM:
        return render_item(value)
    if element := _ELEMENTS.get(schema):
        shown = [render_item(inner) if element == ITEM else _show(element, inner, day) for inner in value["data"]]
        value = {**value, "data": shown}
        if element == ITEM and is_read:
            return show_members(value, ITEM_LIST, day)
    return _show(schema, value, day)


def _show(schema: str, value: Json, day: str) -> Json:
    if schema == FILE and value["purpose"] in MODEL_PURPOSES:
        return show_members(value, MODEL_FILE, day)
    if schema in (STORE, STORED_FILE) and value["status"] == "in_progress":
        value = {**value, "usage_bytes": 0}  # recorded 2026-03-09 and 2026-03-31
    if schema == COMPACTED:
        value = {**value, "usage": show_usage(value["usage"])}
    if value.get("attributes") == {}:
        value = {**value, "attributes": None}
    members = OBJECTS.get(schema)
    return show_members({**value, **OBJECT_VALUES.get(schema, {})}, members, day) if members else value


def show_usage(usage: Json) -> Json:
    """Show the usage of a response or a compaction, without the detail that a project does not count."""
    details = {name: count for name, count in usage["input_tokens_details"].items() if name != USAGE_WITHOUT}
    return {**usage, "input_tokens_details": details}


def show_item(item: Json, day: str) -> Json:
    """Show an item; the members that name its agent and response are optional."""
    shaped = shape(item if item["type"] in SHAPES else pick(item, CALL_ORDER) | item, day)
    if day < REWRITTEN:
        ends = (*OLD_ITEM_HEAD, *OLD_ITEM_END)
        middle = {name: value for name, value in shaped.items() if name not in ends}
        return pick(shaped, OLD_ITEM_HEAD) | middle | pick(shaped, OLD_ITEM_END)
    rest = {name: value for name, value in shaped.items() if name not in ITEM_HEAD}
    # Recorded: a `status` that the type does not place stands at the end.
    if "status" in rest and "status" not in SHAPES.get(str(item.get("type")), ()):
        rest["status"] = rest.pop("status")
    return pick(shaped, ITEM_HEAD) | rest


def shape(value: Any, day: str) -> Any:
    """Order an item, a part, a tool or a list of these by type; since 2026-02-13 without null members."""
    if isinstance(value, list):
        return [shape(element, day) for element in value]
    if not isinstance(value, dict):
        return value
    type = value.get("type")
    if not isinstance(type, str) or not (type in SHAPES or type in PROJECT_DEFAULTS):
        return value
    # Twice, so that defaults stand behind the members that are there, and do not replace them.
    full = {**value, **PROJECT_DEFAULTS.get(type, {}), **value}
    order = SHAPES.get(type, ())
    shown = pick(full, order) | {name: member for name, member in full.items() if name not in order}
    if day >= REWRITTEN:
        shown = {name: member for name, member in shown.items() if member is not None or name == NULLS.get(type)}
    return {name: shape(member, day) if name in NESTED else member for name, member in shown.items()}


def pick(value: Json, names: Sequence[str]) -> Json:
    """Return the named members of an object, in the order of the names."""
    return {name: value[name] for name in names if name in value}


_EXACT = 2**53
"""The limit up to which floats hold whole numbers exactly."""


def write_numbers(value: Any) -> Any:
    """Convert floats without a fraction to integers throughout a JSON value, as a project writes them."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= _EXACT else value
    if isinstance(value, dict):
        return {name: write_numbers(member) for name, member in value.items()}
    return [write_numbers(element) for element in value] if isinstance(value, list) else value


DELTA = ".delta"


def tell_whole(events: Sequence[Json]) -> list[Json]:
    """Rewrite events with each text in a single delta, numbered from 0."""
    told: list[Json] = []
    for event in events:
        before = told[-1] if told else {}
        if event["type"].endswith(DELTA) and _place_of(event) == _place_of(before):
            told[-1] = {**before, "delta": before["delta"] + event["delta"]}
        else:
            told.append(event)
    return [{**event, "sequence_number": number} for number, event in enumerate(told)]


def _place_of(event: Json) -> tuple[object, ...]:
    return tuple(event.get(name) for name in ("type", "output_index", "content_index", "summary_index"))


def order_own(event: Json) -> Json:
    """Order the members of an event as such a stream does, without `obfuscation`."""
    shown = {name: event[name] for name in OWN_EVENT_ORDER if name in event}
    shown |= {name: value for name, value in event.items() if name not in (*OWN_EVENT_ORDER, "logprobs", "obfuscation")}
    return shown | ({"logprobs": event["logprobs"]} if "logprobs" in event else {})
