"""The JSON Schemas of function tools; and patterns, there and in `text`, that the newer models cannot enforce."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import orjson

from harness.api.models import Model
from harness.api.strict_schema import function_problems
from harness.contract.compile_schema import find_schema_problem
from harness.contract.rule import Case, RuleScope, assumed, reported, rule
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

SCOPE = RuleScope(area="tools")
MAX_CACHED = 16 * 1024
"""The maximum size, in bytes, of parameters whose problems are kept."""
_INVALID = bad_request(
    "Invalid schema for function '{name}': {problem}", "{path}.parameters", "invalid_function_parameters"
)
_FUNCTION_TOOL: Json = {"type": "function", "name": "f"}


def _tool_body(parameters: Json, **members: Any) -> Json:
    return {"tools": [{**_FUNCTION_TOOL, **members, "parameters": parameters}]}


def _function_body(*, strict: bool = True, **parameters: Any) -> Json:
    return _tool_body(parameters, strict=strict)


def _closed(**properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_UNION = _function_body(strict=False, type="object", anyOf=[{"properties": {"a": {}}, "required": ["a"]}])
_INVALID_SCHEMAS: dict[str, Json] = {
    "[] is not of type 'object', 'boolean'.": {"$defs": {"A": []}},
    "'a' is not of type 'array'.": {"required": "a"},
    "'int' is not valid under any of the given schemas.": {"$defs": {"A": {"type": "int"}}},
    "'^[^\\\\p{Cc}]$' is not a 'regex'.": {"$defs": {"A": {"pattern": "^[^\\p{Cc}]$"}}},
}
_NOT_STRICT_PROPERTIES: dict[str, Json] = {
    "), schema must have a 'type' key.": {"description": "d"},
    "), $ref cannot have keywords {'description'}.": {"$ref": "#/$defs/A", "description": "d"},
    "), reference can only point to definitions defined at the top level of the schema.": {"$ref": "#/properties/b"},
    "), reference to component '#/$defs/A' which was not found in the schema.": {"$ref": "#/$defs/A"},
    ", 'type', '0'), 'uri' is not a valid format.": {"type": ["string", "null"], "format": "uri"},
    "), 'uri' is not a valid format.": {"type": "string", "format": "uri"},
    ", 'type', '1'), array schema missing items.": {"type": ["string", "array"]},
    "), 'propertyNames' is not permitted.": {"type": "object", "propertyNames": {"type": "string"}},
    ", 'type', '0', 'items'), schema must have a 'type' key.": {"type": ["array", "null"], "items": {}},
    ", 'type', '0', 'properties', 'b'), 'uniqueItems' is not permitted.": {
        **_closed(b={"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        "type": ["object", "null"],
    },
}


@rule(
    _INVALID,
    reported("public reports of three origins", "2026"),
    reported("https://github.com/goruck/home-generative-agent/pull/545", "2026-08-12"),
    reported("https://github.com/langchain-ai/langchainjs/issues/9804", "2026-01"),
    reported("https://github.com/BerriAI/litellm/pull/38792: unions by model, and pull/38837: Azure's", "2026-08-29"),
    reported("https://github.com/FoundationAgents/OpenManus/issues/1162: a schema that is none", "2025-06"),
    reported("https://github.com/BerriAI/litellm/pull/40485 and three more origins: patterns", "2026-09"),
    reported("https://github.com/apexive/odoo-llm/issues/212: a schema without a type", "2025-12"),
    reported("https://github.com/camel-ai/camel/issues/3001 and three more origins: $ref with keywords", "2026-03"),
    reported("https://github.com/BuilderIO/agent-native/pull/3085: formats", "2026-08"),
    reported("https://github.com/campfirein/byterover-cli/issues/42: arrays among the types", "2025-07"),
    reported("public notes of five origins: the paths inside of one type among several", "2026-09-06"),
    reported("https://github.com/mastra-ai/mastra/issues/19273 and eight more origins: propertyNames", "2026-09"),
    reported(
        "https://github.com/can1357/oh-my-pi/issues/1835 and two more origins: values of an enum of another type",
        "2026-06-04",
    ),
    reported("https://github.com/everruns/everruns/pull/984 and three more origins: no properties", "2026-03"),
    reported(
        "https://github.com/SamSaffron/term-llm/pull/180 and four more origins: a required property of free form",
        "2026-09",
    ),
    reported(
        "public probe, project smg: {} and null in strict mode; that null has the words of {} is assumed",
        "2026-08-21",
    ),
    when="tools",
    reads=(),
    rejects={
        **{
            ("f", problem): _function_body(strict=False, type="object", properties={"a": {"type": "string"}}, **members)
            for problem, members in _INVALID_SCHEMAS.items()
        },
        **{
            ("f", f"In context=('properties', 'a'{problem}"): _function_body(**_closed(a=schema))
            for problem, schema in _NOT_STRICT_PROPERTIES.items()
        },
        "Invalid schema for function 'f': In context=(), 'additionalProperties' is required to be supplied and to be "
        "false.": _function_body(type="object", properties={}),
        "Invalid schema for function 'f': In context=('properties', 'a'), 'additionalProperties' is required to be "
        "supplied and to be false.": _function_body(**_closed(a={"type": "object", "properties": {}})),
        "Invalid schema for function 'f': In context=(), 'required' is required to be supplied and to be an array "
        "including every key in properties. Missing 'a'.": _function_body(
            type="object", properties={"a": {"type": "string"}}, additionalProperties=False, required=[]
        ),
        "Invalid schema for function 'f': In context=(), 'required' is required to be supplied and to be an array "
        "including every key in properties. Extra required key 'a' supplied.": _function_body(
            **_closed(a={"type": "object"})
        ),
        ("f", "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."): _tool_body(
            {"oneOf": [{"type": "object"}]}
        ),
        "Invalid schema for function 'f': schema must have type 'object' and not have "
        "'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level.": {**_UNION, "model": "gpt-4o"},
        ("f", "In context=(), object schema missing properties."): _function_body(strict=False, type="object"),
        ("f", "In context=('properties', 'a'), array schema missing items."): _function_body(
            strict=False, type="object", properties={"a": {"type": "array"}}
        ),
        ("f", "context=('properties', 'a', 'anyof', '0'), enum value x does not validate against {'type': 'null'}."): (
            _function_body(**_closed(a={"anyOf": [{"type": "null", "enum": ["x"]}]}))
        ),
        ("f", "In context=('properties', 'a', 'anyOf', '0'), 'allOf' is not permitted."): _function_body(
            **_closed(a={"anyOf": [{"allOf": []}]})
        ),
    },
    accepts=[
        {**_UNION, "model": "gpt-5.4-mini"},
        {**_UNION, "model": "my-deployment"},
        _function_body(strict=False),
        _function_body(strict=False, type="object", properties={"a": {"type": "object"}}),
        _tool_body({"type": "object"}),
        _tool_body({"type": "object", "properties": {"a": {"type": "string"}}}),
        _tool_body({"type": "object", "properties": {"a": {"type": "string"}}}, strict=None),
        _tool_body({"type": "object", "properties": {"a": {}}}, strict=False),
        _tool_body({"type": "object", "anyOf": [], "properties": {"a": {"type": "array"}}}),
        {"tools": [_FUNCTION_TOOL]},
        _function_body(strict=False, type="object", properties={"a": {"pattern": "^(?!a)b$", "format": "uri"}}),
        _function_body(
            **_closed(a={"$ref": "#/definitions/A"}, b={"anyOf": [{"$ref": "#"}, {"type": "null"}]}),
            definitions={"A": {"type": "string", "format": "uuid"}},
        ),
        _function_body(**_closed(a={"type": "integer", "format": "uint8", "enum": [1, 2]})),
        _function_body(type="object", properties={}, additionalProperties=False),
    ],
    fix="Close every object (`additionalProperties: false`), list its `properties` and require them, or set "
    "`strict: false`.",
)
def function_schema(request: Request, family: Model | None) -> Iterator[Json]:
    """A function's parameters must be a JSON Schema of an object; with `strict: true` it is closed, with all required.

    Strict mode passes over a property that is an object without `properties`, and then refuses its name among `required`.
    With `strict: false` models before gpt-5 refuse unions at the top level; all models refuse an object without
    `properties` there, and arrays without `items`; without `strict` they accept these.
    """
    yield from _find_problems("tools", request.body.get("tools"), family)


def _find_problems(path: str, tools: Iterable[Json] | None, family: Model | None) -> Iterator[Json]:
    takes_unions = family is None or family.schema_unions
    for index, tool in enumerate(tools or ()):
        place = f"{path}[{index}]"
        if tool["type"] == "namespace":
            yield from _find_problems(f"{place}.tools", tool["tools"], family)
        # In a namespace the schemas accept any JSON as parameters.
        schema = tool.get("parameters") or {}
        without = tool.get("parameters") is None and not ("parameters" in tool and tool.get("strict") is True)
        if tool["type"] == "function" and isinstance(schema, dict) and not without:
            problems = _list_problems(schema, tool.get("strict"), takes_unions)
            yield from ({"name": tool["name"], "path": place, "problem": problem} for problem in problems)


def _list_problems(schema: Json, strict: bool | None, takes_unions: bool) -> Iterable[str]:
    """List the problems of parameters; those of the same ones are known, as a client sends its tools in each request."""
    with suppress(orjson.JSONEncodeError):  # an integer beyond 64 bits
        if len(encoded := orjson.dumps(schema)) <= MAX_CACHED:
            return _known_problems(encoded, strict, takes_unions)
    return function_problems(schema, find_schema_problem(schema), strict=strict, takes_unions=takes_unions)


@lru_cache(maxsize=256)
def _known_problems(encoded: bytes, strict: bool | None, takes_unions: bool) -> Sequence[str]:
    schema = orjson.loads(encoded)
    return [*function_problems(schema, find_schema_problem(schema), strict=strict, takes_unions=takes_unions)]


def _with_tools(parameters: Json) -> Json:
    space = {"type": "namespace", "name": "n", "description": "", **_tool_body(parameters)}
    item = {"type": "additional_tools", "role": "developer", "tools": [space]}
    return {"model": "gpt-5.6-sol", "input": [item, {"role": "user", "content": "hi"}]}


@rule(
    _INVALID,
    reported("https://github.com/Wei-Shaw/sub2api/issues/5479 and 5820: the whole error, in a namespace", "2026-08-19"),
    assumed("that what a tool search has found is checked, too"),
    when="input[]",
    mentions=('"additional_tools"', '"tool_search_output"'),
    rejects={
        ("f", "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."): _with_tools(
            {"oneOf": [{"type": "object"}]}
        )
    },
    accepts=[_with_tools({"type": "object", "properties": {}})],
    fix="Give the function's `parameters` a `type` of `object`, in the item that carries it.",
)
def function_schema_in_input(request: Request, family: Model | None) -> Iterator[Json]:
    """The functions that an input item adds have such parameters, too."""
    for index, item in enumerate(request.body["input"]):
        if item.get("type") in ("additional_tools", "tool_search_output"):
            yield from _find_problems(f"input[{index}].tools", item.get("tools"), family)


_WITHOUT_LOOKAROUND = ("gpt-5.5", "gpt-5.6", "gpt-6")
"""The families that refuse lookarounds; gpt-5.4 accepts them."""
_MAPS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose members are schemas by name."""
_LOOKAROUND = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|(\(\?<?[=!])", re.DOTALL)
"""An escape, a character class, or (in the group) the start of a lookahead or lookbehind."""
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EMAIL = {"type": "string", "pattern": "^(?!\\.)(?!.*\\.\\.)[a-z.]+@[a-z.]+$"}


def _function(schema: Json, model: str = "gpt-5.5", **members: Any) -> Json:
    tool = {"type": "function", "name": "send", "parameters": schema, "strict": True, **members}
    return {"model": model, "tools": [tool]}


_DEFINED = {**_closed(to={"$ref": "#/$defs/Email"}), "$defs": {"Email": {"anyOf": [{"type": "null"}, _EMAIL]}}}


@rule(
    bad_request(
        "Invalid JSON schema: regex lookaround is not supported. Found at {place}.", "{path}", "invalid_json_schema"
    ),
    reported("https://github.com/decolua/9router/issues/1556: gpt-5.5, with param and code", "2026-05-29"),
    reported("https://github.com/Kilo-Org/kilocode/issues/10179: gpt-5.5, in $defs; gpt-5.4 takes it", "2026-05-27"),
    reported("https://github.com/existential-birds/daydream/issues/304: in text.format.schema", "2026-08-05"),
    reported("https://github.com/vercel/ai/pull/21037: a strict function", "2026-09-17"),
    reported("https://github.com/cline/cline/pull/14019: gpt-6-astra, on Azure, too", "2026-09-10"),
    reported("https://github.com/pleaseai/shunt/pull/558: refused once, and accepted in later probes", "2026-09-14"),
    assumed("that it is accepted with `strict: false`: no report says so, and the accepted probes may have had it"),
    when=("tools", "text"),
    reads=(),
    mentions=("(?=", "(?!", "(?<=", "(?<!"),
    since="2026-05-24",
    rejects={
        "$.properties.email.pattern": _function(_closed(email=_EMAIL)),
        "$.properties.to.items.pattern": _function(_closed(to={"type": "array", "items": _EMAIL}), model="gpt-6-sol"),
        "$['$defs'].Email.anyOf[1].pattern": {
            "model": "gpt-5.6-sol",
            "text": {"format": {"type": "json_schema", "name": "n", "schema": _DEFINED, "strict": True}},
        },
    },
    accepts=[
        _function(_closed(email=_EMAIL), model="gpt-5.4"),
        _function(_closed(email=_EMAIL), strict=False),
        _function(_closed(email={"type": "string", "pattern": "^(?:a|b)[(?=]\\(?=$"})),
        _function(_closed(pattern={"type": "string", "description": "(?=a)"})),
        Case(_function(_closed(email=_EMAIL)), as_of="2026-05-01"),
    ],
    fix="Leave out the pattern, or write it without lookahead and lookbehind; `z.email()` of zod makes one with them.",
)
def schema_with_lookaround(request: Request, family: Model | None) -> Iterator[Json]:
    """A pattern in an enforced schema must have no lookahead or lookbehind."""
    if family is None or not family.name.startswith(_WITHOUT_LOOKAROUND):
        return
    for tool in request.body.get("tools") or ():
        if tool["type"] == "function" and tool.get("strict") is not False:
            yield from ({"place": place, "path": "tools"} for place in _find_lookarounds(tool.get("parameters")))
    format = (request.body.get("text") or {}).get("format") or {}
    if format.get("strict") is not False:
        found = _find_lookarounds(format.get("schema"))
        yield from ({"place": place, "path": "text.format.schema"} for place in found)


def _find_lookarounds(schema: Any) -> Iterator[str]:
    """Yield the places of patterns with a lookaround in a schema, in order; its lists and maps contain schemas."""
    waiting: list[tuple[Any, str, bool]] = [(schema, "$", False)]
    while waiting:
        node, place, is_map = waiting.pop()
        if isinstance(node, list):
            waiting += [(part, f"{place}[{index}]", False) for index, part in reversed([*enumerate(node)])]
        elif isinstance(node, dict):
            if not is_map and isinstance(pattern := node.get("pattern"), str) and _has_lookaround(pattern):
                yield f"{place}.pattern"
            inner = [(part, f"{place}{_step(name)}", not is_map and name in _MAPS) for name, part in node.items()]
            waiting += [part for part in reversed(inner) if is_map or part[1] != f"{place}.pattern"]


def _has_lookaround(pattern: str) -> bool:
    return any(match[1] for match in _LOOKAROUND.finditer(pattern))


def _step(name: str) -> str:
    return f".{name}" if _IDENTIFIER.fullmatch(name) else f"['{name}']"
