"""What the mock says when nothing is scripted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.core.exchange import Request
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import CUSTOM_TOOL_INPUT, GREETING, THANKS, small_talk
from harness.world.api_call import ApiCall
from harness.world.world import World
from tests.support.in_process import post

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CLOCK = {"type": "function", "name": "get_time", "parameters": None}


def said(**body: Any) -> Any:
    """Return the one item that answers a request."""
    (item,) = small_talk(
        ApiCall(Request("POST", "/responses", body={"model": "gpt-4.1", "input": "hi", **body}), World())
    )
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
    (item,) = small_talk(ApiCall(Request("POST", "/responses"), World()))
    assert item.members["content"][0]["text"] == GREETING


@pytest.mark.parametrize(
    "choice",
    [
        "required",
        {"type": "function", "name": "get_weather"},
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "get_weather"}]},
    ],
)
def test_a_demanded_tool_is_called_with_arguments_that_fit(choice: Any) -> None:
    call = said(tools=[{"type": "web_search"}, WEATHER, CLOCK], tool_choice=choice)
    assert (call.type, call.members["name"]) == ("function_call", "get_weather")
    assert json.loads(call.members["arguments"]) == {"city": "example"}


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
    assert text(text={"format": wanted}) == '{"city":"example"}'
    assert text(input="What about the city of Lima?", text={"format": wanted}) == '{"city":"Lima"}'
    assert text(text={"format": {"type": "json_object"}}) == "{}"
    assert text(text={"format": {"type": "text"}}) == GREETING


def test_the_mock_answers_an_impossible_schema_with_what_to_do() -> None:
    mock = MockApi(fallback=small_talk)
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^[xyz]{40}$"}}, "required": ["x"]}
    wanted = {"type": "json_schema", "name": "n", "schema": {**schema, "additionalProperties": False}}
    answer = post(mock, {"model": "gpt-4.1", "input": "hi", "text": {"format": wanted}})
    assert answer.status == 418
    assert "no example of text.format" in answer.body["error"]["message"]
