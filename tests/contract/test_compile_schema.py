"""What makes a JSON Schema invalid, in the words of Python's `jsonschema`."""

from typing import Any

import pytest
from jsonschema import FormatChecker
from jsonschema.exceptions import best_match
from jsonschema.validators import Draft202012Validator

from harness.contract.compile_schema import find_schema_problem, unfolded_size
from tests.support.cpu_time import cpu_time

INVALID = [
    {"type": "bogus"},
    {"properties": []},
    {"properties": {"a": []}},
    {"properties": {"a": {"type": "int"}}},
    {"required": "items"},
    {"required": [1]},
    {"enum": 5},
    {"$ref": 5},
    {"items": [{}]},
    {"anyOf": {"type": "string"}},
    {"additionalProperties": None},
    {"minItems": "1"},
    {"$defs": {"A": {"properties": {"b": 3}}}, "properties": []},
    {"properties": {"a": {"pattern": "\\p{Cc}"}}},
    {"properties": {"a": {"pattern": "(?<name>a)"}}},
    {"patternProperties": {"[": {}}},
]
VALID = [
    {},
    {"type": ["string", "null"]},
    {"properties": {"pattern": {"type": "string"}}},
    {"properties": {"a": {"pattern": "^(?!b)a$"}}},
    {"const": {"pattern": "("}, "default": {"type": 5}},
    {"$ref": "https://example.com/elsewhere"},
    {"$schema": "https://example.com/a-dialect"},
    {"x-own": 5},
]


@pytest.mark.parametrize("schema", INVALID, ids=str)
def test_the_words_are_those_of_jsonschema(schema: Any) -> None:
    validator = Draft202012Validator(Draft202012Validator.META_SCHEMA, format_checker=FormatChecker(formats=["regex"]))
    expected = best_match(validator.iter_errors(schema))
    assert find_schema_problem(schema) == f"{expected.message}."


@pytest.mark.parametrize("schema", VALID, ids=str)
def test_a_valid_schema_has_no_problem(schema: Any) -> None:
    assert find_schema_problem(schema) == ""


@pytest.mark.parametrize("schema", [{"anyOf": []}, {"minItems": -1}, {"required": ["a", "a"]}], ids=str)
def test_what_the_api_says_of_other_keywords_is_unknown(schema: Any) -> None:
    assert find_schema_problem(schema) == ""


def test_a_problem_of_a_long_schema_is_found_as_well() -> None:
    many = {"properties": {f"a{n}": {"type": "int", "pattern": "("} for n in range(20_000)}}
    assert find_schema_problem(many) == "'int' is not valid under any of the given schemas."


def test_patterns_cost_no_more_than_their_bound() -> None:
    with cpu_time() as spent:
        assert find_schema_problem({"type": "string", "pattern": "(a+)+$" + "b?" * 500_000}) == ""
        assert find_schema_problem({"patternProperties": {f"{number}{'b?' * 500}": {} for number in range(900)}}) == ""
    assert spent.seconds < 1


def test_the_values_of_an_enum_are_no_parts_of_a_schema() -> None:
    assert unfolded_size({"enum": [{"v": number} for number in range(1_000)]}) == 1
    assert unfolded_size({"properties": {"enum": {"properties": {"a": {}}}}}) == 5
