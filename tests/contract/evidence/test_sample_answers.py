"""Answers and events: a whole one conforms, a broken one never does, what no schema knows is told beside it."""

from typing import Any

import orjson
import pytest

import harness.foundry  # noqa: F401  (registers every operation)
from harness.contract import schema
from harness.contract.check import check_answer
from harness.contract.ordered_validator import find_unknown_members
from harness.core.exchange import Answer
from harness.items import function_call, message, reasoning
from harness.server.mock_api import MockApi
from tests.contract.evidence.samples.mutate import Gone, places, replaced
from tests.support.in_process import post
from tests.support.slow import slow_except_every
from tests.support.tools import functions

EVENT = "ResponseStreamEvent"


def send(**body: Any) -> Answer:
    """Return the mock's answer to a plain request, with an item of each of the common kinds."""
    mock = MockApi()
    call = function_call("f", '{"a":1}', call_id="call_1")
    mock.open("sk-answers").script([reasoning("**Thought**"), message("Hi."), call])
    tool = {**functions("f")[0], "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    sent = {"model": "gpt-5", "input": "hi", "tools": [tool], "metadata": {"a": "b"}, **body}
    return post(mock, sent, key="sk-answers")


WHOLE: dict[str, Any] = orjson.loads(orjson.dumps(send().body))
EVENTS: list[dict[str, Any]] = orjson.loads(orjson.dumps(list(send(stream=True).events or ())))


def test_an_answer_of_the_mock_is_whole() -> None:
    for root, body in [("Response", WHOLE), *((EVENT, event) for event in EVENTS)]:
        assert (check_answer(root, body), list(find_unknown_members(root, body))) == (None, [])


@pytest.mark.parametrize(
    "path",
    [
        *[(name,) for name in ("id", "object", "created_at", "status", "model", "output", "usage", "tools", "text")],
        *[(name,) for name in ("error", "incomplete_details", "instructions", "metadata", "parallel_tool_calls")],
        *[(name,) for name in ("reasoning", "temperature", "tool_choice", "top_p", "truncation")],
        *[("usage", name) for name in ("input_tokens", "output_tokens", "total_tokens", "input_tokens_details")],
        ("usage", "input_tokens_details", "cached_tokens"),
        ("text", "format"),
        *[("output", 0, name) for name in ("id", "summary", "type")],
        *[("output", 1, name) for name in ("id", "content", "role", "status", "type")],
        *[("output", 1, "content", 0, name) for name in ("annotations", "text", "type")],
        *[("output", 2, name) for name in ("id", "arguments", "call_id", "name", "type")],
    ],
)
def test_a_response_without_what_every_one_has_is_a_finding(path: tuple[str | int, ...]) -> None:
    found = check_answer("Response", replaced(WHOLE, path, Gone))
    assert found.at.endswith(str(path[-1]))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("object",), "thing"),
        (("status",), "done"),
        (("status",), None),
        (("id",), None),
        (("output",), None),
        (("output", 0), "text"),
        (("output", 1, "type"), "mesage"),
        (("output", 1, "role"), "user"),
        (("output", 1, "status"), "finished"),
        (("output", 1, "content"), "Hi."),
        (("output", 1, "content", 0, "type"), "text"),
        (("output", 1, "content", 0, "annotations"), None),
        (("output", 2, "status"), "called"),
        (("output", 2, "arguments"), {"a": 1}),
        (("incomplete_details",), {}),
        (("incomplete_details",), {"reason": "bored"}),
        (("error",), {"code": "server_error"}),
        (("error",), "server_error"),
        (("tool_choice",), "maybe"),
        (("tools", 0, "type"), "functon"),
        (("metadata",), {"a": 1}),
        (("truncation",), "some"),
    ],
)
def test_a_response_with_what_none_has_is_a_finding(path: tuple[str | int, ...], value: Any) -> None:
    assert check_answer("Response", replaced(WHOLE, path, value)) is not None


OTHER_TYPE = {str: 5, bool: "true", int: "7", float: "1.0", list: {}, dict: [], type(None): [[]]}


OPEN = {"parameters", "metadata", "billing"}
"""Members that hold anything."""


def test_a_response_with_a_value_of_another_type_is_a_finding() -> None:
    for path, value in places(WHOLE):
        if path and OPEN.isdisjoint(path):
            assert check_answer("Response", replaced(WHOLE, path, OTHER_TYPE[type(value)])) is not None, path


MAY_MISS = {"logprobs", "obfuscation", "sequence_number"}
"""Members of events that came later: the oldest streams have none."""
OF_EACH_TYPE = {event["type"]: event for event in EVENTS}
OF_EVENTS = [pytest.param(event, name, id=f"{type} {name}") for type, event in OF_EACH_TYPE.items() for name in event]


@pytest.mark.parametrize(("event", "name"), slow_except_every(4, OF_EVENTS))
def test_an_event_needs_its_members(event: dict[str, Any], name: str) -> None:
    missing = check_answer(EVENT, replaced(event, (name,), Gone))
    assert missing is None if name in MAY_MISS else missing is not None and missing.at == name
    assert check_answer(EVENT, replaced(event, (name,), [[]])) is not None


@pytest.mark.parametrize("event", [{}, [], "x", None, {"type": "response.output_text.dleta"}, {"type": "error"}])
def test_what_is_no_event_is_a_finding(event: Any) -> None:
    assert check_answer(EVENT, event) is not None


SAID = {"message": "No.", "type": "invalid_request_error", "param": None, "code": None}


class TestErrors:
    @pytest.mark.parametrize(
        ("root", "body"),
        [
            ("Error", {"error": SAID}),
            ("Error", {"error": SAID, "status": 401}),
            ("Error", {"error": {"code": "401", "message": "Access denied."}}),
            ("Error", {"error": {**SAID, "innererror": {"code": "x", "content_filter_result": {}}}}),
            ("Error", {"error": {**SAID, "details": [], "additionalInfo": {"request_id": "1"}}}),
            ("Error", {"statusCode": 401, "message": "Unauthorized."}),
            ("Error", {"type": "https://tools.ietf.org/rfc", "title": "Not Found", "status": 404, "traceId": "0"}),
            (EVENT, {"type": "error", "sequence_number": 2, "error": {**SAID, "code": "server_error"}}),
            (EVENT, {"type": "error", "sequence_number": 2, "code": None, "message": "No.", "param": None}),
        ],
    )
    def test_errors_of_every_provider_and_in_every_form_of_a_stream_conform(self, root: str, body: Any) -> None:
        assert (check_answer(root, body), list(find_unknown_members(root, body))) == (None, [])

    @pytest.mark.parametrize(
        ("body", "at"),
        [
            ({}, "error"),
            ({"error": None}, "error"),
            ({"error": "No."}, "error"),
            ({"error": {**SAID, "message": None}}, "error.message"),
            ({"error": replaced(SAID, ("message",), Gone)}, "error.message"),
            ({"error": {**SAID, "code": ["x"]}}, "error.code"),
            (WHOLE, "error"),
        ],
    )
    def test_errors_that_are_broken_are_findings(self, body: Any, at: str) -> None:
        found = check_answer("Error", body)
        assert found.at == at


ITEM = {"id": "x_1", "status": "completed"}


SEARCH = {**ITEM, "type": "web_search_call"}


class TestItems:
    @pytest.mark.parametrize(
        "item",
        [
            SEARCH,
            {**SEARCH, "action": {"type": "open_page", "url": None}},
            {**SEARCH, "action": {"type": "search", "sources": [{"type": "api", "name": "x"}]}},
            {**ITEM, "type": "tool_search_call", "arguments": {}, "call_id": None},
            {**ITEM, "type": "azure_ai_search_call", "call_id": "call_1", "arguments": "{}", "agent_reference": {}},
            {**ITEM, "type": "workflow_action", "kind": "x", "action_id": "y"},
            {"id": "amsg_1", "type": "agent_message", "author": "/root", "recipient": "/root/a", "content": []},
            {"id": "mcpl_1", "type": "mcp_list_tools", "server_label": "x", "tools": [], "error": {"code": 424}},
        ],
    )
    def test_known_from_traffic_alone_conform(self, item: Any) -> None:
        body = replaced(WHOLE, ("output", 0), item)
        assert (check_answer("Response", body), list(find_unknown_members("Response", body))) == (None, [])

    @pytest.mark.parametrize(
        "item",
        [
            {**ITEM, "type": "web_search_cal"},
            {**SEARCH, "action": {"type": "serch"}},
            {**SEARCH, "action": {"type": "search", "sources": [{"type": "url"}]}},
            {"type": "azure_ai_search_call"},
            {"id": "amsg_1", "type": "agent_message", "content": []},
        ],
    )
    def test_items_that_are_broken_are_findings(self, item: Any) -> None:
        assert check_answer("Response", replaced(WHOLE, ("output", 0), item)) is not None

    def test_items_of_a_list_are_read_by_their_role(self) -> None:
        item = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": []}
        listed = {"object": "list", "data": [item], "first_id": "msg_1", "last_id": "msg_1", "has_more": False}
        assert check_answer("ResponseItemList", listed) is None
        item["content"] = [{"type": "input_text", "text": "x"}]
        found = check_answer("ResponseItemList", listed)
        assert found.at == "data[0].content[0].type"


def test_a_request_knows_nothing_of_what_only_answers_hold() -> None:
    for root in ("CreateResponse", "CreateConversationItems", "CompactResponse", "InputTokenCount"):
        assert not {"FoundryItem", "FoundryTool", "AgentItem", "InputMessage"} & schema.load(root)["$defs"].keys()
