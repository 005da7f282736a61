"""Items of a Foundry project: what their builders put on the wire, how streams tell them, who takes them as input."""

import json
from itertools import product
from typing import Any

import pytest

from harness.answers.reader import StreamError
from harness.answers.recorded_stream import count_held
from harness.answers.writer import render_events
from harness.api.http.dialects import API_ROOTS, FOUNDRY
from harness.core.errors import ScriptError
from harness.items import (
    azure_ai_search_call_output,
    bing_grounding_call,
    bing_grounding_call_output,
    memory_search_call,
    message,
    oauth_consent_request,
    openapi_call,
    openapi_call_output,
    remote_function_call,
    structured_outputs,
    workflow_action,
)
from harness.items.kind import ITEMS, item_from_wire, item_types
from harness.server.mock_api import MockApi
from harness.world.scripting.document import parse_document
from harness.world.scripting.lines import line_builders
from tests.support import in_process
from tests.support.streams import fold, response
from tests.support.wired import wire

KEY = {"api-key": "mine", "content-type": "application/json"}
OWN = sorted(item_types(FOUNDRY).keys() - item_types().keys())


def send(dialect: str, body: Any, call: str = "POST /responses", api: MockApi | None = None) -> Any:
    method, _, path = call.partition(" ")
    asked = api or MockApi(fallback=lambda request: [message("Hello.")])
    return in_process.send(asked, f"{method} {API_ROOTS[dialect]}{path}", body, KEY)


class TestBuilders:
    def test_a_call_has_arguments_as_json_and_ids_of_its_own(self):
        made = wire(bing_grounding_call({"query": "Oslo"}))
        assert made["id"].startswith("fc_")
        assert made["call_id"].startswith("call_")
        assert (made["arguments"], made["status"]) == ('{"query":"Oslo"}', "completed")

    def test_an_output_is_a_text_or_json(self):
        assert wire(bing_grounding_call_output())["output"] == ""
        assert json.loads(wire(azure_ai_search_call_output({"documents": []}))["output"]) == {"documents": []}
        assert wire(bing_grounding_call_output())["id"].startswith("fco_")

    def test_an_operation_of_an_api_is_named(self):
        assert wire(openapi_call("weather_get", {"city": "Oslo"}))["name"] == "weather_get"
        assert wire(openapi_call_output("weather_get", "{}"))["name"] == "weather_get"
        with pytest.raises(ScriptError, match="openapi_call: name is ''"):
            openapi_call("")

    def test_a_search_of_memories_stays_in_progress(self):
        made = wire(memory_search_call(["likes tea"]))
        assert made["id"].startswith("memupdateo_")
        assert made["status"] == "in_progress"
        assert made["memories"] == [{"memory_item": {"content": "likes tea"}}]
        assert len(made["search_id"]) == 32
        assert made["update_id"].count("-") == 4

    def test_a_request_for_consent_has_no_status(self):
        made = wire(oauth_consent_request("https://consent.example.org", "crm"))
        assert made.keys() == {"id", "type", "consent_link", "server_label"}

    def test_structured_outputs_are_any_json(self):
        made = wire(structured_outputs(["a", 1]))
        assert made == {"id": made["id"], "type": "structured_outputs", "output": ["a", 1]}

    def test_a_call_of_another_agent_has_its_label(self):
        assert wire(remote_function_call("helper", "ask"))["label"] == "helper"

    def test_a_step_may_fail(self):
        made = wire(workflow_action("InvokeAzureAgent", "ask", previous_action_id="start", status="failed"))
        assert (made["status"], made["previous_action_id"], made["parent_action_id"]) == ("failed", "start", None)
        with pytest.raises(ScriptError, match="status is 'broken'"):
            workflow_action("SetVariable", "a", status="broken")

    @pytest.mark.parametrize("holds", [-1, "1", True, None])
    def test_a_step_holds_a_number_of_items(self, holds):
        with pytest.raises(ScriptError, match="Pass the number of items that follow inside this one"):
            workflow_action("SendActivity", "a", holds=holds)

    def test_what_is_read_back_is_what_was_built(self):
        for made in (bing_grounding_call(call_id="call_1"), workflow_action("SendActivity", "a")):
            assert item_from_wire({"type": made.type, **made.members}) == made

    @pytest.mark.parametrize("name", OWN)
    def test_a_script_can_name_it(self, name):
        assert line_builders()[name] is ITEMS[name].builder

    def test_a_script_file_has_steps_that_hold_others(self):
        turn = parse_document({"script": [[{"workflow_action": {"kind": "Say", "action_id": "a", "holds": 1}}, "Hi."]]})
        assert turn.routes[0].turns[0][0].holds == 1


SAYING = [workflow_action("Say", "a", holds=1), message("Hi.")]


class TestStreams:
    def test_arguments_and_output_come_at_the_end(self):
        told = render_events(response(bing_grounding_call({"query": "a"}), bing_grounding_call_output("[1]")))
        items = [event["item"] for event in told if "item" in event]
        assert [item.get("arguments", item.get("output")) for item in items] == ["", '{"query":"a"}', "[]", "[1]"]
        assert [item["status"] for item in items] == ["in_progress", "completed"] * 2

    @pytest.mark.parametrize("name", OWN)
    def test_every_kind_is_streamed_and_read(self, name):
        made = item_from_wire(_example(name) or {"type": name, "call_id": "call_1", "name": "f"})
        answer = response(made)
        assert fold(list(render_events(answer, items=[made])))["output"] == answer["output"]

    def test_a_message_is_streamed_inside_a_step(self):
        turn = [workflow_action("Set", "a"), workflow_action("Say", "b", holds=1), message("Hi."), message("Bye.")]
        told = list(render_events(response(*turn), items=turn))
        places = [event["output_index"] for event in told if "output_item" in event["type"]]
        assert places == [0, 0, 1, 2, 2, 1, 3, 3]
        assert [event["sequence_number"] for event in told] == list(range(len(told)))
        assert count_held(told) == {1: 1}
        assert fold(told)["output"] == response(*turn)["output"]

    def test_steps_hold_steps(self):
        steps = [workflow_action("If", "a", holds=3), workflow_action("Say", "b", holds=1)]
        turn = [*steps, message("Hi."), message("Bye.")]
        told = list(render_events(response(*turn), items=turn))
        places = [event["output_index"] for event in told if "output_item" in event["type"]]
        assert places == [0, 1, 2, 2, 1, 3, 3, 0]
        assert count_held(told) == {0: 3, 1: 1}
        assert fold(told)["output"] == response(*turn)["output"]

    def test_a_step_holds_no_more_than_there_is(self):
        turn = [workflow_action("Say", "a", holds=9), message("Hi.")]
        told = list(render_events(response(*turn), items=turn))
        assert [event["output_index"] for event in told if "output_item" in event["type"]] == [0, 1, 1, 0]

    def test_a_step_that_is_never_done_is_an_error(self):
        told = list(render_events(response(*SAYING), items=SAYING))
        del told[-2]
        with pytest.raises(StreamError):
            fold(told)

    @pytest.mark.parametrize("turn", [SAYING, [workflow_action("If", "a")]])
    def test_a_step_of_a_failed_response_is_not_done(self, turn):
        error = {"code": "server_error", "message": "Failed."}
        answer = response(*turn, status="failed", error=error)
        told = list(render_events(answer, items=turn))
        assert [event["type"] for event in told if event["type"].endswith("output_item.done")] == []
        assert fold(told)["output"] == answer["output"]

    @pytest.mark.parametrize("place", [None, {}, "1", 7, -1])
    def test_odd_places_are_an_error_and_no_crash(self, place):
        told = list(render_events(response(*SAYING), items=SAYING))
        for index in [index for index, event in enumerate(told) if "output_index" in event]:
            with pytest.raises(StreamError):
                fold([*told[:index], {**told[index], "output_index": place, "item": None}, *told[index + 1 :]])

    def test_the_stream_of_a_workflow_counts_from_one(self):
        answer = {**response(*SAYING), "id": "wfresp_1"}
        events = render_events(answer, items=SAYING)
        told = [{**event, "sequence_number": event["sequence_number"] + 1} for event in events]
        assert fold(told)["output"] == answer["output"]


def _example(name: str) -> dict[str, Any] | None:
    items = (item for items in ITEMS[name].examples.values() for item in items)
    return next((item for item in items if item.get("type") == name), None)


EXAMPLES = {name: items for kind in OWN for name, items in ITEMS[kind].examples.items()}


class TestAsInput:
    """A project takes its own items back; OpenAI and Azure OpenAI know none of them."""

    @pytest.mark.parametrize("name", EXAMPLES)
    def test_a_project_takes_them(self, name):
        items, api = EXAMPLES[name], MockApi(fallback=lambda request: [message("Hello.")])
        answer = send("foundry", {"model": "gpt-4o", "input": items}, api=api)
        assert answer.status == 200, answer.body
        listed = send("foundry", None, f"GET /responses/{answer.body['id']}/input_items", api)
        assert {item["type"] for item in listed.body["data"]} >= {item["type"] for item in items if "type" in item}
        stored = send("foundry", {"items": items}, "POST /conversations", api)
        assert stored.status == 200, stored.body

    @pytest.mark.parametrize("dialect", ["openai", "azure"])
    @pytest.mark.parametrize("name", EXAMPLES)
    def test_others_know_none_of_them(self, dialect, name):
        answer = send(dialect, {"model": "gpt-4o", "input": EXAMPLES[name]})
        assert answer.status == 400
        assert answer.rule == "input_item_type"
        assert "'a2a_preview_call'," not in answer.body["error"]["message"].partition("Supported values")[2]

    def test_a_call_needs_no_output_of_the_client(self):
        call = {"type": "bing_grounding_call", "call_id": "call_1", "arguments": "{}", "status": "completed"}
        assert send("foundry", {"model": "gpt-4o", "input": [call, {"role": "user", "content": "hi"}]}).status == 200

    @pytest.mark.parametrize("member", ["id", "call_id", "arguments", "output", "status", "name", "memories", "agent"])
    def test_odd_members_break_nothing(self, member):
        api = MockApi(fallback=lambda request: [message("Hello.")])
        kinds = ("bing_grounding_call", "bing_grounding_call_output", "memory_search_call")
        for kind, value in product(kinds, [{}, [], 1, "", ["x"], [[]], [{"type": {}}], {"a": None}, None]):
            item = {"type": kind, "call_id": "call_1", member: value}
            answer = send("foundry", {"model": "gpt-4o", "input": [item]}, api=api)
            assert answer.status in (200, 400), answer.body
            if answer.status == 200:
                assert send("foundry", None, f"GET /responses/{answer.body['id']}/input_items", api).status == 200
                more = {"model": "gpt-4o", "input": "hi", "previous_response_id": answer.body["id"]}
                assert send("foundry", more, api=api).status == 200

    def test_an_error_after_them_names_the_right_place(self):
        items = [{"type": "workflow_action", "id": "wfa_1"}, {"role": "nobody", "content": ""}]
        assert send("foundry", {"model": "gpt-4o", "input": items}).body["error"]["param"] == "input[1]"
