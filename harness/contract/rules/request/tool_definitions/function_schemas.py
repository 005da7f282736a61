"""The JSON Schemas of function tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.api.models import Model
from harness.api.strict_schema import function_problems
from harness.contract.compile_schema import find_schema_problem
from harness.contract.rule import RuleScope, reported, rule
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

SCOPE = RuleScope(area="tools")
_FUNCTION_TOOL: Json = {"type": "function", "name": "f"}


def _function_body(*, strict: bool = True, **parameters: Any) -> Json:
    return {"tools": [{**_FUNCTION_TOOL, "strict": strict, "parameters": parameters}]}


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
}


@rule(
    when="tools",
    reads=(),
    error=bad_request(
        "Invalid schema for function '{name}': {problem}", "tools[{index}].parameters", "invalid_function_parameters"
    ),
    source=[
        reported("public reports of three origins", "2026"),
        reported("https://github.com/goruck/home-generative-agent/pull/545", "2026-08-12"),
        reported("https://github.com/langchain-ai/langchainjs/issues/9804", "2026-01"),
        reported(
            "https://github.com/BerriAI/litellm/pull/38792: unions by model, and pull/38837: Azure's", "2026-08-29"
        ),
        reported("https://github.com/FoundationAgents/OpenManus/issues/1162: a schema that is none", "2025-06"),
        reported("https://github.com/BerriAI/litellm/pull/40485 and three more origins: patterns", "2026-09"),
        reported("https://github.com/apexive/odoo-llm/issues/212: a schema without a type", "2025-12"),
        reported("https://github.com/camel-ai/camel/issues/3001 and three more origins: $ref with keywords", "2026-03"),
        reported("https://github.com/BuilderIO/agent-native/pull/3085: formats", "2026-08"),
        reported("https://github.com/campfirein/byterover-cli/issues/42: arrays among the types", "2025-07"),
        reported("https://github.com/everruns/everruns/pull/984 and three more origins: no properties", "2026-03"),
        reported(
            "https://github.com/SamSaffron/term-llm/pull/180 and four more origins: a required property of free form",
            "2026-09",
        ),
        reported(
            "public probe, project smg: {} and null in strict mode; that null has the words of {} is assumed",
            "2026-08-21",
        ),
    ],
    rejects={
        **{
            f"Invalid schema for function 'f': {problem}": _function_body(
                strict=False, type="object", properties={"a": {"type": "string"}}, **members
            )
            for problem, members in _INVALID_SCHEMAS.items()
        },
        **{
            f"Invalid schema for function 'f': In context=('properties', 'a'{problem}": _function_body(
                type="object", properties={"a": schema}, required=["a"], additionalProperties=False
            )
            for problem, schema in _NOT_STRICT_PROPERTIES.items()
        },
        "Invalid schema for function 'f': In context=(), 'additionalProperties' is required to be supplied and to be "
        "false.": _function_body(type="object", properties={}),
        "Invalid schema for function 'f': In context=('properties', 'a'), 'additionalProperties' is required to be "
        "supplied and to be false.": _function_body(
            type="object",
            properties={"a": {"type": "object", "properties": {}}},
            required=["a"],
            additionalProperties=False,
        ),
        "Invalid schema for function 'f': In context=(), 'required' is required to be supplied and to be an array "
        "including every key in properties. Missing 'a'.": _function_body(
            type="object", properties={"a": {"type": "string"}}, additionalProperties=False, required=[]
        ),
        "Invalid schema for function 'f': In context=(), 'required' is required to be supplied and to be an array "
        "including every key in properties. Extra required key 'a' supplied.": _function_body(
            type="object", properties={"a": {"type": "object"}}, required=["a"], additionalProperties=False
        ),
        "Invalid schema for function 'f': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.": {
            "tools": [{**_FUNCTION_TOOL, "parameters": {"oneOf": [{"type": "object"}]}}]
        },
        "Invalid schema for function 'f': schema must have type 'object' and not have "
        "'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level.": {**_UNION, "model": "gpt-4o"},
        "Invalid schema for function 'f': In context=(), object schema missing properties.": _function_body(
            strict=False, type="object"
        ),
        "Invalid schema for function 'f': In context=('properties', 'a'), array schema missing items.": _function_body(
            strict=False, type="object", properties={"a": {"type": "array"}}
        ),
        "Invalid schema for function 'f': In context=('properties', 'a', 'anyOf', '0'), 'allOf' is not permitted.": (
            _function_body(
                type="object", properties={"a": {"anyOf": [{"allOf": []}]}}, required=["a"], additionalProperties=False
            )
        ),
    },
    accepts=[
        {**_UNION, "model": "gpt-5.4-mini"},
        {**_UNION, "model": "my-deployment"},
        _function_body(strict=False),
        _function_body(strict=False, type="object", properties={"a": {"type": "object"}}),
        {"tools": [{**_FUNCTION_TOOL, "parameters": {"type": "object"}}]},
        {"tools": [{**_FUNCTION_TOOL, "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}]},
        {
            "tools": [
                {
                    **_FUNCTION_TOOL,
                    "strict": None,
                    "parameters": {"type": "object", "properties": {"a": {"type": "string"}}},
                }
            ]
        },
        {"tools": [{**_FUNCTION_TOOL, "strict": False, "parameters": {"type": "object", "properties": {"a": {}}}}]},
        {
            "tools": [
                {
                    **_FUNCTION_TOOL,
                    "parameters": {"type": "object", "anyOf": [], "properties": {"a": {"type": "array"}}},
                }
            ]
        },
        {"tools": [_FUNCTION_TOOL]},
        _function_body(strict=False, type="object", properties={"a": {"pattern": "^(?!a)b$", "format": "uri"}}),
        _function_body(
            type="object",
            properties={"a": {"$ref": "#/definitions/A"}, "b": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
            required=["a", "b"],
            additionalProperties=False,
            definitions={"A": {"type": "string", "format": "uuid"}},
        ),
        _function_body(
            type="object",
            properties={"a": {"type": "integer", "format": "uint8"}},
            required=["a"],
            additionalProperties=False,
        ),
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
    takes_unions = family is None or family.schema_unions
    for index, tool in enumerate(request.body.get("tools") or ()):
        without = tool.get("parameters") is None and not ("parameters" in tool and tool.get("strict") is True)
        if tool["type"] == "function" and not without:
            schema = tool["parameters"] or {}
            problems = function_problems(
                schema, find_schema_problem(schema), strict=tool.get("strict"), takes_unions=takes_unions
            )
            yield from ({"name": tool["name"], "index": index, "problem": problem} for problem in problems)
