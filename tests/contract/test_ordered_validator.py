"""The walk in the API's order skips what the fast validator takes."""

import sys
from copy import deepcopy
from typing import Any

import pytest

from harness.answers.response import build_initial_response, finish_response
from harness.contract import ordered_validator
from harness.contract.first_violation import find_violation
from harness.contract.ordered_validator import find_unknown_members, forbid_unknown_members
from harness.core.errors import SchemaError
from harness.core.exchange import Finding


def test_the_members_of_a_large_map_are_not_walked(monkeypatch):
    walked = []
    kind_of = ordered_validator._kind_of
    monkeypatch.setattr(ordered_validator, "_kind_of", lambda value: walked.append(value) or kind_of(value))
    metadata = {f"key_{number}": "v" for number in range(2_000)}
    found = find_violation("CreateResponse", {"model": "gpt-4.1", "input": "hi", "metadata": metadata})
    assert (found.keyword, found.path) == ("maxProperties", "metadata")
    assert len(walked) < 200


def test_the_first_wrong_member_of_a_large_map_is_named():
    metadata = {f"key_{number}": "v" for number in range(9)} | {"wrong": 1, "also": 2}
    found = find_violation("CreateResponse", {"model": "gpt-4.1", "input": "hi", "metadata": metadata})
    assert (found.keyword, found.path) == ("type", "metadata.wrong")


def test_a_fault_among_the_kinds_of_items_is_found_without_trying_all_of_them():
    file = {"role": "assistant", "content": [{"type": "input_file", "file_id": "file-1"}]}
    body = {"model": "gpt-4.1", "input": [{"role": "user", "content": "hi"}, file]}
    first = find_violation("CreateResponse", body)
    calls = []

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call" and frame.f_globals["__name__"].startswith("harness."):
            calls.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        again = find_violation("CreateResponse", body)
    finally:
        sys.setprofile(None)
    assert (again, first.path) == (first, "input[1].content[0]")
    assert len(calls) < 150, "what is the same for every body is prepared once"


REQUEST: dict[str, Any] = {
    "model": "gpt-5",
    "metadata": {"any": "name"},
    "text": {"format": {"type": "json_schema", "name": "x", "schema": {"type": "object", "x-mine": 1}}},
    "tools": [
        {"type": "function", "name": "f", "parameters": {"type": "object", "x-mine": 1}},
        {"type": "mcp", "server_label": "x", "server_url": "https://x", "headers": {"X-Mine": "1"}},
    ],
}
USAGE: dict[str, Any] = {
    "input_tokens": 1,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 1,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 2,
}


def finished_response(**members: Any) -> dict[str, Any]:
    """Return a finished response with one message, and these members besides."""
    part = {"type": "output_text", "text": "Hi", "annotations": [], "logprobs": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    whole = finish_response(build_initial_response(REQUEST), [item], USAGE, 1)
    return deepcopy({**whole, **members})


def found(body: Any, root: str = "Response") -> list[tuple[str, str]]:
    return [(member.at, member.message) for member in find_unknown_members(root, body)]


def test_each_unknown_member_is_named_once_by_its_path_and_is_no_finding_of_a_rule() -> None:
    body = finished_response(brand_new=1)
    body["usage"]["images"] = {"many": 1, "more": 2}
    body["output"][0]["content"][0]["mood"] = "good"
    assert sorted(find_unknown_members("Response", body), key=lambda each: each.at) == [
        Finding("brand_new", "unknown member 'brand_new'"),
        Finding("output[0].content[0].mood", "unknown member 'mood'"),
        Finding("usage.images", "unknown member 'images'"),
    ]


def unknown_item() -> dict[str, Any]:
    body = finished_response()
    body["output"][0] |= {"type": "mesage", "mood": "good"}
    return body


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(finished_response(), id="an answer of the mock"),
        pytest.param(finished_response(metadata={"mine": "1"}, agent={"name": "x"}, billing={"payer": "x"}), id="own"),
        pytest.param(unknown_item(), id="an item of no known type"),
        *(None, "text", 5, [], {}),
    ],
)
def test_no_unknown_member_is_in_a_finished_response(body: Any) -> None:
    assert found(body) == []


def test_a_broken_answer_has_the_drift_it_has() -> None:
    body = finished_response(brand_new=1, status="done")
    del body["usage"]["total_tokens"]
    assert found(body) == [("brand_new", "unknown member 'brand_new'")]


def test_items_and_events_are_known_by_their_type() -> None:
    call = {"id": "fc_1", "type": "function_call", "call_id": "c", "name": "f", "arguments": "", "results": []}
    event = {"type": "response.output_item.added", "item": call, "output_index": 0, "sequence_number": 2, "x": None}
    unknown = [("item.results", "unknown member 'results'"), ("x", "unknown member 'x'")]
    assert sorted(found(event, "ResponseStreamEvent")) == unknown


def test_an_unknown_root_is_reported() -> None:
    with pytest.raises(SchemaError, match="no schema 'Respnse'"):
        found({}, "Respnse")


A: Any = {"properties": {"a": {}}}
SHUT = {"additionalProperties": False}


@pytest.mark.parametrize(
    ("open_", "shut"),
    [
        ({"type": "object"}, {"type": "object"}),
        ({"properties": {}}, {"properties": {}}),
        (A, {**SHUT, **A}),
        ({**A, "additionalProperties": True}, {**A, "additionalProperties": True}),
        ({"anyOf": [{"properties": {"properties": A}}]}, {"anyOf": [{**SHUT, "properties": {"properties": SHUT | A}}]}),
    ],
)
def test_a_schema_is_closed_where_it_lists_members(open_: Any, shut: Any) -> None:
    before = deepcopy(open_)
    assert forbid_unknown_members(open_) == shut
    assert open_ == before
