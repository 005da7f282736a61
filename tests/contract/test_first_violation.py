"""From a refusal of the schema to the one fact the API would name: which keyword, where, with which limits."""

from typing import Any

import jsonschema_rs
import pytest

from harness.contract import first_violation, ordered_validator, schema
from harness.contract.first_violation import SchemaViolation
from harness.contract.phrasing import format_path
from harness.contract.schema import allowed_types, deref, discriminator_values

CREATE = "CreateResponse"
MINIMAL = {"model": "gpt-4.1", "input": "hi"}


def first(root: str = CREATE, **members: Any) -> SchemaViolation:
    """Return the first fault of a request for a response with these members, or of a body of another root."""
    violation = first_violation.find_violation(root, {**MINIMAL, **members} if root == CREATE else members)
    assert violation is not None, "the schema took it"
    return violation


def found(root: str = CREATE, **members: Any) -> tuple[str, str]:
    violation = first(root, **members)
    return violation.keyword, violation.path


class TestTheKeyword:
    """Every keyword of the schemas, broken alone, is a case of `evidence/test_words.py`; here is what one value may be."""

    @pytest.mark.parametrize(
        ("members", "keyword", "path"),
        [
            ({"store": 1}, "type", "store"),
            ({"max_output_tokens": True}, "type", "max_output_tokens"),
            ({"max_output_tokens": 16.5}, "type", "max_output_tokens"),
            ({"truncation": 1}, "type", "truncation"),
            ({"messages": []}, "not", "messages"),
            ({"model": None}, "null", "model"),
            ({"reasoning": {"effort": True}}, "type", "reasoning.effort"),
            ({"tools": [{"type": "function", "name": "a\n"}]}, "pattern", "tools[0].name"),
            ({"tools": [{"name": "f"}]}, "required", "tools[0].type"),
            ({"input": [{}]}, "enum", "input[0]"),
            ({"input": [{"type": 5}]}, "enum", "input[0]"),
            ({"input": [{"type": "function_call"}]}, "required", "input[0].arguments"),
            ({"input": [{"role": "user"}]}, "required", "input[0].content"),
            ({"input": [{"role": "user", "content": [{"type": "output_text"}]}]}, "enum", "input[0].content[0]"),
            ({"input": [{"role": "user", "content": [{"type": "bogus"}]}]}, "enum", "input[0].content[0].type"),
            ({"input": [{"role": "user", "content": [[]]}]}, "type", "input[0].content[0]"),
        ],
    )
    def test_and_the_place_are_those_of_the_first_fault(self, members: dict[str, Any], keyword: str, path: str) -> None:
        assert found(**members) == (keyword, path)

    @pytest.mark.parametrize(
        ("root", "items"), [(CREATE, "input"), ("CompactResponse", "input"), ("CreateConversation", "items")]
    )
    def test_the_keyword_of_an_item_without_type_is_that_of_a_message(self, root: str, items: str) -> None:
        body = {"model": "m"} if items == "input" else {}
        assert found(root, **body, **{items: [{"role": "user", "content": 5}]}) == ("type", f"{items}[0].content")

    def test_the_keyword_is_found_behind_a_thousand_good_items(self) -> None:
        good = {"role": "user", "content": "x"}
        assert found(input=[good] * 1000 + [{"role": "user", "content": 5}, {"type": "x"}])[1] == "input[1000].content"

    def test_no_keyword_is_named_for_a_body_the_schema_accepts(self) -> None:
        right = {**MINIMAL, "max_output_tokens": 16.0, "temperature": 1, "metadata": {}, "tools": []}
        assert first_violation.find_violation(CREATE, right) is None

    def test_a_fault_that_the_walk_does_not_see_is_no_refusal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(first_violation, "_load_walk", lambda *_: ordered_validator.SchemaWalk({}))
        with pytest.raises(RuntimeError, match=r"the validators disagree: anyOf at tools\[0\]"):
            first(tools=[{"type": "function"}])


OBJECT = {"type": "object"}
TEXT = {"a": {"type": "string"}}


@pytest.mark.parametrize(
    ("own", "body", "keyword", "path"),
    [
        ({"enum": ["a", 1]}, 1.5, "type", ""),
        ({"enum": ["a", 1]}, 2, "enum", ""),
        ({"const": "a"}, None, "type", ""),
        ({"const": "a"}, "b", "enum", ""),
        ({"additionalProperties": False, "allOf": [OBJECT]}, [], "type", ""),
        ({"additionalProperties": True, "properties": TEXT}, {"x": 1, "a": 5}, "type", "a"),
        ({"additionalProperties": {"type": "string"}}, {"x": 5}, "type", "x"),
        ({"propertyNames": {"maxLength": 3}, "properties": TEXT}, {"a": 5}, "type", "a"),
        ({"propertyNames": {"maxLength": 3}, "allOf": [OBJECT]}, "x", "type", ""),
        ({"items": {"type": "string"}, "allOf": [{"type": "array"}]}, "x", "type", ""),
        ({"required": ["a"], "allOf": [OBJECT]}, "x", "type", ""),
        ({"pattern": "^a$", "allOf": [OBJECT]}, 5, "type", ""),
        ({"pattern": "b"}, "a", "pattern", ""),
        ({"anyOf": [{"type": "string", "maxLength": 1}, {"type": "string", "pattern": "^a$"}]}, "bb", "maxLength", ""),
        ({"anyOf": [{"type": "string", "maxLength": 1}, {"type": "null"}]}, "bb", "maxLength", ""),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, "required", "a"),
        ({"minimum": 2}, 1, "minimum", ""),
        ({"minItems": 2}, [1], "minItems", ""),
        ({"minItems": 1}, [], "minItems:empty", ""),
    ],
)
def test_a_keyword_speaks_only_of_values_of_its_type(
    monkeypatch: pytest.MonkeyPatch, own: dict[str, Any], body: Any, keyword: str, path: str
) -> None:
    monkeypatch.setattr(schema, "load", lambda *_: own)
    monkeypatch.setattr(schema, "validator", lambda *_: jsonschema_rs.validator_for(own))
    violation = first_violation.find_violation(f"test {own}", body)
    assert (violation.keyword, violation.path) == (keyword, path)


class TestTheFacts:
    """The examples of the rules have the words that are made of them; here is what no example says."""

    @pytest.mark.parametrize(
        ("members", "facts"),
        [
            ({"metadata": {"k" * 65: ""}}, {"limit": 64, "length": 65, "name": "kkk...kkk", "key": "k" * 65}),
            ({"tools": [{"type": "function", "name": "a b"}]}, {"value": "a b", "pattern": "^[a-zA-Z0-9_-]+$"}),
            ({"strem": True, "stream": True}, {"hint": " Did you mean 'store'?"}),
            ({"text": {"verbosty": "low"}}, {"hint": ""}),
        ],
    )
    def test_the_facts_are_what_the_words_need(self, members: dict[str, Any], facts: dict[str, Any]) -> None:
        assert facts.items() <= first(**members).facts.items()

    @pytest.mark.parametrize(
        ("members", "rule"), [({"input": [{"type": "x"}]}, "input_item_type"), ({"temperature": "hot"}, None)]
    )
    def test_the_facts_name_the_rule_that_the_schema_names(self, members: dict[str, Any], rule: str | None) -> None:
        assert first(**members).rule == rule


@pytest.mark.parametrize(
    ("steps", "path"), [([], ""), (["input", 0, "content", 1, "type"], "input[0].content[1].type"), ([0, "a"], "[0].a")]
)
def test_a_path_is_written_as_the_api_writes_it(steps: list[str | int], path: str) -> None:
    assert format_path(steps) == path


ROOT: dict[str, Any] = {
    "$defs": {
        "A": {"type": "object", "properties": {"type": {"const": "a"}}},
        "B": {"type": "object", "properties": {"type": {"anyOf": [{"type": "null"}, {"enum": ["b", "c"]}]}}},
        "Both": {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]},
        "Alias": {"$ref": "#/$defs/A"},
    }
}


class TestASchema:
    def test_a_schema_is_found_behind_references(self) -> None:
        assert deref(ROOT, {"$ref": "#/$defs/Alias"}) is ROOT["$defs"]["A"]

    @pytest.mark.parametrize(
        ("node", "types"),
        [
            ({"$ref": "#/$defs/Both"}, {"object"}),
            ({"type": ["string", "null"]}, {"string", "null"}),
            ({"anyOf": [{"type": "integer"}, {"const": "x"}]}, {"integer", "string"}),
            ({"enum": ["x", 1, None, 1.5, True]}, {"string", "integer", "null", "number", "boolean"}),
            ({}, {"string", "boolean", "integer", "number", "array", "object", "null"}),
        ],
    )
    def test_a_schema_says_which_types_it_lets_through(self, node: dict[str, Any], types: set[str]) -> None:
        assert allowed_types(ROOT, node) == types

    @pytest.mark.parametrize(
        ("name", "values"), [("A", ["a"]), ("B", ["b", "c"]), ("Both", ["a", "b", "c"]), ("Alias", ["a"])]
    )
    def test_a_schema_says_which_values_choose_it(self, name: str, values: list[str]) -> None:
        assert discriminator_values(ROOT, {"$ref": f"#/$defs/{name}"}, "type") == values
        assert discriminator_values(ROOT, {"$ref": f"#/$defs/{name}"}, "role") == []


KEYED: dict[str, Any] = {
    "anyOf": [
        {"type": "object", "properties": {"type": {"const": "a"}, "x": {"type": "string"}}, "required": ["type", "x"]},
        {"anyOf": [{**OBJECT, "properties": {"type": {"const": "b"}}}, {**OBJECT, "required": ["any"]}]},
        {"type": "object", "properties": {"type": {"type": "string", "pattern": "^mine[.]"}}, "required": ["type"]},
    ]
}


@pytest.mark.parametrize(
    ("body", "right"),
    [
        ({"type": "a", "x": ""}, True),
        ({"type": "a", "x": 1}, False),
        ({"type": "b"}, True),
        ({"type": "other", "any": 1}, True),
        ({"type": "mine.own"}, True),
        ({"type": "other"}, False),
    ],
)
def test_a_branch_without_a_key_is_tried_whatever_the_key_says(body: dict[str, Any], right: bool) -> None:
    assert (next(ordered_validator.SchemaWalk(KEYED).find_mismatches(body), None) is None) is right
    assert jsonschema_rs.is_valid(KEYED, body) is right
