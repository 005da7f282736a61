"""Parses a line of a turn from plain data or an SDK object: a wire object, a builder's arguments, a whole response.

    {"type": "message", …}, {"message": "Hello."}, {"object": "response", "output": […], "status": "incomplete", …}

An object with `model_dump`, such as those of `openai` and pydantic, stands for the JSON that it dumps.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from harness.answers.response import check_item
from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.json_values import dump_set, is_model
from harness.core.vocabulary import render_json
from harness.ending import TurnLine, empty, failed, incomplete, line_from_wire
from harness.faults import NON_ITEM_LINES
from harness.items import message
from harness.items.agents import by_agent, created_by
from harness.items.kind import ITEMS, Item
from harness.world.scripting.validation import TEXT, InvalidData, check_json, check_list, check_members, errors_at

_OF_RESPONSE = {"output", "status"}
"""The members that distinguish a whole response from an item, which has a `type`."""
ADDED_BY_SDK = ("parsed", "parsed_arguments", "output_text")
"""Members that are never on the wire: values that an SDK has parsed, and text that it has joined."""

NULL_ON_WIRE = ("max_output_length", "timeout_ms")
"""Members that the API sends as null, though its schema does not require them."""


def is_plain_line(value: Any) -> bool:
    """Return whether `parse_lines` reads this value: a JSON object or an object of an SDK."""
    return isinstance(value, dict) or is_model(value)


def parse_lines(value: Any) -> list[TurnLine]:
    """Parse a string or plain data into lines: a whole response as its output and ending, anything else as one line."""
    plain = dump_set(value) if is_model(value) else value
    if isinstance(plain, dict) and (
        plain.get("object") == "response" or ("type" not in plain and plain.keys() >= _OF_RESPONSE)
    ):
        return _parse_response(plain)
    return [_parse_line(plain)]


def _parse_response(response: Json) -> list[TurnLine]:
    check_json(response)
    status, lines = response.get("status"), []
    with errors_at("output"):
        for index, item in enumerate(check_list(output, "output") if (output := response.get("output")) else ()):
            with errors_at(index):
                lines.append(_parse_line(item))
    if status == "incomplete":
        lines.append(_parse_ending(incomplete, response, "incomplete_details", ("reason",)))
    elif status == "failed":
        lines.append(_parse_ending(failed, response, "error", ("code", "message")))
    elif status != "completed":
        with errors_at("status"):
            known = "completed, incomplete, failed"
            raise InvalidData(f"status is {render_json(status)}. A turn is a response that has ended: {known}.")
    elif output == []:
        lines.append(empty())
    return lines


def _parse_ending(ending: Callable[..., TurnLine], response: Json, member: str, names: Sequence[str]) -> TurnLine:
    details = response.get(member)
    with errors_at(member):
        if not isinstance(details, dict):
            raise InvalidData(f"{member} is {render_json(details)}. Pass an object with {' and '.join(names)}.")
        return ending(**{name: details[name] for name in names if details.get(name) is not None})


def _parse_wire(wire: Json) -> TurnLine:
    """Parse a wire object without what an SDK has added: parsed values, and members that were not set."""
    wire = _drop_members(wire, lambda name, value: name in ADDED_BY_SDK)
    # An SDK's object has a null for each member that nobody set.
    bare = _drop_members(wire, lambda name, value: value is None and name not in NULL_ON_WIRE)
    # An SDK's dump has null for unset members: keep nulls only if the item is invalid without them.
    if bare != wire and wire["type"] in ITEMS:
        try:
            made = line_from_wire(bare)
        except ScriptError:
            return line_from_wire(wire)
        if isinstance(made, Item) and check_item(made) is None:
            return made
    return line_from_wire(wire, NON_ITEM_LINES)


def _drop_members(wire: Json, is_dropped: Callable[[str, Any], bool]) -> Json:
    """Copy an item without some of its members, in its parts as well."""
    kept = {name: value for name, value in wire.items() if not is_dropped(name, value)}
    return {name: _drop_inside(value, is_dropped) if name in _PARTS else value for name, value in kept.items()}


_OF_ANY_ITEM = ("agent", "created_by")
"""The arguments that every builder of an item takes."""
_PARTS = ("action", "annotations", "content", "outputs", "summary")
"""The members of an item that hold objects of the API rather than of the user."""


def _drop_inside(value: Any, is_dropped: Callable[[str, Any], bool]) -> Any:
    if isinstance(value, list):
        return [_drop_inside(part, is_dropped) for part in value]
    return _drop_members(value, is_dropped) if isinstance(value, dict) else value


def line_builders() -> dict[str, Callable[..., TurnLine]]:
    """Return the builders of all lines by name."""
    return {**{name: kind.builder for name, kind in ITEMS.items()}, **NON_ITEM_LINES}


def _parse_line(value: Any) -> TurnLine:
    if isinstance(value, str):
        return _parse_text(value)
    if not isinstance(value, dict) or ("type" not in value and len(value) != 1):
        form = 'An item is one name with its arguments, `message: {text: …}`, or `{"type": "message", …}`.'
        raise InvalidData(f"{render_json(value)} is not an item. {form}")
    check_json(value)
    if "type" in value:
        TEXT.check("type", value["type"])
        return _parse_wire(value)
    ((name, arguments),) = check_members(value, "item", line_builders()).items()
    with errors_at(name):
        return _build_line(name, arguments)


def _parse_text(text: str) -> TurnLine:
    """Make a message of a string; InvalidData for the bare name of a builder, which was not meant as text."""
    check_json(text)
    if text in line_builders():
        raise InvalidData(
            f"{render_json(text)} is the name of a kind of turn. Write `{text}:` with its arguments, or `message: {text}`."
        )
    return message(text)


def _build_line(name: str, value: Any) -> TurnLine:
    if name not in ITEMS or not isinstance(value, dict) or name == "agent_message":
        return _build_named(name, value)
    made = _build_named(name, {member: argument for member, argument in value.items() if member not in _OF_ANY_ITEM})
    assert isinstance(made, Item)  # the builder is one of an item
    if "agent" in value:
        made = by_agent(TEXT.check("agent", value["agent"]), made)
    return created_by(value["created_by"], made) if "created_by" in value else made


def _build_named(name: str, value: Any) -> TurnLine:
    builder = line_builders()[name]
    # The signature is the one list of arguments; YAML and JSON name the same as Python.
    signature = inspect.signature(builder)
    known = [
        parameter.name for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_POSITIONAL
    ]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values())
    named = value if isinstance(value, dict) else {}
    if not takes_any:
        check_members(named, f"{name} argument", known)
    if not all(isinstance(argument, str) for argument in named):
        raise InvalidData(f"{render_json(value)} has keys that are not strings.")
    alone = () if value is None or isinstance(value, dict) else (value,)
    try:
        bound = signature.bind(*alone, **named)
    except TypeError as problem:
        raise InvalidData(f"{name}: {problem}. Its arguments: {', '.join(known)}.") from problem
    return builder(*bound.args, **bound.kwargs)
