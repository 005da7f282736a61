"""What the API asks of a JSON Schema, in its words, outermost first."""

from typing import Any

import pytest

from harness.api.strict_schema import apply_strictness, format_problems, function_problems
from harness.core.exchange import Json

EVERY = "'required' is required to be supplied and to be an array including every key in properties."
AT_THE_TOP = (
    "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level."
)
TEXT: Json = {"type": "string"}


def closed(**properties: Any) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


TYPELESS = "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."
OPEN = "'additionalProperties' is required to be supplied and to be false."
FREE_FORMS = [
    {"type": "object", **more}
    for more in ({}, {"additionalProperties": TEXT}, {"additionalProperties": False, "required": []})
]
NAMED: dict[str, list[Json]] = {
    TYPELESS.replace("None", "string"): [{"type": "string"}],
    TYPELESS: [{"anyOf": []}, {}, {"type": None}],
    f"In context=(), {EVERY} Missing 'a'.": [{**closed(a=TEXT), "required": required} for required in ([], None)],
    f"In context=(), {EVERY} Extra required key 'b' supplied.": [{**closed(), "required": ["b"]}],
    f"In context=(), {EVERY} Extra required key '[]' supplied.": [{**closed(), "required": [[]]}],
    f"In context=(), {EVERY} Extra required key 'a' supplied.": [
        *(closed(a=part) for part in FREE_FORMS),
        *(closed(a={"type": "array", "items": part}) for part in FREE_FORMS),
    ],
    "In context=(), 'not' is not permitted.": [{**closed(), "not": {}}],
    "In context=('properties', 'a'), 'maxProperties' is not permitted.": [
        closed(a={"type": "object", "additionalProperties": TEXT, "maxProperties": 9})
    ],
    "In context=('properties', 'a'), 'propertyNames' is not permitted.": [
        closed(a={"type": "object", "propertyNames": TEXT, "additionalProperties": {}})
    ],
    f"In context=('properties', 'a', 'items'), {OPEN}": [
        closed(a={"type": "array", "items": {"type": "object", "properties": {}}})
    ],
    f"In context=('properties', 'a', 'type', '1'), {OPEN}": [
        closed(a={"type": ["null", "object"], **members}) for members in ({}, {"properties": {}})
    ],
    f"In context=('properties', 'a'), {EVERY} Extra required key 'b' supplied.": [
        closed(a=closed(b={"type": "object"}))
    ],
    "In context=('properties', 'a'), $ref cannot have keywords {'type'}.": [
        closed(a={"type": "object", "$ref": "#/$defs/D"})
    ],
    "In context=('properties', 'a'), array schema missing items.": [closed(a={"type": "array"})],
    f"In context=('$defs', 'D'), {OPEN}": [{**closed(), "$defs": {"D": {"properties": {}}}}],
    "context=('properties', 'a'), enum value 0 does not validate against {'type': ['string', 'null']}.": [
        closed(a={"type": ["string", "null"], "enum": ["x", 0]})
    ],
    "context=('properties', 'a'), enum value None does not validate against {'type': 'string'}.": [
        closed(a={"type": "string", "enum": ["x", None]})
    ],
    "context=('properties', 'a'), enum value True does not validate against {'type': 'integer'}.": [
        closed(a={"type": "integer", "enum": [1, True]})
    ],
    "context=('properties', 'a', 'anyof', '1'), enum value x does not validate against {'type': 'null'}.": [
        closed(a={"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null", "enum": ["x"]}]})
    ],
    f"In context=('properties', 'a', 'anyOf', '1'), {EVERY} Missing 'b'.": [
        closed(a={"anyOf": [TEXT, {"type": "object", "additionalProperties": False, "properties": {"b": TEXT}}]})
    ],
}


@pytest.mark.parametrize(
    ("schema", "problem"), [(schema, problem) for problem, schemas in NAMED.items() for schema in schemas]
)
def test_strict_mode_names_the_outermost_problem_first(schema: Json, problem: str) -> None:
    assert next(function_problems(schema, strict=True)) == problem
    assert next(format_problems(schema)) == problem


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/D", "$defs": {"D": closed()}},
        closed(a=TEXT, b={"anyOf": [TEXT, {"type": "null"}]}),
        {**closed(a={"type": "object", "additionalProperties": TEXT}), "required": []},
        closed(a={"type": ["object", "null"], "additionalProperties": False}),
        closed(a={"type": ["string", "null"], "enum": ["x", None]}, b={"type": "number", "enum": [1, 1.5]}),
        closed(a={"enum": ["x", 1, None]}),
    ],
)
def test_a_closed_schema_has_no_problem(schema: Json) -> None:
    assert list(format_problems(schema)) == []


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "allOf", "enum", "const", "not"])
def test_without_strict_mode_nothing_but_an_object_stands_at_the_top(keyword: str) -> None:
    schema = {"type": "object", "properties": {}, keyword: []}
    assert list(function_problems(schema, strict=False)) == [AT_THE_TOP]
    assert list(function_problems(schema, strict=None)) == []


def test_an_object_at_the_top_has_properties() -> None:
    problem = ["In context=(), object schema missing properties."]
    assert list(function_problems({"type": "object"}, strict=False)) == problem
    assert list(function_problems({"type": "object"}, strict=None)) == []
    nested = {"type": "object", "properties": {"a": {"type": "object"}}}
    assert list(function_problems(nested, strict=False)) == []


def test_an_array_says_what_is_in_it() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array"}, "b": {"type": "array", "prefixItems": [TEXT]}}}
    problem = "In context=('properties', 'a'), array schema missing items."
    assert list(function_problems(schema, strict=False)) == [problem]
    assert list(function_problems(schema, strict=None)) == []


@pytest.mark.parametrize("part", [None, True, 5, "x", []])
def test_what_is_no_schema_is_passed_over(part: Any) -> None:
    assert list(function_problems({"type": "object", "properties": {"a": part}, "$defs": part}, strict=False)) == []


def numbered(count: int) -> Json:
    return closed(**{f"a{number}": TEXT for number in range(count)})


def nested(count: int) -> Json:
    return closed(a=nested(count - 1) if count > 1 else TEXT)


ENUMS = (
    "Expected at most 1000 enum values in total within a single schema when using structured outputs, but received 1001. "
    "Consider reducing the number of enums, or use 'strict: false' to opt out of structured outputs."
)


@pytest.mark.parametrize(
    ("schema", "problems"),
    [
        (nested(10), []),
        (nested(11), ["11 levels of nesting exceeds limit of 10."]),
        (
            closed(a={"type": "array", "items": {"anyOf": [TEXT, nested(13)]}}),
            ["14 levels of nesting exceeds limit of 10."],
        ),
        (closed(a=numbered(2_500), b=numbered(2_498)), []),
        (closed(a=numbered(2_500), b=numbered(2_499)), ["5001 parameters exceeds limit of 5000."]),
        (closed(a={"enum": [*range(500)]}, b={"anyOf": [{"enum": [*range(500)]}]}), []),
        (closed(a={"enum": [*range(500)]}, b={"anyOf": [{"enum": [*range(501)]}]}), [ENUMS]),
    ],
)
def test_the_whole_of_a_strict_format_has_limits(schema: Json, problems: list[str]) -> None:
    assert list(format_problems(schema)) == problems


def test_parameters_without_strict_are_closed_where_that_is_all_they_lack() -> None:
    lacking = {name: value for name, value in closed(a=TEXT).items() if name != "additionalProperties"}
    free: Json = {"type": "object", "properties": {}, "additionalProperties": True}
    assert apply_strictness(lacking, None) == (closed(a=TEXT), True)
    assert apply_strictness(lacking, False) == (lacking, False)
    assert apply_strictness(free, None) == (free, False)
