"""The answers of an unscripted model: small talk, the shortest JSON a schema allows, or a tool call.

after a tool's output                    a text, so that agent loops end
tool_choice requires or names a tool     a call of it with the least arguments
the user speaks of what a tool is for    a call as well: of `get_weather` for "What is the weather?" (`tool_picker`)
text.format requires JSON                a text that is the least instance
else                                     a text
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import jsonschema_rs

from harness.core.errors import ScriptError
from harness.core.exchange import Json, Request
from harness.items import custom_tool_call, function_call, message
from harness.items.kind import Item
from harness.items.transcript import input_items
from harness.server.tool_picker import pick_tool

GREETING = "Hello. Nothing is scripted, so this is small talk."
THANKS = "Thanks, I have what the tool returned."
CUSTOM_TOOL_INPUT = "ok"
"""What a custom tool is called with."""

FORMAT_EXAMPLES: Mapping[str, str] = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "time": "00:00:00Z",
    "duration": "P1D",
    "email": "a@example.com",
    "hostname": "example.com",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "uri": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
"""A text for each format that structured outputs know."""

SCALAR_TYPES = ("string", "number", "integer", "boolean", "null")
_SCALAR_KEYWORDS = frozenset(
    [
        "type",
        "const",
        "enum",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    ]
)


class _EndlessError(Exception):
    """A schema whose instance would contain itself; another branch may still end."""


def small_talk(request: Request) -> list[Item]:
    """The items that answer a request when nothing is scripted; ScriptError when no instance of a schema is found."""
    body: Json = request.body if isinstance(request.body, dict) else {}
    last = next(reversed(input_items(body)), {})
    if str(last.get("type")).endswith("_output"):
        return [message(_message_text(body, THANKS))]
    if tool := pick_tool(body):
        return [_call_tool(tool)]
    return [message(_message_text(body, GREETING))]


def _call_tool(tool: Json) -> Item:
    if tool["type"] == "custom":
        return custom_tool_call(tool["name"], CUSTOM_TOOL_INPUT)
    return function_call(
        tool["name"], least_instance(tool.get("parameters") or {"type": "object"}, f"tool {tool['name']!r}")
    )


def _message_text(body: Json, default: str) -> str:
    wanted = (body.get("text") or {}).get("format") or {}
    if wanted.get("type") == "json_schema":
        return _compact_json(least_instance(wanted.get("schema") or {}, "text.format"))
    return "{}" if wanted.get("type") == "json_object" else default


def _compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def least_instance(schema: Any, of: str = "the schema") -> Any:
    """The least value that satisfies a JSON Schema: required members only, the first enum value, the shortest text.

    `of` says whose schema it is. ScriptError when none is found: the search knows types, enum, const, anyOf, oneOf,
    allOf, $ref, bounds, formats and simple patterns.
    """
    try:
        found = _least_value(schema, schema, ())
        if jsonschema_rs.is_valid(schema, found):
            return found
        reason = f"{_compact_json(found)} does not satisfy it"
    except _EndlessError:
        reason = "every instance would contain itself"
    except (LookupError, TypeError, ValueError) as problem:
        reason = str(problem).partition("\n")[0]
    raise ScriptError(f"no example of {of} could be made up: {reason}. Script the turn: mock.script(message('…')).")


def _least_value(schema: Any, root: Any, open_refs: tuple[str, ...]) -> Any:
    if not isinstance(schema, dict):
        return ""
    if "$ref" in schema:
        return _least_of_ref(schema, root, open_refs)
    if "allOf" in schema:
        return _least_of_all_of(schema, root, open_refs)
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        rest = {name: value for name, value in schema.items() if name not in ("anyOf", "oneOf")}
        return _first_possible(lambda branch: _least_value(_merge_schemas(rest, branch), root, open_refs), branches)
    if "const" in schema or "enum" in schema:
        return _first_valid(schema, [schema["const"]] if "const" in schema else schema["enum"])
    types = schema.get("type") or _implied_type(schema)
    return _first_possible(
        lambda kind: _least_of_type({**schema, "type": kind}, root, open_refs),
        [types] if isinstance(types, str) else types,
    )


def _least_of_ref(schema: Json, root: Any, open_refs: tuple[str, ...]) -> Any:
    name = schema["$ref"]
    if name in open_refs:
        raise _EndlessError
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    return _least_value(_merge_schemas(beside, _resolve_pointer(name, root)), root, (*open_refs, name))


def _least_of_all_of(schema: Json, root: Any, open_refs: tuple[str, ...]) -> Any:
    """The least instance of `allOf` and what stands beside it."""
    names = tuple(part["$ref"] for part in schema["allOf"] if "$ref" in part)
    if not set(names).isdisjoint(open_refs):
        raise _EndlessError
    merged = {name: value for name, value in schema.items() if name != "allOf"}
    for part in schema["allOf"]:
        merged = _merge_schemas(merged, _resolve_pointer(part["$ref"], root) if "$ref" in part else part)
    return _least_value(merged, root, (*open_refs, *names))


def _first_possible(make: Callable[[Any], Any], choices: Sequence[Any]) -> Any:
    """What the first choice that has an instance makes."""
    choice, *others = choices
    try:
        return make(choice)
    except (_EndlessError, ValueError):
        if not others:
            raise
    return _first_possible(make, others)


def _implied_type(schema: Json) -> str:
    if "properties" in schema or "required" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    return (
        "number" if _SCALAR_KEYWORDS & {name for name in schema if "imum" in name or name == "multipleOf"} else "string"
    )


def _least_of_type(schema: Json, root: Any, open_refs: tuple[str, ...]) -> Any:
    kind = schema["type"]
    if kind == "object":
        return _least_object(schema, root, open_refs)
    if kind == "array":
        return _least_array(schema, root, open_refs)
    if kind not in SCALAR_TYPES:
        raise ValueError(f"{kind!r} is no JSON type")
    return _first_valid(schema, _candidates(schema))


def _least_object(schema: Json, root: Any, open_refs: tuple[str, ...]) -> Json:
    declared = schema.get("properties") or {}
    others = schema.get("additionalProperties", True)
    return {name: _least_value(declared.get(name, others), root, open_refs) for name in schema.get("required") or []}


def _least_array(schema: Json, root: Any, open_refs: tuple[str, ...]) -> list[Any]:
    first = schema.get("prefixItems") or []
    rest = schema.get("items", True)
    return [
        _least_value(first[index] if index < len(first) else rest, root, open_refs)
        for index in range(schema.get("minItems", 0))
    ]


def _first_valid(schema: Json, candidates: Sequence[Any] | Iterator[Any]) -> Any:
    leaf = jsonschema_rs.validator_for({name: schema[name] for name in schema if name in _SCALAR_KEYWORDS})
    for candidate in candidates:
        if leaf.is_valid(candidate):
            return candidate
    raise ValueError(f"no value for {_compact_json(schema)} was found")


def _candidates(schema: Json) -> Sequence[Any] | Iterator[Any]:
    kind = schema["type"]
    if kind == "string":
        return _candidate_texts(schema)
    if kind in ("integer", "number"):
        return (int(number) if float(number).is_integer() else number for number in _candidate_numbers(schema))
    return [False, True] if kind == "boolean" else [None]


def _candidate_texts(schema: Json) -> Iterator[str]:
    if (known := FORMAT_EXAMPLES.get(schema.get("format", ""))) is not None:
        yield known
    least = schema.get("minLength", 0)
    pieces = ("a", "A", "0", "a0", "A0", "a@example.com", "a-", "a_", "https://example.com/")
    lengths = range(least, least + 13)
    yield from (piece * length for length in lengths for piece in pieces[:3])
    yield from chain(pieces, FORMAT_EXAMPLES.values())


def _candidate_numbers(schema: Json) -> Iterator[float]:
    yield 0
    low = max((schema[name] for name in ("minimum", "exclusiveMinimum") if name in schema), default=None)
    high = min((schema[name] for name in ("maximum", "exclusiveMaximum") if name in schema), default=None)
    step = schema.get("multipleOf", 1)
    for bound, away in ((low, 1), (high, -1)):
        if bound is not None:
            nearest = step * (math.ceil(bound / step) if away > 0 else math.floor(bound / step))
            yield from (bound, nearest, nearest + away * step)
    if low is not None and high is not None:
        yield (low + high) / 2


def _resolve_pointer(pointer: str, root: Any) -> Any:
    found = root
    for step in pointer.removeprefix("#").split("/")[1:]:
        found = found[step.replace("~1", "/").replace("~0", "~")]
    return found


def _merge_schemas(one: Json, other: Any) -> Any:
    """Two schemas that hold together: members and required names are joined, other keywords of `other` win."""
    if not isinstance(other, dict) or not one:
        return other
    both = {**one, **other}
    both["properties"] = {**(one.get("properties") or {}), **(other.get("properties") or {})}
    both["required"] = list(dict.fromkeys([*(one.get("required") or []), *(other.get("required") or [])]))
    return {name: value for name, value in both.items() if value or name not in ("properties", "required")}
