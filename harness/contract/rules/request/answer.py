"""Parameters of the answer: its length and context, response schemas, JSON mode, stream options, background."""

import functools
from collections.abc import Iterator
from typing import Any

from harness.api.strict_schema import format_problems
from harness.contract.compile_schema import find_schema_problem
from harness.contract.phrasing import invalid_type
from harness.contract.rule import RuleScope, after, assumed, reported, rule
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request
from harness.items.transcript import Transcript

SCOPE = RuleScope(area="length")
_LIVE_TESTS = "https://github.com/stdapi-ai/stdapi.ai, tests that run against the API, too"
_LIVE_TESTS_DATE = "2026-09"


@rule(
    bad_request("Unsupported context_management type: '{value}'.", "context_management"),
    reported(_LIVE_TESTS, _LIVE_TESTS_DATE),
    reported("a public guide: probes of `compact` and `summarize`", "2026-07-19"),
    reported("https://github.com/falkcorp/overnight-burndown/pull/62: an empty kind", "2026-06"),
    rejects={"summarize": {"context_management": [{"type": "summarize"}]}, "": {"context_management": [{"type": ""}]}},
    accepts=[{"context_management": [{"type": "compaction", "compact_threshold": 1000}]}],
    fix='Send `{"type": "compaction"}`.',
)
def context_management_type() -> None:
    """A context is managed by `compaction` alone; a missing kind is reported like other missing members."""


_COUNTS = ("max_output_tokens", "max_tool_calls", "top_logprobs")


@rule(
    invalid_type("{path}", "an integer", "a decimal number"),
    reported(f"{_LIVE_TESTS}: compact_threshold", _LIVE_TESTS_DATE),
    reported("public probe, project smg: max_tool_calls", "2026-09"),
    assumed("that the other counts are read alike"),
    when=(*_COUNTS, "context_management"),
    reads=(),
    rejects={
        "max_output_tokens": {"max_output_tokens": 100.0},
        "context_management[0].compact_threshold": {
            "context_management": [{"type": "compaction", "compact_threshold": 1000.0}]
        },
    },
    accepts=[{"max_output_tokens": 100, "temperature": 1.0, "top_p": 1}],
    fix="Write a whole number without a decimal point: `100`, not `100.0`.",
)
def decimal_count(request: Request) -> Iterator[Json]:
    """A count with a decimal point is no integer, whatever follows the point.

    JSON Schema accepts `100.0` as an integer, but the API does not.
    """
    for path, value in _counts(request.body):
        if isinstance(value, float):
            yield {"path": path}


def _counts(body: Json) -> Iterator[tuple[str, Any]]:
    for index, managed in enumerate(body.get("context_management") or ()):
        yield f"context_management[{index}].compact_threshold", managed.get("compact_threshold")
    yield from ((name, body.get(name)) for name in _COUNTS)


SCOPE = RuleScope(area="text", when="text")


def _text_format(request: Request) -> Json:
    text: Json = (request.body.get("text") or {}).get("format") or {}
    return text


_CLOSED_SCHEMA: Json = {"type": "object", "properties": {}, "additionalProperties": False}
_SCHEMA_PROBLEMS: dict[str, Json] = {
    "In context=(), 'additionalProperties' is required to be supplied and to be false.": {"additionalProperties": True},
    "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.": {"type": "array"},
    "In context=('properties', 'a'), 'uniqueItems' is not permitted.": {
        "properties": {"a": {"type": "array", "items": {}, "uniqueItems": True}},
        "required": ["a"],
    },
    "In context=('properties', 'a', 'type', '0', 'items'), 'propertyNames' is not permitted.": {
        "properties": {"a": {"type": ["array", "null"], "items": {"type": "object", "propertyNames": {}}}},
        "required": ["a"],
    },
    "In context=('properties', 'a'), array schema missing items.": {
        "properties": {"a": {"type": "array"}},
        "required": ["a"],
    },
    "In context=('properties', 'a'), schema must have a 'type' key.": {
        "properties": {"a": {"const": "ok"}},
        "required": ["a"],
    },
    "In context=('properties', 'a', 'items'), reference can only point to definitions defined at the top level of the "
    "schema.": {"properties": {"a": {"type": "array", "items": {"$ref": "#/properties/b/items"}}}, "required": ["a"]},
    "In context=('properties', 'a', 'type', '0'), 'additionalProperties' is required to be supplied and to be false.": {
        "properties": {"a": {"type": ["object", "null"], "properties": {}}},
        "required": ["a"],
    },
    "context=('properties', 'a'), enum value x does not validate against {'type': 'object'}.": {
        "properties": {"a": {"type": "object", "properties": {}, "additionalProperties": False, "enum": ["x"]}},
        "required": ["a"],
    },
    "[] is not of type 'object', 'boolean'.": {"properties": {"a": []}, "required": ["a"]},
    "In context=(), 'required' is required to be supplied and to be an array including every key in properties. Extra "
    "required key 'a' supplied.": {
        "properties": {"a": {"type": "array", "items": {"type": "object"}}},
        "required": ["a"],
    },
    "11 levels of nesting exceeds limit of 10.": functools.reduce(
        lambda inner, _: {**_CLOSED_SCHEMA, "properties": {"a": inner}, "required": ["a"]},
        range(11),
        {"type": "string"},
    ),
}


def _json_schema_body(schema: Json, **members: Any) -> Json:
    return {"text": {"format": {"type": "json_schema", "name": "out", "schema": schema, **members}}}


@rule(
    bad_request("Invalid schema for response_format '{name}': {problem}", "text.format.schema", "invalid_json_schema"),
    reported("public reports of three origins", "2026"),
    reported("public reports of thirteen more origins: forbidden keywords, at a root without a type, too", "2026-09"),
    reported("public reports of four origins: a `const` without a type, gpt-5.6-terra and -luna", "2026-09-19"),
    reported("https://github.com/dotnet/extensions/issues/6918: references", "2025-10"),
    reported("https://github.com/langchain-ai/langchainjs/pull/11384: $ref with keywords", "2026-08"),
    reported("public probe, project smg: an empty schema", "2026-08-21"),
    reported(
        "https://community.openai.com/t/1230045 and eleven more origins: a required property of free form",
        "2026-09-27",
    ),
    reported("public reports of nine origins: an object or an array among the types", "2026-09-06"),
    reported("https://github.com/vercel/ai/pull/20621 and eight more origins: propertyNames", "2026-09-10"),
    reported(
        "https://github.com/can1357/oh-my-pi/issues/1835 and two more origins: values of an enum of another type",
        "2026-06-04",
    ),
    reported("https://github.com/dotslashderek/jsonschema-llm and four more origins: levels of nesting", "2026-08"),
    reported("a public probe with its schemas: the root counts as one, 9 objects are taken, 13 refused", "2026-10-02"),
    assumed("that only the objects count as levels, and not the arrays between them"),
    reads=(),
    rejects={
        **{
            ("out", problem): _json_schema_body({**_CLOSED_SCHEMA, **members}, strict=True)
            for problem, members in _SCHEMA_PROBLEMS.items()
        },
        ("out", "In context=(), 'oneOf' is not permitted."): _json_schema_body(
            {"oneOf": [_CLOSED_SCHEMA]}, strict=True
        ),
        ("out", "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."): _json_schema_body({}),
    },
    accepts=[_json_schema_body({"type": "object", "properties": {}}), _json_schema_body(_CLOSED_SCHEMA, strict=True)],
    fix="Close every object, require all its properties, avoid the keywords it names; or leave `strict` out.",
)
def response_schema(request: Request) -> Iterator[Json]:
    """With `strict: true` the answer's schema must be closed and require all its properties; no schema may be empty."""
    format = _text_format(request)
    if format.get("type") == "json_schema" and (format.get("strict") is True or not format["schema"]):
        problems = format_problems(format["schema"], find_schema_problem(format["schema"]))
        yield from ({"name": format["name"], "problem": problem} for problem in problems)


@rule(
    bad_request(
        "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
        "input",
    ),
    reported("public reports of three origins", "2026"),
    rejects=[{"instructions": "Answer in JSON.", "text": {"format": {"type": "json_object"}}}],
    accepts=[
        {"input": "As JSON, please.", "text": {"format": {"type": "json_object"}}},
        after(
            {"input": "As JSON, please."},
            {"previous_response_id": "{0.id}", "text": {"format": {"type": "json_object"}}},
        ),
    ],
    fix="Write `JSON` in a message; instructions do not count.",
)
def json_word(request: Request, transcript: Transcript) -> bool:
    """JSON mode requires the word "JSON" in some input message; `instructions` do not count."""
    return _text_format(request).get("type") == "json_object" and not any(map(_contains_json_word, transcript.items))


def _contains_json_word(value: Any) -> bool:
    if isinstance(value, str):
        return "json" in value.casefold()
    if isinstance(value, dict):
        return any(_contains_json_word(value[name]) for name in ("content", "text", "output") if name in value)
    return isinstance(value, list) and any(map(_contains_json_word, value))


@rule(
    bad_request("Web Search cannot be used with JSON mode."),
    reported("public reports of two origins", "2026-06"),
    reads="tools",
    rejects=[{"input": "json", "tools": [{"type": "web_search_preview"}], "text": {"format": {"type": "json_object"}}}],
    accepts=[{"input": "json", "text": {"format": {"type": "json_object"}}}],
    fix="Use a JSON schema, or leave the search out.",
)
def web_search_json_mode(request: Request) -> bool:
    """JSON mode and web search exclude each other."""
    searches = any(tool["type"].startswith("web_search") for tool in request.body.get("tools") or ())
    return searches and _text_format(request).get("type") == "json_object"


@rule(
    bad_request("The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options"),
    reported("public reports of two origins", "2026"),
    when="stream_options",
    reads="stream",
    rejects=[{"stream_options": {"include_obfuscation": False}}],
    accepts=[{"stream": True, "stream_options": {"include_obfuscation": False}}],
    fix="Set `stream: true` or leave the options out.",
)
def stream_options_without_stream(request: Request) -> bool:
    """`stream_options` needs `stream: true`."""
    return request.body.get("stream_options") is not None and not request.body.get("stream")
