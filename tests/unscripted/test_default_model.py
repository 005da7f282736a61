"""What the mock says when nothing is scripted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.core.exchange import Request
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import SMALL_TALK, small_talk
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
    assert text() == SMALL_TALK


@pytest.mark.parametrize(
    "input",
    [
        "Call get_weather for Rome.",
        "Answer in three words.",
        [{"role": "user", "content": [{"type": "input_text", "text": "Use the tool."}]}],
    ],
)
@pytest.mark.parametrize("choice", ["auto", "none", {"type": "allowed_tools", "mode": "auto", "tools": [WEATHER]}])
def test_what_the_user_says_changes_nothing(input: Any, choice: Any) -> None:
    assert text(input=input, tools=[WEATHER], tool_choice=choice) == SMALL_TALK


def test_an_effort_makes_no_reasoning() -> None:
    assert text(model="gpt-5.4", reasoning={"effort": "high", "summary": "auto"}) == SMALL_TALK


def test_a_body_that_is_no_object_gets_small_talk_too() -> None:
    (item,) = small_talk(ApiCall(Request("POST", "/responses"), World()))
    assert item.members["content"][0]["text"] == SMALL_TALK


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
    assert (call.type, call.members["name"], call.members["input"]) == ("custom_tool_call", "run_sql", "ok")


@pytest.mark.parametrize(
    "choice", ["required", {"type": "function", "name": "other"}, {"mode": "required", "tools": []}]
)
def test_a_demand_that_no_tool_meets_gets_small_talk(choice: Any) -> None:
    assert text(tools=[] if choice == "required" else [WEATHER], tool_choice=choice) == SMALL_TALK


CALL = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "18"}


@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "name": "get_weather"}])
def test_after_a_tool_output_comes_a_text_so_that_loops_end(choice: Any) -> None:
    assert text(input=[CALL, OUTPUT], tools=[WEATHER], tool_choice=choice) == SMALL_TALK


def test_after_a_tool_output_the_wanted_format_still_holds() -> None:
    assert text(input=[CALL, OUTPUT], text={"format": {"type": "json_object"}}) == "{}"


def test_json_is_answered_where_json_is_wanted() -> None:
    wanted = {"type": "json_schema", "name": "n", "schema": WEATHER["parameters"], "strict": True}
    assert text(text={"format": wanted}) == '{"city":"example"}'
    assert text(input="What about the city of Lima?", text={"format": wanted}) == '{"city":"example"}'
    assert text(text={"format": {"type": "json_object"}}) == "{}"
    assert text(text={"format": {"type": "text"}}) == SMALL_TALK


def test_the_mock_answers_an_impossible_schema_with_what_to_do() -> None:
    mock = MockApi(fallback=small_talk)
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": "^[xyz]{40}$"}}, "required": ["x"]}
    wanted = {"type": "json_schema", "name": "n", "schema": {**schema, "additionalProperties": False}}
    answer = post(mock, {"model": "gpt-4.1", "input": "hi", "text": {"format": wanted}})
    assert answer.status == 418
    assert "no example of text.format" in answer.body["error"]["message"]
