"""Parses a line of a turn from plain data or an SDK object: a wire object, a builder's arguments, a whole response.

    {"type": "message", …}, {"message": "Hello."}, {"object": "response", "output": […], "status": "incomplete", …}

An object with `model_dump`, such as those of `openai` and pydantic, stands for the JSON that it dumps.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from harness.answers.response import check_item
from harness.core.advice_wording import render_json
from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.json_values import as_object, dump_set, is_model, omit
from harness.ending import ENDINGS, RESPONSE_LINES, TurnLine, empty, failed, incomplete, line_from_wire
from harness.faults import FAULTS, NON_ITEM_LINES
from harness.items import message
from harness.items.agents import by_agent, created_by
from harness.items.calls import encode_arguments
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
    made = _build_named(name, omit(value, *_OF_ANY_ITEM))
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
    named = as_object(value)
    if not takes_any:
        check_members(named, f"{name} argument", known)
    if not all(isinstance(argument, str) for argument in named):
        raise InvalidData(f"{render_json(value)} has keys that are not strings.")
    alone = () if value is None or isinstance(value, dict) else (value,)
    try:
        bound = signature.bind(*alone, **named)
    except TypeError as problem:
        raise InvalidData(f"{name}: {problem}. Its arguments: {', '.join(known) or 'none'}.") from problem
    return builder(*bound.args, **bound.kwargs)


Lines = Sequence[Json | str]
"""The lines of a turn."""
_OWN_MEMBERS = ("id", "status", "approval_request_id")
"""Members that the mock itself sets on an item."""
_WIDTH = 100
"""The maximum length of a line of Python before it is broken."""
_POSITIONAL = {
    "function_call": ("name", "arguments"),
    "http_error": ("status", "message"),
    "failed": ("code", "message"),
}
"""Arguments that are passed by position."""
_WRAPPERS = frozenset({"cut", "delay", "end_stream", "pace", "pause", "response", "stream_error", "usage"})
"""Faults and response members that are functions wrapping a turn."""


class Code(str):
    """Python code that stands for a value: it is written as it is, without quotes."""

    __slots__ = ()


def lines_of(response: Json) -> list[Json | str]:
    """Return the lines of a turn: the output of a response, and how it ended."""
    lines = [line_of(item) for item in response.get("output") or []]
    if response.get("status") == "incomplete":
        reason = as_object(response.get("incomplete_details")).get("reason", "max_output_tokens")
        return [*lines, {"incomplete": reason}]
    if response.get("status") == "failed":
        error = as_object(response.get("error"))
        return [*lines, {"failed": {"code": error.get("code", "server_error"), "message": error.get("message", "")}}]
    return lines or ([{"empty": {}}] if response.get("status") == "completed" else [])


def line_of(item: Any) -> Json | str:
    """Convert an item to a line: the name and arguments of its builder if they suffice, else its wire form."""
    wire = _drop_nulls(item)
    match wire:
        case {"type": "message", "content": [{"type": "output_text", "text": str(text), **rest}], **others} if not any(
            rest.values()
        ) and not others.keys() - {"role"}:
            return {"message": text}
        case {"type": "function_call", "name": str(name), "arguments": str(arguments), **others} if (
            not others.keys() - {"call_id"}
        ):
            return {"function_call": {"name": name, "arguments": shortest_arguments(arguments), **others}}
        case {"type": "reasoning", "summary": [{"type": "summary_text", "text": str(text)}], **others} if not any(
            others.values()
        ):
            return {"reasoning": text}
    return wire


def _drop_nulls(item: Any) -> Json:
    """Drop members that the mock itself sets, and null members except those that the API sends."""
    if not isinstance(item, dict):
        raise ScriptError(f"{item!r} is not an item.")
    kept = ("call_id", *NULL_ON_WIRE)
    return {
        name: value
        for name, value in item.items()
        if (value is not None or name in kept) and (name not in _OWN_MEMBERS or (name, value) == ("status", "failed"))
    }


def shortest_arguments(text: str) -> Any:
    """Parse arguments if the mock encodes them in exactly the same way; otherwise return the string."""
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return parsed if isinstance(parsed, dict) and encode_arguments(parsed) == text else text


def python_imports(turns: Sequence[Lines]) -> Iterator[str]:
    """Yield the imports of the builders that the turns use."""
    names = sorted({name for turn in turns for line in turn for name in _builder_of(line)})
    modules = {
        "harness.ending": {*ENDINGS, *RESPONSE_LINES},
        "harness.faults": FAULTS.keys() - {*ENDINGS, *RESPONSE_LINES},
        "harness.items": ITEMS.keys(),
    }
    for module, builders in modules.items():
        if used := [name for name in names if name in builders]:
            yield f"from {module} import {', '.join(used)}"


def python_turn(lines: Lines) -> str:
    """Write a turn: its lines, wrapped in the faults of its delivery."""
    faults = [line for line in lines if isinstance(line, dict) and _WRAPPERS.intersection(_builder_of(line))]
    parts = [_python_line(line) for line in lines if line not in faults]
    text = parts[0] if len(parts) == 1 else _bracket("[", parts, "]")
    for fault in faults:
        ((name, arguments),) = fault.items()
        text = python_call(name, [text, *_keywords(arguments)])
    return text


def _python_line(line: Json | str) -> str:
    """Write an item, an ending or an error as a call of its builder, or as a dict."""
    if not isinstance(line, dict) or not _builder_of(line):
        return python_value(line)
    ((name, arguments),) = line.items()
    if not isinstance(arguments, dict):
        return python_call(name, [python_value(arguments)])
    positional = _POSITIONAL.get(name, ())
    first = [python_value(arguments[member]) for member in positional if member in arguments]
    rest = {member: value for member, value in arguments.items() if member not in positional}
    return python_call(name, [*first, *_keywords(rest)])


def _builder_of(line: Json | str) -> list[str]:
    return [name for name in line if len(line) == 1] if isinstance(line, dict) and "type" not in line else []


def _keywords(arguments: Mapping[str, Any]) -> list[str]:
    return [f"{name}={python_value(value)}" for name, value in arguments.items()]


def python_call(name: str, arguments: Sequence[str], is_broken: bool = False) -> str:
    """Write a call, with a line for each argument if one line is too short for all, or if `is_broken`."""
    return _bracket(f"{name}(", arguments, ")", is_broken)


def python_value(value: Any) -> str:
    """Write a JSON value, or bytes, as Python code."""
    if isinstance(value, Code):
        return str(value)
    if isinstance(value, dict):
        return _bracket("{", [f"{python_value(name)}: {python_value(member)}" for name, member in value.items()], "}")
    if isinstance(value, list):
        return _bracket("[", [python_value(element) for element in value], "]")
    return _quote(value) if isinstance(value, str) else repr(value)


def _bracket(opening: str, parts: Sequence[str], closing: str, is_broken: bool = False) -> str:
    """Write parts in brackets: on a single line if they fit, else each on a line of its own."""
    line = f"{opening}{', '.join(parts)}{closing}"
    if (len(line) <= _WIDTH and "\n" not in line and not is_broken) or not parts:
        return line
    if len(parts) == 1 and "\n" in parts[0]:
        return line
    return "\n".join([opening, *(f"{indent(part)}," for part in parts), closing])


def _quote(text: str) -> str:
    """Quote a string with double quotes, unless that needs more escapes."""
    quoted = repr(text)
    return quoted if '"' in text else f'"{quoted[1:-1]}"'


def indent(text: str) -> str:
    """Indent every line of code."""
    # Strings are quoted in one line, so no line is part of a string.
    return "\n".join(f"    {line}" for line in text.split("\n"))
