"""Requests of every kind to a model without a script: the answer conforms, is possible, and is taken back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest

from harness.answers.turn_problem import find_turn_problem
from harness.contract.check import check_answer
from harness.core.exchange import Answer, Json
from harness.ending import DEFAULT_ENDING
from harness.items import message, reasoning
from harness.items.kind import item_from_wire
from harness.server.default_model import small_talk
from harness.server.mock_api import MockApi

KEY = "sk-model"
MODEL = "gpt-5.4"
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = {"type": "function", "name": "get_weather", "parameters": CITY, "strict": True}
DEFERRED = {**WEATHER, "name": "get_rate", "defer_loading": True}
SQL = {"type": "custom", "name": "run_sql"}
SPACE = {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [WEATHER]}
DEFERRED_SPACE = {**SPACE, "tools": [{**WEATHER, "defer_loading": True}]}
SEARCH = {"type": "tool_search"}
MCP = {"type": "mcp", "server_label": "docs", "server_url": "https://example.com/mcp"}
FREE_MCP = {**MCP, "require_approval": "never"}
CLIENT_SEARCH = {
    **SEARCH,
    "execution": "client",
    "description": "Finds tools.",
    "parameters": {"type": "object", "properties": {"goal": {"type": "string"}}, "required": ["goal"]},
}
CONTAINER_SHELL = {"type": "shell", "environment": {"type": "container_auto"}}


class Conversation:
    """Requests of one key to a model without a script; each answer is checked."""

    def __init__(self, **members: Any) -> None:
        self.api = MockApi(fallback=small_talk)
        self.members = {"model": MODEL, **members}

    def ask(self, input: Any, **members: Any) -> Answer:
        """The answer to a request, which conforms and which a model could have said."""
        body = {**self.members, **members, "input": input}
        raw = orjson.dumps(body)
        answer = self.api.handle("POST", "/v1/responses", {"authorization": f"Bearer {KEY}"}, {}, raw)
        assert answer.status == 200, answer.body
        assert check_answer("Response", answer.body) is None
        assert [found for event in answer.events or () if (found := check_answer("ResponseStreamEvent", event))] == []
        said = [item_from_wire(item) for item in answer.body["output"]]
        read = self.api.open(KEY).world.store.transcript
        assert find_turn_problem(body, said, DEFAULT_ENDING, lambda: read(body).items) == ""
        return answer

    def types(self, input: Any = "hi", **members: Any) -> list[str]:
        """The types of the items of an answer."""
        return [item["type"] for item in self.ask(input, **members).body["output"]]


OUTPUTS: Mapping[str, Json] = {
    "function_call": {"type": "function_call_output", "output": "18"},
    "custom_tool_call": {"type": "custom_tool_call_output", "output": "18"},
    "shell_call": {
        "type": "shell_call_output",
        "output": [{"outcome": {"type": "exit", "exit_code": 0}, "stdout": "ok", "stderr": ""}],
    },
    "apply_patch_call": {"type": "apply_patch_call_output", "status": "completed"},
    "computer_call": {
        "type": "computer_call_output",
        "output": {"type": "computer_screenshot", "image_url": "https://example.com/a.png"},
    },
    "tool_search_call": {"type": "tool_search_output", "execution": "client", "tools": [DEFERRED]},
}
"""What a client answers to a call."""


def results_of(output: Sequence[Json]) -> list[Json]:
    """What a client sends after an output: the results of its calls, approvals, or what the user says next."""
    answered = {item.get("call_id") for item in output if item["type"].endswith("_output")}
    results = [
        {**OUTPUTS[item["type"]], "call_id": item["call_id"]}
        for item in output
        if item["type"] in OUTPUTS and item.get("call_id") and item["call_id"] not in answered
    ]
    approvals = [
        {"type": "mcp_approval_response", "approval_request_id": item["id"], "approve": True}
        for item in output
        if item["type"] == "mcp_approval_request"
    ]
    return [*results, *approvals] or [{"role": "user", "content": "Go on."}]


CASES: Sequence[tuple[list[Json], Any, list[str]]] = [
    ([WEATHER], "required", ["function_call"]),
    ([SQL], {"type": "custom", "name": "run_sql"}, ["custom_tool_call"]),
    ([SPACE], "required", ["function_call"]),
    ([SPACE], {"type": "function", "name": "get_weather"}, ["function_call"]),
    ([DEFERRED, SEARCH], "required", ["tool_search_call", "tool_search_output", "function_call"]),
    ([DEFERRED_SPACE, SEARCH], "required", ["tool_search_call", "tool_search_output", "function_call"]),
    ([DEFERRED, CLIENT_SEARCH], "required", ["tool_search_call"]),
    ([{"type": "web_search"}], "required", ["web_search_call", "message"]),
    ([{"type": "web_search"}], {"type": "web_search_preview"}, ["web_search_call", "message"]),
    ([{"type": "web_search"}, WEATHER], {"type": "web_search_preview"}, ["web_search_call", "message"]),
    ([{"type": "image_generation", "partial_images": 2}], "required", ["image_generation_call", "message"]),
    (
        [{"type": "code_interpreter", "container": {"type": "auto"}}],
        {"type": "code_interpreter"},
        ["code_interpreter_call", "message"],
    ),
    ([{"type": "apply_patch"}], "required", ["apply_patch_call"]),
    ([{"type": "apply_patch"}, WEATHER], {"type": "apply_patch"}, ["apply_patch_call"]),
    ([{"type": "shell"}], {"type": "shell"}, ["shell_call"]),
    ([{"type": "computer"}], {"type": "computer"}, ["computer_call"]),
    ([MCP], "required", ["mcp_list_tools", "mcp_approval_request"]),
    ([FREE_MCP], {"type": "mcp", "server_label": "docs", "name": "find"}, ["mcp_list_tools", "mcp_call", "message"]),
    (
        [WEATHER, FREE_MCP],
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "mcp", "server_label": "docs"}]},
        ["mcp_list_tools", "mcp_call", "message"],
    ),
    (
        [{"type": "programmatic_tool_calling"}],
        {"type": "programmatic_tool_calling"},
        ["program", "program_output", "message"],
    ),
    ([CONTAINER_SHELL], "required", ["shell_call", "shell_call_output", "message"]),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("tools", "choice", "types"), CASES)
def test_every_kind_of_tool_choice_is_obeyed(tools: Any, choice: Any, types: list[str], stream: bool) -> None:
    model = "gpt-5.6-sol" if tools[0]["type"] in ("computer", "programmatic_tool_calling") else MODEL
    assert Conversation(model=model, tools=tools, tool_choice=choice, stream=stream).types() == types


@pytest.mark.parametrize("store", [False, True])
@pytest.mark.parametrize(("tools", "choice", "types"), CASES)
def test_every_answer_is_taken_back(tools: Any, choice: Any, types: list[str], store: bool) -> None:
    model = "gpt-5.6-sol" if tools[0]["type"] in ("computer", "programmatic_tool_calling") else MODEL
    talk = Conversation(model=model, tools=tools, store=store, include=["reasoning.encrypted_content"])
    history: list[Json] = [{"role": "user", "content": "hi"}]
    first = talk.ask(history, tool_choice=choice, reasoning={"effort": "high"}).body
    history += [*first["output"], *results_of(first["output"])]
    second = talk.ask(history).body
    history += [*second["output"], *results_of(second["output"])]
    talk.ask(history)
    if store:
        talk.ask(results_of(first["output"]), previous_response_id=first["id"])


@pytest.mark.parametrize(
    ("tool", "said", "type"),
    [
        ({"type": "web_search"}, "What is in the news today?", "web_search_call"),
        ({"type": "image_generation"}, "Draw a cat.", "image_generation_call"),
        (FREE_MCP, "Look it up in the docs.", "mcp_list_tools"),
        ({"type": "apply_patch"}, "Create a file named hello.txt.", "apply_patch_call"),
        (CLIENT_SEARCH, "How warm is it?", "tool_search_call"),
        ({"type": "web_search"}, "Tell me a joke.", "message"),
        ({"type": "web_search"}, "The news, but without tools.", "message"),
    ],
)
def test_a_tool_of_the_api_is_called_when_the_user_speaks_of_it(tool: Json, said: str, type: str) -> None:
    assert Conversation(tools=[tool]).types(said)[0] == type


def test_a_search_of_the_web_is_cited() -> None:
    said = Conversation(tools=[{"type": "web_search"}]).ask("The latest news?").body["output"][-1]["content"][0]
    (note,) = said["annotations"]
    assert said["text"][note["start_index"] : note["end_index"]] == "example.com"


def test_a_deferred_function_is_called_in_its_namespace_and_searched_for_once() -> None:
    talk = Conversation(tools=[DEFERRED, SEARCH])
    first = talk.ask("What is the rate?").body
    search, found, call = first["output"]
    assert (search["arguments"], search["execution"], search["call_id"]) == ({"paths": ["get_rate"]}, "server", None)
    assert [tool["name"] for tool in found["tools"]] == ["get_rate"]
    assert call["namespace"] == "get_rate"
    talk.ask(results_of(first["output"]), previous_response_id=first["id"])
    history = [*first["output"], *results_of(first["output"]), {"role": "user", "content": "The rate again?"}]
    assert talk.types(history) == ["function_call"]


def test_what_the_client_has_found_is_called() -> None:
    talk = Conversation(tools=[DEFERRED, CLIENT_SEARCH])
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


@pytest.mark.parametrize("stream", [False, True])
def test_a_context_past_its_threshold_is_compacted_after_the_text(stream: bool) -> None:
    managed = {"context_management": [{"type": "compaction", "compact_threshold": 1000}], "stream": stream}
    talk, long = Conversation(**managed), "word " * 1000
    assert talk.types("hi") == ["message"]
    first = talk.ask(long).body
    assert [item["type"] for item in first["output"]] == ["message", "compaction"]
    second = talk.ask("And?", previous_response_id=first["id"]).body
    assert [item["type"] for item in second["output"]] == ["message"]
    assert talk.types([{"role": "user", "content": long}, *first["output"], {"role": "user", "content": "And?"}]) == [
        "message"
    ]


def test_a_trigger_compacts_and_nothing_else() -> None:
    talk = Conversation()
    history = [{"role": "user", "content": "hi"}, {"type": "compaction_trigger"}]
    (made,) = talk.ask(history).body["output"]
    assert (made["type"], made["encrypted_content"][:5]) == ("compaction", "gAAAA")
    assert talk.types([made, {"role": "user", "content": "Go on."}]) == ["message"]


@pytest.mark.parametrize("top", [0, 1, 5, 20])
@pytest.mark.parametrize("stream", [False, True])
def test_logprobs_are_given_for_each_token(top: int, stream: bool) -> None:
    included = {"include": ["message.output_text.logprobs"], "top_logprobs": top, "stream": stream}
    answer = Conversation(model="gpt-4.1", **included).ask("hi")
    (part,) = answer.body["output"][0]["content"]
    assert "".join(entry["token"] for entry in part["logprobs"]) == part["text"]
    for entry in part["logprobs"]:
        assert bytes(entry["bytes"]).decode() == entry["token"]
        assert len({each["token"] for each in entry["top_logprobs"]}) == top
        assert all(each["logprob"] <= entry["logprob"] < 0 for each in entry["top_logprobs"])
    deltas = [event for event in answer.events or () if event["type"] == "response.output_text.delta"]
    assert all(len(event["logprobs"]) == 1 for event in deltas)
    assert bool(deltas) == stream


def test_logprobs_are_given_only_where_they_are_included() -> None:
    said = Conversation(model="gpt-4.1", top_logprobs=2).ask("hi").body["output"][0]["content"][0]
    assert said["logprobs"] == []


@pytest.mark.parametrize(
    ("model", "asked", "texts"),
    [
        ("gpt-5.4", {"effort": "high"}, 0),
        ("gpt-5.4", {"effort": "low", "summary": "detailed"}, 2),
        ("o4-mini", {"summary": "auto"}, 2),
        ("gpt-5.4", {"effort": "none", "summary": "auto"}, None),
        ("gpt-5.4", {"summary": "auto"}, None),
        ("gpt-5.4", {}, None),
    ],
)
def test_reasoning_is_shown_where_an_effort_or_a_summary_asks_for_it(
    model: str, asked: Json, texts: int | None
) -> None:
    first = Conversation(model=model, reasoning=asked).ask("hi").body["output"][0]
    assert (len(first["summary"]) if first["type"] == "reasoning" else None) == texts


def test_reasoning_is_encrypted_where_the_request_or_the_model_says_so() -> None:
    asked: Json = {"reasoning": {"effort": "high"}, "store": False}
    include = ["reasoning.encrypted_content"]
    assert Conversation(**asked, include=include).ask("hi").body["output"][0]["encrypted_content"]
    assert "encrypted_content" not in Conversation(**asked).ask("hi").body["output"][0]
    newest = Conversation(**asked, model="gpt-5.6-sol").ask("hi").body["output"][0]
    assert (newest["content"], newest["encrypted_content"][:5]) == ([], "gAAAA")


@pytest.mark.parametrize(("effort", "tokens"), [("low", 64), ("medium", 192), ("high", 448), ("none", 0)])
def test_reasoning_has_tokens_of_its_effort(effort: str, tokens: int) -> None:
    usage = Conversation(reasoning={"effort": effort}).ask("hi").body["usage"]
    assert usage["output_tokens_details"]["reasoning_tokens"] == tokens
    assert usage["output_tokens"] > tokens
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


def cached_tokens(answer: Answer) -> int:
    return int(answer.body["usage"]["input_tokens_details"]["cached_tokens"])


def test_a_prompt_that_begins_like_an_earlier_one_is_cached() -> None:
    talk, long = Conversation(), "word " * 8_000
    first, again = talk.ask(long), talk.ask(long)
    tokens = first.body["usage"]["input_tokens"]
    assert cached_tokens(first) == 0
    assert cached_tokens(again) == tokens // 128 * 128
    more = cached_tokens(talk.ask(long + "and the end " * 1_000))
    assert (more % 128, tokens - 256 <= more <= tokens) == (0, True)
    assert cached_tokens(talk.ask(long, model="gpt-4.1")) == 0
    assert cached_tokens(talk.ask("Now " + long)) == 0


def test_a_continued_response_is_cached_from_1024_tokens_on() -> None:
    talk = Conversation()
    short, long = talk.ask("word " * 700).body, talk.ask("word " * 2_000).body
    for first, least in ((short, 0), (long, 1_024)):
        answer = talk.ask("And " * 700, previous_response_id=first["id"])
        assert (cached_tokens(answer) >= least > 0) == (least > 0)
        assert cached_tokens(answer) in (0, first["usage"]["input_tokens"] // 128 * 128)


def test_a_key_caches_what_it_has_sent_itself() -> None:
    long = "word " * 8_000
    Conversation().ask(long)
    assert cached_tokens(Conversation().ask(long)) == 0
    assert cached_tokens(Conversation(prompt_cache_options={"mode": "explicit"}).ask(long)) == 0


def test_a_script_counts_its_own_tokens() -> None:
    talk, long = Conversation(reasoning={"effort": "high"}), "word " * 8_000
    talk.api.open(KEY).script([reasoning("Hm."), message("Yes.")], "No.")
    first, second = talk.ask(long), talk.ask(long)
    assert first.body["usage"]["output_tokens_details"]["reasoning_tokens"] == 5
    assert (cached_tokens(first), cached_tokens(second)) == (0, 0)


def test_a_call_in_the_same_input_is_followed_up() -> None:
    talk = Conversation(tools=[{"type": "image_generation"}])
    first = talk.ask("Draw a cat.").body["output"]
    assert talk.types([*first, {"role": "user", "content": "Now make it blue."}])[0] == "image_generation_call"
    assert talk.types([*first, {"role": "user", "content": "Thanks."}]) == ["message"]


@pytest.mark.parametrize(
    ("model", "phase"),
    [("gpt-4.1", None), ("gpt-5.2", None), ("gpt-5.3-codex", "final_answer"), ("gpt-5.6-sol", "final_answer")],
)
def test_the_newer_models_mark_their_final_answer(model: str, phase: str | None) -> None:
    assert Conversation(model=model).ask("hi").body["output"][-1].get("phase") == phase


def test_an_object_has_the_members_that_the_user_quotes() -> None:
    wanted = {"text": {"format": {"type": "json_object"}}}
    said = Conversation(**wanted).ask("A joke as JSON with `setup` and `punchline` keys.").body["output"][-1]
    assert set(orjson.loads(said["content"][0]["text"])) == {"setup", "punchline"}


def test_a_text_has_the_words_that_are_asked_for_unless_its_tokens_end() -> None:
    whole = Conversation().ask("Tell me a 100 word story.").body
    assert len(whole["output"][-1]["content"][0]["text"].split()) == 100
    cut = Conversation(max_output_tokens=16).ask("Tell me a 100 word story.").body
    assert (cut["status"], cut["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
