"""How a response repeats its request: what the API fills in, closes, moves and leaves out."""

from typing import Any

import pytest

from harness.answers.response import build_initial_response, finish_response
from harness.contract.check import check_answer
from harness.core.exchange import Json
from harness.items import open_page, search, web_search_call
from tests.support.in_process import Client

NOWHERE = {"type": "approximate", "city": None, "country": None, "region": None, "timezone": None}
AMERICA = {**NOWHERE, "country": "US"}
EMPTY = {"type": "object", "properties": {}}
CLOSED = {**EMPTY, "additionalProperties": False, "required": []}
F: Json = {"type": "function", "name": "f", "parameters": EMPTY, "strict": False}
SAID_OF_F: Json = {**F, "description": None, "output_schema": None}
LATER: Json = {**F, "defer_loading": True, "description": "d"}
SEARCH: Json = {"type": "tool_search"}
TEXT_ONLY: Json = {"search_content_types": ["text"]}
WEB_SEARCH: Json = {
    "type": "web_search",
    "return_token_budget": "default",
    "search_context_size": "medium",
    **TEXT_ONLY,
}
IMAGES: Json = {"type": "image_generation", "background": "auto", "moderation": "auto", "n": 1}
SERVER: Json = {"type": "mcp", "server_label": "s"}
SAID_OF_SERVER: Json = {**SERVER, "server_description": None}
A_TOOL: Json = {"tool_names": ["a"]}


def echoed(*tools: Json, input: Any = "hi", model: str = "gpt-5.6-sol") -> list[Json]:
    """Return the tools of a response, which conforms."""
    response = build_initial_response({"model": model, "input": input, "tools": list(tools)})
    assert check_answer("Response", response) is None
    return response["tools"]


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ({"type": "web_search"}, {**WEB_SEARCH, "user_location": AMERICA}),
        (
            {"type": "web_search", "filters": {"blocked_domains": ["a.b"]}, "user_location": {"city": "Oslo"}},
            {**WEB_SEARCH, "filters": {"blocked_domains": ["a.b"]}, "user_location": {**NOWHERE, "city": "Oslo"}},
        ),
        (
            {"type": "web_search_preview", "search_context_size": "low"},
            {"type": "web_search_preview", **TEXT_ONLY, "search_context_size": "low", "user_location": AMERICA},
        ),
        (
            {**SERVER, "connector_id": "connector_gmail", "authorization": "ya29.token", "allowed_tools": A_TOOL},
            {
                **SAID_OF_SERVER,
                "allowed_tools": {"read_only": None, **A_TOOL},
                "authorization": "<redacted>",
                "connector_id": "connector_gmail",
                "headers": None,
                "require_approval": "always",
                "server_url": None,
            },
        ),
        (
            {**SERVER, "server_url": "https://a.b", "headers": {"x": "y"}, "require_approval": {"never": A_TOOL}},
            {
                **SAID_OF_SERVER,
                "allowed_tools": None,
                "headers": {"x": "<redacted>"},
                "require_approval": {"always": None, "never": {"read_only": None, **A_TOOL}},
                "server_url": "https://a.b",
            },
        ),
        (
            {"type": "file_search", "vector_store_ids": ["vs_1"]},
            {
                "type": "file_search",
                "filters": None,
                "max_num_results": 20,
                "ranking_options": {"ranker": "auto", "score_threshold": 0.0},
                "vector_store_ids": ["vs_1"],
            },
        ),
        (
            {"type": "image_generation", "action": "edit", "input_fidelity": "high", "quality": "low"},
            {**IMAGES, "output_compression": 100, "output_format": "png", "quality": "low", "size": "auto"},
        ),
        ({"type": "apply_patch"}, {"type": "apply_patch"}),
        ({"type": "custom", "name": "c"}, {"type": "custom", "name": "c", "format": {"type": "text"}}),
        ({**F, "parameters": {}}, SAID_OF_F),
        ({**F, "description": ""}, SAID_OF_F),
    ],
    ids=lambda value: value.get("type", "") if isinstance(value, dict) else None,
)
def test_a_tool_is_repeated_with_what_the_api_fills_in(tool: Json, said: Json) -> None:
    assert echoed(tool) == [said]


class TestAFunction:
    def test_a_function_without_strict_is_closed(self) -> None:
        parameters = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "place": {"anyOf": [{"type": "object", "properties": {"city": {"type": "string"}}}, {"type": "null"}]},
                "unit": {"type": "array", "items": {"$ref": "#/$defs/unit"}},
                "anything": True,
            },
            "required": ["unit"],
            "$defs": {"unit": {"type": "object", "properties": {}}},
        }
        (said,) = echoed({"type": "function", "name": "f", "parameters": parameters})
        place = {"type": "object", "properties": {"city": {"type": "string"}}}
        assert said["strict"] is True
        assert said["parameters"] == {
            **parameters,
            "properties": {
                "place": {"anyOf": [{**place, "additionalProperties": False, "required": ["city"]}, {"type": "null"}]},
                "unit": parameters["properties"]["unit"],
                "anything": True,
            },
            "required": ["unit", "place", "anything"],
            "additionalProperties": False,
            "$defs": {"unit": CLOSED},
        }

    @pytest.mark.parametrize("odd", [{"additionalProperties": True}, {"required": [[]]}, {"required": ["b"]}], ids=str)
    def test_a_function_that_cannot_be_closed_stays_as_it_is(self, odd: Json) -> None:
        parameters = {"type": "object", "properties": {}, **odd}
        (said,) = echoed({"type": "function", "name": "f", "parameters": parameters})
        assert (said["strict"], said["parameters"]) == (False, parameters)

    @pytest.mark.parametrize("strict", [True, False])
    def test_a_function_with_strict_stays_as_it_is(self, strict: bool) -> None:
        (said,) = echoed({**F, "strict": strict})
        assert (said["strict"], said["parameters"]) == (strict, EMPTY)

    def test_a_function_without_parameters_is_strict(self) -> None:
        (said,) = echoed({"type": "function", "name": "f"})
        assert (said["strict"], said["parameters"]) == (True, None)


class TestToolSearch:
    def test_stands_behind_the_functions(self) -> None:
        assert echoed(SEARCH, F) == [SAID_OF_F, {"type": "tool_search", "description": None, "parameters": None}]

    def test_tool_search_of_the_client_is_repeated_as_it_was_sent(self) -> None:
        mine = {**SEARCH, "execution": "client", "description": "d", "parameters": EMPTY}
        assert echoed(mine) == [mine]

    def test_turns_what_it_found_into_a_namespace(self) -> None:
        found = {"type": "tool_search_output", "tools": [{**LATER, "strict": True}]}
        *_, search, space = echoed(SEARCH, LATER, {**F, "name": "g"}, input=[found])
        bare = {**SAID_OF_F, "description": "d"}
        assert search["type"] == "tool_search"
        assert space == {"type": "namespace", "description": "d", "name": "f", "tools": [bare]}
        assert len(echoed(SEARCH, LATER, {**F, "name": "g"}, input=[found])) == 3

    def test_tool_search_that_found_what_is_declared_anyway_changes_nothing(self) -> None:
        found = {"type": "tool_search_output", "tools": [LATER]}
        assert [tool["type"] for tool in echoed(SEARCH, F, input=[found])] == ["function", "tool_search"]

    @pytest.mark.parametrize(
        ("model", "execution", "kinds"),
        [
            ("gpt-5.4", "client", ["tool_search", "namespace"]),
            ("gpt-5.4", "server", ["tool_search", "namespace"]),
            ("gpt-5.6", "client", ["function", "tool_search"]),
            ("gpt-5.6", "server", ["tool_search", "namespace"]),
        ],
    )
    def test_tool_search_of_a_client_leaves_functions_as_they_are_with_newer_models(
        self, model: str, execution: str, kinds: list[str]
    ) -> None:
        found = {"type": "tool_search_output", "execution": execution, "tools": [LATER]}
        assert [tool["type"] for tool in echoed(SEARCH, LATER, input=[found], model=model)] == kinds


@pytest.mark.parametrize("model", ["gpt-5.6", "gpt-6-astra"])
def test_tools_of_the_input_are_repeated_like_those_of_the_request(model: str) -> None:
    added = {"type": "additional_tools", "role": "developer", "tools": [F]}
    assert echoed(input=[added], model=model) == [SAID_OF_F]
    assert echoed(LATER, SEARCH, input=[added], model=model)[0] == SAID_OF_F


@pytest.mark.parametrize("model", ["gpt-5", "gpt-5.4"])
def test_older_models_repeat_functions_of_the_input_as_namespaces(model: str) -> None:
    added = {"type": "additional_tools", "role": "developer", "tools": [F]}
    said = echoed({**F, "name": "g"}, input=[added], model=model)
    assert said[1] == {"type": "namespace", "description": "", "name": "f", "tools": [SAID_OF_F]}
    assert len(said) == 2


STANDARD = {"mode": "standard", "effort": "medium"}
THIS_TURN = {**STANDARD, "context": "current_turn"}


def test_whether_a_search_reaches_the_web_is_not_repeated() -> None:
    assert "external_web_access" not in echoed({"type": "web_search", "external_web_access": False})[0]


@pytest.mark.parametrize(
    ("model", "asked", "said"),
    [
        ("gpt-4.1", {"summary": "auto"}, {"context": None, "effort": None, "summary": None}),
        ("gpt-5.6-sol", {"context": "auto"}, {**STANDARD, "context": "all_turns", "summary": None}),
        ("gpt-6-luna", {}, {**STANDARD, "context": "all_turns", "summary": None}),
        ("gpt-5", {"summary": "auto", "effort": "low"}, {**THIS_TURN, "effort": "low", "summary": "detailed"}),
        ("gpt-5-mini", {"summary": "concise"}, {**THIS_TURN, "summary": "concise"}),
    ],
)
def test_reasoning_is_repeated_as_the_model_takes_it(model: str, asked: Json, said: Json) -> None:
    assert build_initial_response({"model": model, "reasoning": asked})["reasoning"] == said


def test_a_format_is_repeated_without_the_name_of_its_dialect() -> None:
    format = {"type": "json_schema", "name": "n", "schema": {"$schema": "https://json-schema.org/x", **EMPTY}}
    said = build_initial_response({"text": {"format": format, "verbosity": "low"}})["text"]
    plain = {"type": "json_schema", "description": None, "name": "n", "schema": EMPTY, "strict": True}
    assert said == {"format": plain, "verbosity": "low"}


@pytest.mark.parametrize("programs", [None, {"cyber": "standard"}])
def test_access_programs_stand_behind_the_status(programs: Json | None) -> None:
    made = build_initial_response({"model": "gpt-4o-mini", "access_programs": programs})
    assert made["access_programs"] == programs
    assert list(made)[3:5] == ["status", "access_programs"]


def test_the_tier_is_the_one_that_was_used() -> None:
    assert Client().ask().body["service_tier"] == "default"
    assert Client().ask(model="o3", service_tier="flex").body["service_tier"] == "flex"


def test_each_search_of_the_web_is_counted() -> None:
    client, opened = Client(), web_search_call(open_page("https://a.b"))
    client.mock.script([web_search_call(search("a", "b")), opened, web_search_call()])
    used = client.ask(tools=[{"type": "web_search"}]).body["tool_usage"]
    assert used["web_search"] == {"num_requests": 1}


def test_the_usage_of_one_response_does_not_show_in_another() -> None:
    searched = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": search("a")}
    finish_response(build_initial_response({}), [searched], {}, 0)
    usage = finish_response(build_initial_response({}), [], {}, 0)["tool_usage"]
    assert usage["web_search"] == {"num_requests": 0}


def test_how_the_prompt_is_cached_is_repeated_with_its_defaults_where_it_was_asked_for() -> None:
    asked = {"model": "gpt-5.6-sol", "input": "hi", "prompt_cache_options": {"mode": "explicit"}}
    assert build_initial_response(asked)["prompt_cache_options"] == {"mode": "explicit", "ttl": "30m"}
    assert "prompt_cache_options" not in build_initial_response({**asked, "prompt_cache_options": None})
