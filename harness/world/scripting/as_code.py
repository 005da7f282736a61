"""Writes turns as a user would: the lines of an answer, and their code in Python.

    function_call("get_weather", {"city": "Paris"}, call_id="call_1")

Lines are those of a script file (`harness.world.scripting.document`): a builder with its arguments, or a wire object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.json_values import as_object
from harness.ending import ENDINGS, RESPONSE_LINES
from harness.faults import FAULTS
from harness.items.calls import encode_arguments
from harness.items.kind import ITEMS
from harness.world.scripting.lines import NULL_ON_WIRE

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
