"""Which calls a model without a script makes: each conforms, is possible, and is taken back."""

from __future__ import annotations

from typing import Any

import pytest

from harness.core.exchange import Json, Request
from harness.unscripted.default_model import small_talk
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


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("tools", "choice", "types"), CASES)
def test_every_kind_of_tool_choice_is_obeyed(tools: Any, choice: Any, types: list[str], stream: bool) -> None:
    assert Conversation(model=model_for(tools), tools=tools, tool_choice=choice, stream=stream).types() == types


@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize(("tools", "choice", "types"), CASES)
def test_every_answer_is_taken_back(tools: Any, choice: Any, types: list[str], store: bool) -> None:
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
    ("tool", "type"),
    [
        ({"type": "fabric_iq_preview"}, "mcp_approval_request"),
        ({"type": "fabric_iq_preview", "require_approval": "never"}, "mcp_call"),
    ],
)
def test_a_server_of_a_project_asks_for_approval_as_its_kind_does(tool: Json, type: str) -> None:
    body = {"model": MODEL, "input": "hi", "tools": [tool], "tool_choice": "required"}
    turn = small_talk(ApiCall(Request("POST", "/responses", body=body), World()))
    assert type in [item.type for item in turn]


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
