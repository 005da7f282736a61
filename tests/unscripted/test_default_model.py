"""What the mock says when nothing is scripted."""

import json
from typing import Any

import pytest

from harness.core.exchange import Json, Request
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import SMALL_TALK, small_talk
from harness.world.api_call import ApiCall
from harness.world.world import World
from tests.support.clients.unscripted import (
    CASES,
    CLIENT_SEARCH,
    CONTAINER_SHELL,
    DEFERRED,
    FREE_MCP,
    KEY,
    MCP,
    MODEL,
    SEARCH,
    WEATHER,
    Conversation,
    model_for,
    results_of,
)
from tests.support.in_process import post

WEATHER_OF_CITY = {
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
@pytest.mark.parametrize(
    "choice", ["auto", "none", {"type": "allowed_tools", "mode": "auto", "tools": [WEATHER_OF_CITY]}]
)
def test_what_the_user_says_changes_nothing(input: Any, choice: Any) -> None:
    assert text(input=input, tools=[WEATHER_OF_CITY], tool_choice=choice) == SMALL_TALK


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
    call = said(tools=[{"type": "web_search"}, WEATHER_OF_CITY, CLOCK], tool_choice=choice)
    assert (call.type, call.members["name"]) == ("function_call", "get_weather")
    assert json.loads(call.members["arguments"]) == {"city": "example"}


def test_a_tool_without_parameters_is_called_with_an_empty_object() -> None:
    assert (
        said(tools=[WEATHER_OF_CITY, CLOCK], tool_choice={"type": "function", "name": "get_time"}).members["arguments"]
        == "{}"
    )


def test_a_custom_tool_is_called_with_a_word() -> None:
    call = said(tools=[{"type": "custom", "name": "run_sql"}], tool_choice={"type": "custom", "name": "run_sql"})
    assert (call.type, call.members["name"], call.members["input"]) == ("custom_tool_call", "run_sql", "ok")


@pytest.mark.parametrize(
    "choice", ["required", {"type": "function", "name": "other"}, {"mode": "required", "tools": []}]
)
def test_a_demand_that_no_tool_meets_gets_small_talk(choice: Any) -> None:
    assert text(tools=[] if choice == "required" else [WEATHER_OF_CITY], tool_choice=choice) == SMALL_TALK


CALL = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "18"}


@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "name": "get_weather"}])
def test_after_a_tool_output_comes_a_text_so_that_loops_end(choice: Any) -> None:
    assert text(input=[CALL, OUTPUT], tools=[WEATHER_OF_CITY], tool_choice=choice) == SMALL_TALK


def test_after_a_tool_output_the_wanted_format_still_holds() -> None:
    assert text(input=[CALL, OUTPUT], text={"format": {"type": "json_object"}}) == "{}"


def test_json_is_answered_where_json_is_wanted() -> None:
    wanted = {"type": "json_schema", "name": "n", "schema": WEATHER_OF_CITY["parameters"], "strict": True}
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


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("tools", "choice", "types"), CASES)
def test_every_kind_of_tool_choice_is_obeyed(tools: Any, choice: Any, types: list[str], stream: bool) -> None:
    assert Conversation(model=model_for(tools), tools=tools, tool_choice=choice, stream=stream).types() == types


@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize(("tools", "choice", "types"), CASES)
def test_every_answer_may_be_sent_back(tools: Any, choice: Any, types: list[str], store: bool) -> None:
    talk = Conversation(model=model_for(tools), tools=tools, store=store, include=["reasoning.encrypted_content"])
    history: list[Json] = [{"role": "user", "content": "hi"}]
    first = talk.ask(history, tool_choice=choice, reasoning={"effort": "high"}).body
    history += [*first["output"], *results_of(first["output"])]
    second = talk.ask(history).body
    history += [*second["output"], *results_of(second["output"])]
    talk.ask(history)
    if store:
        talk.ask(results_of(first["output"]), previous_response_id=first["id"])


def test_a_deferred_function_is_called_in_its_namespace_and_searched_for_once() -> None:
    talk = Conversation(tools=[DEFERRED, SEARCH], tool_choice="required")
    first = talk.ask("What is the rate?").body
    search, found, call = first["output"]
    assert (search["arguments"], search["execution"], search["call_id"]) == ({"paths": ["get_rate"]}, "server", None)
    assert [tool["name"] for tool in found["tools"]] == ["get_rate"]
    assert call["namespace"] == "get_rate"
    assert talk.types(results_of(first["output"]), previous_response_id=first["id"], tool_choice="auto") == ["message"]
    history = [*first["output"], *results_of(first["output"]), {"role": "user", "content": "The rate again?"}]
    assert talk.types(history) == ["function_call"]


def test_what_the_client_has_found_is_called() -> None:
    talk = Conversation(tools=[DEFERRED, CLIENT_SEARCH], tool_choice="required")
    first = talk.ask("What is the rate?").body
    (search,) = first["output"]
    assert search["execution"] == "client"
    assert isinstance(search["arguments"]["goal"], str)
    assert talk.types(results_of(first["output"]), previous_response_id=first["id"]) == ["function_call"]


@pytest.mark.parametrize(("approve", "types"), [(True, ["mcp_call", "message"]), (False, ["message"])])
def test_a_call_of_a_server_waits_for_its_approval(approve: bool, types: list[str]) -> None:
    talk = Conversation(tools=[MCP])
    first = talk.ask("hi", tool_choice="required").body
    listed, asked = first["output"]
    answer = {"type": "mcp_approval_response", "approval_request_id": asked["id"], "approve": approve}
    assert talk.types([answer], previous_response_id=first["id"]) == types
    assert talk.types([listed, asked, answer]) == types
    known = {**listed, "tools": [{"name": "look", "input_schema": {"type": "object"}}]}
    other = {**listed, "id": "mcpl_other", "server_label": "other"}
    given = [other, known, {"role": "user", "content": "hi"}]
    assert talk.ask(given, tool_choice="required").body["output"][0]["name"] == "look"


def test_a_scripted_server_is_called_without_a_turn() -> None:
    talk = Conversation(tools=[FREE_MCP])
    talk.api.open(KEY).mcp("docs", {"find": "found"})
    listed, call, said = talk.ask("hi", tool_choice="required").body["output"]
    assert [tool["name"] for tool in listed["tools"]] == ["find"]
    assert (call["name"], call["output"], said["type"]) == ("find", "found", "message")


def test_a_scripted_server_without_tools_is_not_called() -> None:
    talk = Conversation(tools=[FREE_MCP], tool_choice="required")
    talk.api.open(KEY).mcp("docs", {})
    world, body = talk.api.open(KEY).world, {**talk.members, "input": "hi"}
    assert [item.type for item in small_talk(ApiCall(Request("POST", "/responses", body=body), world))] == ["message"]


@pytest.mark.parametrize(
    ("tool", "types", "name"),
    [
        ({"type": "fabric_iq_preview"}, ["mcp_list_tools", "mcp_approval_request"], "search"),
        (
            {"type": "fabric_iq_preview", "require_approval": "never"},
            ["mcp_list_tools", "mcp_call", "message"],
            "search",
        ),
        (
            {"type": "openapi", "openapi": {"name": "rates"}},
            ["openapi_call", "openapi_call_output", "message"],
            "rates",
        ),
    ],
)
def test_a_tool_of_a_project_is_called_as_its_kind_is(tool: Json, types: list[str], name: str) -> None:
    body = {"model": MODEL, "input": "hi", "tools": [tool], "tool_choice": "required"}
    turn = small_talk(ApiCall(Request("POST", "/responses", body=body), World()))
    assert [item.type for item in turn] == types
    assert {item.members["name"] for item in turn if "name" in item.members} == {name}


ORDER = {**WEATHER, "name": "get_order"}
ANSWER = {**WEATHER, "name": "give_answer", "description": "Takes the final answer."}

ALLOWED = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "get_weather"}]}


@pytest.mark.parametrize(
    ("choice", "names"), [("required", ["get_order", "get_weather", "give_answer"]), (ALLOWED, ["get_weather"])]
)
def test_a_call_that_is_required_is_made_after_outputs_too(choice: Any, names: list[str]) -> None:
    talk = Conversation(tools=[ORDER, WEATHER, ANSWER], tool_choice=choice)
    history: list[Json] = [{"role": "user", "content": "Where is my order?"}]
    for name in names:
        called = talk.ask(history).body["output"]
        assert [call["name"] for call in called] == [name]
        history += [*called, *results_of(called)]
    assert talk.types(history, tool_choice="auto") == ["message"]


def test_a_required_tool_of_the_api_is_called_after_those_of_the_client_and_ends_the_turn() -> None:
    talk = Conversation(tools=[{"type": "web_search"}, WEATHER], tool_choice="required")
    history: list[Json] = [{"role": "user", "content": "What is the weather?"}]
    for types in (["function_call"], ["web_search_call", "message"]):
        said = talk.ask(history).body["output"]
        assert [item["type"] for item in said] == types
        history += [*said, *results_of(said)]
    assert talk.types(history)[0] == "function_call"  # the user has spoken again


def test_a_search_of_the_client_that_finds_nothing_is_not_repeated() -> None:
    talk = Conversation(tools=[DEFERRED, CLIENT_SEARCH], tool_choice="required")
    first = talk.ask("What is the rate?").body
    (search,) = first["output"]
    nothing = {"type": "tool_search_output", "execution": "client", "call_id": search["call_id"], "tools": []}
    body = {**talk.members, "input": [nothing], "previous_response_id": first["id"]}
    turn = small_talk(ApiCall(Request("POST", "/responses", body=body), talk.api.open(KEY).world))
    assert [item.type for item in turn] == ["message"]


def test_an_automatic_shell_says_in_which_container_it_ran() -> None:
    talk = Conversation(tools=[CONTAINER_SHELL], tool_choice="required")
    place = talk.ask("hi").body["output"][0]["environment"]
    assert (place["type"], place["container_id"][:5]) == ("container_reference", "cntr_")
    assert talk.api.open(KEY).world.containers.find(place["container_id"])
