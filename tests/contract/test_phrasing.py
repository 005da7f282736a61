"""The API's turns of phrase: what it expected, what it got, what was perhaps meant."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contract.phrasing import abbreviate, describe_expected, did_you_mean, edit_distance

ROOT: dict[str, Any] = {
    "$defs": {
        "Tool": {"type": "object"},
        "Named": {"type": "object", "x-expected": "a tool"},
        "Alias": {"$ref": "#/$defs/Tool"},
        "Open": {"properties": {}},
        "Effort": {"type": "string", "enum": ["low", "high"]},
        "Union": {"anyOf": [{"$ref": "#/$defs/Tool"}, {"type": "string"}]},
    }
}


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("in_memory", "in_memory"),
        ("a" * 16, "a" * 16),
        ("previous_response_id", "pre..._id"),
        ("file_search_call.results", "fil...lts"),
    ],
)
def test_a_name_over_16_characters_is_abbreviated(name: str, printed: str) -> None:
    assert abbreviate(name) == printed


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "null"}, "null"),
        ({}, "an object"),
        ({"$ref": "#/$defs/Tool"}, "an object"),
        ({"$ref": "#/$defs/Alias"}, "an object"),
        ({"$ref": "#/$defs/Named"}, "a tool"),
        ({"$ref": "#/$defs/Tool", "x-expected": "a thing"}, "a thing"),
        ({"const": "auto"}, "one of 'auto'"),
        ({"type": "array", "items": {"type": "integer"}}, "an array of integers"),
        ({"type": "array", "items": {"type": "number"}}, "an array of decimals"),
        ({"type": "array", "items": {"type": "boolean"}}, "an array of booleans"),
        ({"type": "array"}, "an array of objects"),
        ({"type": "array", "items": {"$ref": "#/$defs/Open"}}, "an array of objects"),
        ({"type": "array", "items": {"$ref": "#/$defs/Union"}}, "an array of objects"),
        ({"type": "array", "items": {"$ref": "#/$defs/Effort"}}, "an array of one of 'low' or 'high'"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, "an array of an array of strings"),
        ({"type": "array", "items": {"x-expected": "tools"}}, "an array of tools"),
        ({"anyOf": [{"type": "string"}, {"type": "string"}]}, "a string"),
        (
            {"anyOf": [{"type": "integer"}, {"type": "array", "items": {}}, {"type": "boolean"}, {"type": "null"}]},
            "one of an integer, array of objects, or boolean",
        ),
    ],
)
def test_what_was_expected_is_read_from_the_schema(schema: dict[str, Any], expected: str) -> None:
    assert describe_expected(ROOT, schema) == expected


@pytest.mark.parametrize(
    ("name", "body", "hint"),
    [
        ("modl", {}, " Did you mean 'model'?"),
        ("strem", {}, " Did you mean 'stream' or 'store'?"),
        ("strem", {"stream": True}, " Did you mean 'store'?"),
        ("modl", {"model": "x"}, ""),
        ("temperatur_e__", {}, ""),
        ("", {}, ""),
    ],
)
def test_known_names_within_two_edits_are_suggested(name: str, body: dict[str, Any], hint: str) -> None:
    assert did_you_mean(name, ["model", "store", "stream", "temperature"], body) == hint


def test_nothing_is_near_a_name_of_another_length_however_long() -> None:
    assert did_you_mean("long_name" * 1_000_000, ["model", "long_name"], {}) == ""
    assert did_you_mean("stor", ["store", "stores", "storage"], {}) == " Did you mean 'store' or 'stores'?"


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [("", "", 0), ("a", "", 1), ("", "abc", 3), ("kitten", "sitting", 3), ("stroe", "store", 2), ("flaw", "lawn", 2)],
)
def test_the_distance_counts_edits(one: str, other: str, edits: int) -> None:
    assert edit_distance(one, other) == edits


@given(st.text(max_size=8), st.text(max_size=8), st.text(max_size=8))
def test_the_distance_is_a_metric(one: str, other: str, third: str) -> None:
    assert edit_distance(one, other) == edit_distance(other, one)
    assert (edit_distance(one, other) == 0) is (one == other)
    assert edit_distance(one, third) <= edit_distance(one, other) + edit_distance(other, third)
