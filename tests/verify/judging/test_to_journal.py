"""Recorded exchanges in a journal: as a mock that had answered so would have written them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from harness.analysis.loss import losses_of
from harness.cassettes.format.interaction import SERVER, Interaction
from harness.report.api_coverage import measure_coverage
from harness.verify.judging.to_journal import build_journal
from tests.support.recordings import HI, URI, error, over_http, recorded, sse, streamed

SAID = {"id": "resp_1", "object": "response", "output": [], "status": "completed"}


def test_an_exchange_has_its_request_its_operation_and_its_answer() -> None:
    (one,) = build_journal([over_http(HI, SAID)]).exchanges
    assert (one.number, one.status, one.request.body, one.answer.body) == (1, 200, HI, SAID)
    assert (one.request.operation, one.request.path, one.request.dialect) == ("POST /responses", "/responses", "openai")
    assert (one.answer.rule, one.answer.disconnection, one.answer.events) == (None, "", None)


def test_a_stream_is_its_events_and_the_object_of_the_last() -> None:
    events = [{"type": f"response.{kind}", "response": SAID} for kind in ("created", "completed")]
    (one,) = build_journal([streamed(sse(*events), request=HI)]).exchanges
    assert (one.answer.body, one.answer.events) == (SAID, events)


def test_a_refusal_names_the_rule_with_which_the_mock_refuses_it() -> None:
    (refused,) = recorded({**HI, "input": 3})
    (one,) = build_journal([over_http(refused["request"], refused["response"], status=400)]).exchanges
    assert (one.status, one.answer.rule) == (400, "invalid_type")


@pytest.mark.parametrize(("status", "answer"), [(400, error("Not on Sundays.")), (400, {"error": "x"}), (500, "x")])
def test_a_refusal_that_no_rule_makes_names_none(status: int, answer: Any) -> None:
    (one,) = build_journal([over_http(HI, answer, status=status)]).exchanges
    assert (one.status, one.answer.rule) == (status, None)


def test_the_rule_of_another_state_is_known_by_its_words() -> None:
    id = "previous_response_not_found"
    gone = error("Previous response with id 'resp_a' not found.", param="previous_response_id", code=id)
    (one,) = build_journal([over_http(HI, gone, status=400)]).exchanges
    assert one.answer.rule == id


def test_a_request_that_is_not_known_is_held_to_no_form() -> None:
    frame = (0.0, SERVER, json.dumps({"type": "response.created", "response": SAID}))
    world = build_journal([Interaction("GET", URI, status=101, frames=(frame,))])
    (one,) = world.exchanges
    assert (one.request.body, one.answer.body) == (None, SAID)
    assert "unknown_parameter" not in measure_coverage([one], world)["rules"]


@pytest.mark.parametrize(("end", "broke"), [("in_progress", "cut off"), ("completed", "")])
def test_a_stream_that_broke_off_before_its_end_says_so(end: str, broke: str) -> None:
    events = [{"type": f"response.{kind}", "response": SAID} for kind in ("created", end)]
    (one,) = build_journal([streamed(sse(*events), request=HI, cut=True)]).exchanges
    assert one.answer.disconnection == broke


def test_an_answer_that_never_came_says_so_and_one_of_which_long_values_are_cut_is_whole() -> None:
    none, shortened = build_journal([over_http(HI, status=0), replace(over_http(HI, SAID), cut=True)]).exchanges
    assert (none.answer.disconnection, shortened.answer.disconnection) == ("no answer", "")


def test_other_services_are_left_out() -> None:
    elsewhere = [over_http(HI, {}, uri=f"https://a.example/v1/{path}") for path in ("weather", "chat/completions")]
    assert build_journal([*elsewhere, over_http(HI, SAID)]).exchanges[0].number == 1
    assert build_journal(elsewhere).exchanges == []


def test_the_path_tells_the_dialect() -> None:
    uri = "https://acme.example/openai/responses?api-version=2025-04-01-preview"
    (one,) = build_journal([over_http(HI, SAID, uri=uri)]).exchanges
    assert (one.request.dialect, one.request.query) == ("azure", {"api-version": "2025-04-01-preview"})


def test_surface_and_losses_are_those_of_a_mock() -> None:
    note = {"type": "file_citation", "file_id": "file_1", "filename": "a.pdf", "index": 3}
    part = {"type": "output_text", "text": "See page 3.", "annotations": [note]}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    bare = {**item, "content": [{**part, "annotations": []}]}
    user = {"role": "user", "content": "hi"}
    second = {**HI, "input": [user, bare, user]}
    world = build_journal([over_http(HI, {**SAID, "output": [item]}), over_http(second, {**SAID, "id": "resp_2"})])
    assert [(lost.loss, lost.exchange) for lost in losses_of(world.exchanges)] == [("citation-dropped", 2)]
    touched = measure_coverage(world.exchanges, world)
    assert (touched["said"], touched["sent"], touched["dialects"]) == ({"message"}, {"message"}, {"openai"})
    assert touched["endpoints"] == {"POST /responses"}
