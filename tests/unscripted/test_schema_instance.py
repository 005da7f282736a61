"""An instance of a JSON Schema, and the bounds of the search for it."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contract.compile_schema import (
    MAX_PARTS,
    MAX_PATTERN_CHARACTERS,
    MAX_REFERENCES,
    MAX_UNFOLDED,
    compile_request_schema,
    unfolded_size,
)
from harness.core.errors import ScriptError
from harness.unscripted.schema_instance import MAX_DEPTH, MAX_STEPS, make_instance
from tests.support.cpu_time import cpu_time

NODE = {
    "type": "object",
    "properties": {
        "value": {"type": "integer"},
        "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    },
    "required": ["value", "next", "children"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "least"),
    [
        ({"type": "string"}, "example"),
        ({"type": "integer"}, 0),
        ({"type": "number"}, 0),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "object"}, {}),
        ({"type": "object", "required": ["a"]}, {"a": ""}),
        ({}, "example"),
        (True, ""),
        ({"enum": ["red", "green"]}, "red"),
        ({"type": "string", "enum": [1, "one"]}, "one"),
        ({"type": "boolean", "const": True}, True),
        ({"type": ["string", "null"]}, "example"),
        ({"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}], "description": "d"}, 3),
        ({"oneOf": [{"type": "null"}, {"type": "string"}]}, None),
        ({"properties": {"a": {"type": "null"}}, "required": ["a"]}, {"a": None}),
        ({"type": "object", "required": ["a"], "additionalProperties": {"type": "integer"}}, {"a": 0}),
        ({"items": {"type": "integer"}, "minItems": 2}, [0, 0]),
        ({"type": "array", "prefixItems": [{"type": "null"}], "items": {"const": 1}, "minItems": 2}, [None, 1]),
        ({"minimum": 4}, 4),
        ({"type": "integer", "exclusiveMinimum": 4}, 5),
        ({"type": "integer", "maximum": -2.5}, -3),
        ({"type": "integer", "minimum": 1, "multipleOf": 7}, 7),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "string", "minLength": 8}, "aaaaaaaa"),
        ({"type": "string", "maxLength": 3}, ""),
        ({"type": "string", "pattern": "^[A-Z]{2}$"}, "AA"),
        ({"type": "string", "pattern": "^\\d{4}$"}, "0000"),
        ({"type": "string", "pattern": "@"}, "a@example.com"),
        ({"type": "string", "format": "date"}, "2026-01-01"),
        ({"type": "string", "format": "unheard-of"}, "example"),
        (
            {"allOf": [{"$ref": "#/$defs/A"}, {"required": ["a"]}], "$defs": {"A": {"properties": {"a": {}}}}},
            {"a": "example"},
        ),
        ({"type": "integer", "allOf": [True, {}, {"minimum": 2}]}, 2),
        ({"type": "integer", "anyOf": [False, True]}, 0),
        ({"anyOf": [{"properties": {}}]}, {}),
        ({"allOf": [{"$ref": "#/$defs/A", "minimum": 3}], "$defs": {"A": {"type": "integer"}}}, 3),
        (
            {"allOf": [{"allOf": [{"required": ["a"]}]}, {"required": ["b"]}], "required": ["c"]},
            dict.fromkeys("cba", ""),
        ),
        ({"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer"}}}, 0),
        ({"$ref": "#/$defs/Node", "$defs": {"Node": NODE}}, {"value": 0, "next": None, "children": []}),
        (
            {
                "properties": {"x": {"$ref": "#/$defs/A", "description": "d"}},
                "required": ["x"],
                "$defs": {"A": {"const": 1}},
            },
            {"x": 1},
        ),
    ],
)
def test_the_least_instance_of_a_schema(schema: Any, least: Any) -> None:
    assert make_instance(schema) == least
    jsonschema.Draft202012Validator(schema).validate(least)


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["a"]}}},
            "itself",
        ),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}]}}}, "contain itself"),
        ({"type": "string", "pattern": "^[xyz]{40}$"}, "no value for"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "no value for"),
        ({"type": "text"}, 'type: "text" is not valid'),
        ({"type": "array", "items": {"const": 1}, "minItems": 2, "uniqueItems": True}, "[1,1] does not satisfy it"),
        ({"$ref": "#/$defs/Missing"}, "Missing' does not exist"),
        ({"anyOf": [{"enum": []}]}, "no value for"),
        ({"type": "integer", "allOf": [False]}, "no value satisfies false"),
        ({"required": ["a"], "additionalProperties": False}, "no value satisfies false"),
        ({"properties": {"a": {"properties": None}}}, "properties.a.properties: null is not of type"),
        ({"properties": {"a": {"type": []}}}, "properties.a.type: [] is not valid"),
    ],
)
def test_a_schema_without_an_instance_says_why_and_what_to_do(schema: Any, reason: str) -> None:
    with pytest.raises(ScriptError) as caught:
        make_instance(schema, of="tool 'f'")
    assert "no example of tool 'f'" in str(caught.value)
    assert reason in str(caught.value)
    assert "Script the turn" in str(caught.value)


SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([{"type": "string"}, {"type": "boolean"}, {"type": "null"}, {"type": ["integer", "null"]}]),
    st.builds(
        lambda least, more: {"type": "string", "minLength": least, "maxLength": least + more},
        st.integers(0, 9),
        st.integers(0, 5),
    ),
    st.builds(
        lambda low, more: {"type": "integer", "minimum": low, "maximum": low + more},
        st.integers(-99, 99),
        st.integers(0, 9),
    ),
    st.builds(lambda low: {"type": "number", "exclusiveMinimum": low}, st.floats(-1e6, 1e6)),
    st.builds(lambda high: {"type": "number", "exclusiveMaximum": high}, st.floats(-1e6, 1e6)),
    st.builds(
        lambda step, low: {"type": "integer", "multipleOf": step, "minimum": low},
        st.integers(1, 50),
        st.integers(-99, 99),
    ),
    st.builds(lambda values: {"enum": values}, st.lists(st.one_of(st.text(), st.integers(), st.none()), min_size=1)),
)


def _composed(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    objects = st.dictionaries(st.text(max_size=5), inner, max_size=4).map(
        lambda members: {
            "type": "object",
            "properties": members,
            "required": [*members][:3],
            "additionalProperties": False,
        }
    )
    arrays = st.builds(
        lambda items, least: {"type": "array", "items": items, "minItems": least}, inner, st.integers(0, 3)
    )
    unions = st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches, "title": "t"})
    return st.one_of(objects, arrays, unions)


SCHEMAS = st.recursive(SCALARS, _composed, max_leaves=8)


@given(SCHEMAS)
def test_every_instance_satisfies_its_schema_and_is_the_same_again(schema: Any) -> None:
    made = make_instance(schema)
    jsonschema.Draft202012Validator(schema).validate(made)
    assert make_instance(schema) == made


def nested(depth: int) -> Any:
    """Return a schema of objects in objects."""
    made: Any = {"type": "null"}
    for _ in range(depth):
        made = {"type": "object", "properties": {"a": made}, "required": ["a"]}
    return made


def doubled(times: int, of: str = "anyOf") -> Any:
    """Return a schema of a few definitions, each of which names the next one twice."""
    two = {
        f"A{n}": {of: [{"$ref": f"#/$defs/A{n + 1}"}, {"type": "integer", "allOf": [{"$ref": f"#/$defs/A{n + 1}"}]}]}
        for n in range(times)
    }
    return {"$ref": "#/$defs/A0", "$defs": {**two, f"A{times}": {"type": "string", "minLength": 1}}}


@pytest.mark.parametrize(
    ("schema", "bound"),
    [
        ({"type": "array", "items": {"type": "string"}, "minItems": 10**6}, "10,000 steps"),
        ({"type": "array", "minItems": 1e9}, "10,000 steps"),
        ({"type": "string", "minLength": 10**9}, "10,000 steps"),
        ({"type": "array", "minItems": 100, "items": {"type": "string", "minLength": 10**5}}, "10,000 steps"),
        ({"required": [f"a{n}" for n in range(MAX_STEPS + 1)]}, "10,000 steps"),
        (
            {
                "$ref": "#/$defs/A0",
                "$defs": {
                    **{
                        f"A{n}": {
                            "properties": {name: {"$ref": f"#/$defs/A{n + 1}"} for name in "ab"},
                            "required": ["a", "b"],
                        }
                        for n in range(14)
                    },
                    "A14": {"type": "null"},
                },
            },
            "10,000 steps",
        ),
        (nested(MAX_DEPTH + 1), "nested deeper than 100"),
        (nested(900), "Recursion limit"),
        (doubled(60), "unfold to more than 1,000,000 parts"),
        ({"type": "number", "minimum": 1e308, "multipleOf": 1e-300}, "infinity"),
        ({"type": "integer", "minimum": 10**400}, "too large"),
    ],
)
def test_a_small_schema_of_a_huge_instance_costs_a_bounded_search(schema: Any, bound: str) -> None:
    with pytest.raises(ScriptError, match=bound):
        make_instance(schema)


def test_what_is_within_the_bounds_is_made() -> None:
    assert len(make_instance({"type": "array", "items": {"type": "null"}, "minItems": MAX_STEPS - 1})) == MAX_STEPS - 1
    assert make_instance({"enum": list(range(100_000))}) == 0
    assert make_instance(doubled(10)) == "example"


def test_the_size_of_a_schema_counts_what_its_references_name() -> None:
    assert unfolded_size({"type": "string"}) == 1
    assert unfolded_size({"$ref": "#/$defs/A", "$defs": {"A": {}}}) == 4  # the schema, `$defs`, and A in two places
    assert unfolded_size(NODE | {"$defs": {"Node": NODE}}) < 50
    assert unfolded_size(doubled(40)) == MAX_UNFOLDED + 1
    with pytest.raises(ValueError, match="unfold"):
        compile_request_schema(doubled(40))


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (
            {
                "$defs": {
                    f"d{i}": {"properties": {"a": {"$ref": f"#/$defs/d{i + 1}"}}} for i in range(MAX_REFERENCES + 1)
                }
            },
            "it has more than 4,000 references",
        ),
        ({"enum": [{"v": number} for number in range(MAX_PARTS)]}, "it has more than 30,000 parts"),
        ({"allOf": [{"minLength": number} for number in range(MAX_PARTS)]}, "it has more than 30,000 parts"),
        ({"type": "string", "pattern": "b?" * MAX_PATTERN_CHARACTERS}, "its patterns have more than 65,536 characters"),
        (
            {"patternProperties": {f"{'b?' * MAX_PATTERN_CHARACTERS}{i}": {} for i in range(8)}},
            "its patterns have more than 65,536 characters",
        ),
    ],
    ids=["references", "an enum", "allOf", "a pattern", "patterns of names"],
)
def test_what_takes_long_to_compile_is_not_compiled(schema: Any, why: str) -> None:
    no_example = f"no example of the schema could be made up: {why}. Script the turn"
    with cpu_time() as spent, pytest.raises(ScriptError, match=no_example):
        make_instance(schema)
    assert spent.seconds < 0.5
