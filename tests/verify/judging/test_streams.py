"""Streams against others: kinds of one's own, the SDK's types, the schemas, recorded traffic."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from harness.answers.writer import render_events
from harness.contract import schema
from harness.core.errors import RegistrationError
from harness.items.kind import ITEMS
from harness.verify.judging.rerender import judge_rerendering
from tests.support.shared import PRESENT, recordings
from tests.support.streams import CALLS, MESSAGES, THOUGHTS, response, streamed
from tests.support.streams import ITEMS as ANY


def test_an_unknown_kind_cannot_be_streamed():
    with pytest.raises(RegistrationError, match="No item kind 'mesage'"):
        render_events(response(output=[{"id": "msg_1", "type": "mesage"}]))


# Against the SDK and the schemas


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(st.lists(MESSAGES | CALLS | THOUGHTS, max_size=3))
def test_every_event_is_valid_for_the_sdk(items):
    adapter = TypeAdapter(ResponseStreamEvent)
    for event in streamed(*items):
        read = adapter.validate_json(json.dumps(event), strict=True)
        assert read.type == event["type"]
        assert json.loads(read.model_dump_json(exclude_unset=True, by_alias=True)) == event


@settings(deadline=None, max_examples=200)
@given(ANY)
def test_every_event_of_every_kind_has_the_form_of_its_schema(made):
    known = schema.validator("ResponseStreamEvent")
    for event in render_events(response(made), items=[made]):
        assert known.is_valid(event), event


# Against recordings

NOT_STREAMED = {
    *("agent_message", "apply_patch_call_output", "computer_call", "multi_agent_call", "multi_agent_call_output")
}
"""Items of answers that no recorded stream holds."""


@pytest.mark.slow
@pytest.mark.skipif(not PRESENT, reason="no recorded traffic beside the project")
def test_items_of_every_kind_were_recorded_in_streams_that_the_mock_renders_alike():
    kinds = set()
    for exchange in recordings():
        if exchange.events and [verdict.entry for verdict in judge_rerendering(exchange)] == [None]:
            kinds |= {event["item"]["type"] for event in exchange.events if "item" in event}
    assert kinds == {name for name, kind in ITEMS.items() if not kind.dialects} - NOT_STREAMED
