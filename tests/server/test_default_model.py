"""What the mock says when nothing is scripted."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.core.errors import ScriptError
from harness.core.exchange import Request
from harness.server.default_model import CUSTOM_TOOL_INPUT, GREETING, THANKS, least_instance, small_talk
from harness.server.mock_api import MockApi

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
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CLOCK = {"type": "function", "name": "get_time", "parameters": None}


def said(**body: Any) -> Any:
    """The one item that answers a request."""
    (item,) = small_talk(Request("POST", "/responses", body={"model": "gpt-4.1", "input": "hi", **body}))
    return item


def text(**body: Any) -> str:
    return str(said(**body).members["content"][0]["text"])


def test_a_request_is_answered_with_small_talk() -> None:
    assert text() == GREETING


def test_tools_alone_are_not_called() -> None:
    assert text(tools=[WEATHER], tool_choice="auto") == GREETING


@pytest.mark.parametrize(
    "input",
    [
        "What's the weather in Paris?",
        [{"role": "user", "content": [{"type": "input_text", "text": "WEATHER, please"}]}],
        [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Tell me the weather."}],
    ],
)
def test_a_tool_is_called_when_the_user_speaks_of_what_it_is_for(input: Any) -> None:
    assert said(input=input, tools=[CLOCK, WEATHER]).members["name"] == "get_weather"


@pytest.mark.parametrize(
    "body",
    [
        {"input": "What's the weather?", "tool_choice": "none"},
        {"input": "Get me a beer."},
        {"input": [{"role": "assistant", "content": "The weather?"}]},
        {"input": [{"role": "user", "content": "The weather?"}, {"role": "user", "content": "Never mind."}]},
    ],
)
def test_else_it_is_not(body: Any) -> None:
    assert text(tools=[WEATHER], **body) == GREETING


def test_names_in_camel_case_are_words_too() -> None:
    assert said(input="book a flight", tools=[{**WEATHER, "name": "bookFlight"}]).type == "function_call"


def test_a_body_that_is_no_object_gets_small_talk_too() -> None:
    (item,) = small_talk(Request("POST", "/responses"))
    assert item.members["content"][0]["text"] == GREETING


@pytest.mark.parametrize(
    "choice",
    [
        "required",
        {"type": "function", "name": "get_weather"},
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "get_weather"}]},
    ],
)
def test_a_demanded_tool_is_called_with_the_least_arguments(choice: Any) -> None:
    call = said(tools=[{"type": "web_search"}, WEATHER, CLOCK], tool_choice=choice)
    assert (call.type, call.members["name"]) == ("function_call", "get_weather")
    assert json.loads(call.members["arguments"]) == {"city": ""}


def test_a_tool_without_parameters_is_called_with_an_empty_object() -> None:
    assert (
        said(tools=[WEATHER, CLOCK], tool_choice={"type": "function", "name": "get_time"}).members["arguments"] == "{}"
    )


def test_a_custom_tool_is_called_with_a_word() -> None:
    call = said(tools=[{"type": "custom", "name": "run_sql"}], tool_choice={"type": "custom", "name": "run_sql"})
    assert (call.type, call.members["name"], call.members["input"]) == (
        "custom_tool_call",
        "run_sql",
        CUSTOM_TOOL_INPUT,
    )


@pytest.mark.parametrize(
    "choice", ["required", {"type": "function", "name": "other"}, {"mode": "required", "tools": []}]
)
def test_a_demand_that_no_function_meets_gets_small_talk(choice: Any) -> None:
    assert text(tools=[] if choice == "required" else [WEATHER], tool_choice=choice) == GREETING


def test_after_a_tool_output_comes_a_text_so_that_loops_end() -> None:
    output = {"type": "function_call_output", "call_id": "call_1", "output": "18"}
    assert text(input=[output], tools=[WEATHER], tool_choice="required") == THANKS


def test_after_a_tool_output_the_wanted_format_still_holds() -> None:
    output = {"type": "function_call_output", "call_id": "call_1", "output": "18"}
    assert text(input=[output], text={"format": {"type": "json_object"}}) == "{}"


def test_json_is_answered_where_json_is_wanted() -> None:
    wanted = {"type": "json_schema", "name": "n", "schema": WEATHER["parameters"], "strict": True}
    assert text(text={"format": wanted}) == '{"city":""}'
    assert text(text={"format": {"type": "json_object"}}) == "{}"
    assert text(text={"format": {"type": "text"}}) == GREETING


def test_the_mock_answers_an_impossible_schema_with_what_to_do() -> None:
    mock = MockApi(fallback=small_talk)
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^[xyz]{40}$"}}, "required": ["x"]}
    wanted = {"type": "json_schema", "name": "n", "schema": {**schema, "additionalProperties": False}}
    raw = json.dumps({"model": "gpt-4.1", "input": "hi", "text": {"format": wanted}}).encode()
    answer = mock.handle("POST", "/v1/responses", {"authorization": "Bearer sk-a"}, {}, raw)
    assert answer.status == 418
    assert "no example of text.format" in answer.body["error"]["message"]


@pytest.mark.parametrize(
    ("schema", "least"),
    [
        ({"type": "string"}, ""),
        ({"type": "integer"}, 0),
        ({"type": "number"}, 0),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"type": "object"}, {}),
        ({}, ""),
        (True, ""),
        ({"enum": ["red", "green"]}, "red"),
        ({"type": "string", "enum": [1, "one"]}, "one"),
        ({"type": "boolean", "const": True}, True),
        ({"type": ["string", "null"]}, ""),
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
        ({"type": "string", "minLength": 3}, "aaa"),
        ({"type": "string", "pattern": "^[A-Z]{2}$"}, "AA"),
        ({"type": "string", "pattern": "^\\d{4}$"}, "0000"),
        ({"type": "string", "pattern": "@"}, "a@example.com"),
        ({"type": "string", "format": "date"}, "2026-01-01"),
        ({"type": "string", "format": "unheard-of"}, ""),
        ({"allOf": [{"$ref": "#/$defs/A"}, {"required": ["a"]}], "$defs": {"A": {"properties": {"a": {}}}}}, {"a": ""}),
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
    assert least_instance(schema) == least
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
        ({"type": "text"}, "'text' is no JSON type"),
        ({"type": "array", "items": {"const": 1}, "minItems": 2, "uniqueItems": True}, "[1,1] does not satisfy it"),
        ({"$ref": "#/$defs/Missing"}, "$defs"),
        ({"anyOf": [{"enum": []}]}, "no value for"),
        ({"type": []}, "[] is not valid"),
    ],
)
def test_a_schema_without_an_instance_says_why_and_what_to_do(schema: Any, reason: str) -> None:
    with pytest.raises(ScriptError) as caught:
        least_instance(schema, "tool 'f'")
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


@given(st.recursive(SCALARS, _composed, max_leaves=8))
def test_every_instance_satisfies_its_schema(schema: Any) -> None:
    jsonschema.Draft202012Validator(schema).validate(least_instance(schema))
