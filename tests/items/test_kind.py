"""A new item is one declaration: what the harness has to know of it elsewhere follows from that."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.answers.response import render_input_items
from harness.answers.writer import render_events
from harness.contract import schema
from harness.contract.rules.request.input_items.pairing import call_needs_output, output_needs_call
from harness.core.errors import RegistrationError
from harness.endpoints.websocket_events import owed_outputs
from harness.items.examples import after_message
from harness.items.kind import INPUT_ITEMS, ITEMS, id_prefix, input_item, item, item_from_wire, item_types
from harness.items.transcript import EMPTY_CHAIN, Transcript
from harness.live.conformance.questions import minimal_requests
from harness.world.scripting.lines import line_builders
from tests.support.registries import restored_items

CALL = {"type": "kitchen_call", "call_id": "call_1", "dish": "soup"}
OUTPUT = {"type": "kitchen_call_output", "call_id": "call_1", "output": "hot"}


@pytest.fixture(autouse=True)
def kitchen() -> Iterator[None]:
    with restored_items():

        @item("kc", call_name="kitchen call", examples={"kitchen_call": after_message(CALL, OUTPUT)})
        def kitchen_call(dish: str) -> dict[str, Any]:
            """Return the model orders a dish."""
            return {"call_id": None, "dish": dish}

        input_item("kitchen_call_output", "What the kitchen serves.", output_of="kitchen_call", status=True)
        yield


def test_the_model_can_emit_it():
    made = ITEMS["kitchen_call"].builder("soup")
    assert made == item_from_wire({"type": "kitchen_call", "call_id": None, "dish": "soup"})
    wire = {"id": "kc_1", "type": "kitchen_call", "status": "completed", "call_id": "call_1", "dish": "soup"}
    response = {"id": "resp_1", "status": "completed", "output": [wire], "model": "gpt-4.1", "usage": None}
    added, done = (event for event in render_events(response) if "output_item" in event["type"])
    assert (added["item"]["status"], done["item"]) == ("in_progress", wire)


def test_a_script_can_name_it():
    assert line_builders()["kitchen_call"]("soup") == ITEMS["kitchen_call"].builder("soup")


def test_rules_pair_the_call_with_its_output():
    unanswered, unasked = Transcript(EMPTY_CHAIN, [CALL]), Transcript(EMPTY_CHAIN, [OUTPUT])
    assert list(call_needs_output(unanswered)) == [{"kind": "kitchen call", "call_id": "call_1"}]
    assert list(output_needs_call(unasked)) == [{"kind": "kitchen call output", "call_id": "call_1"}]
    both = Transcript(EMPTY_CHAIN, [CALL, OUTPUT])
    assert not [*call_needs_output(both), *output_needs_call(both)]


def test_a_list_of_input_items_shows_its_status():
    assert [item["status"] for item in render_input_items([CALL, OUTPUT])] == ["completed", "completed"]


def test_an_output_has_ids_like_its_call():
    assert (id_prefix("kitchen_call"), id_prefix("kitchen_call_output")) == ("kc", "kc")
    assert (id_prefix("custom_tool_call"), id_prefix("custom_tool_call_output")) == ("ctc", "ctco")


def test_a_steer_waits_for_its_output():
    assert owed_outputs([CALL]) == [{"type": "kitchen_call_output", "call_id": "call_1"}]


def test_servers_are_asked_about_its_examples():
    asked = {name: case.body["input"] for area, name, case in minimal_requests() if area == "items"}
    assert asked["kitchen_call"] == [{"role": "user", "content": "Ship v2."}, CALL, OUTPUT]


def test_no_type_is_declared_twice():
    with pytest.raises(RegistrationError, match="input item kitchen_call_output is declared twice"):
        input_item("kitchen_call_output", "Again.")
    with pytest.raises(RegistrationError, match="input item kitchen_call is an item that a model emits"):
        input_item("kitchen_call", "Again.")


def test_what_is_declared_is_what_the_schema_knows():
    known = {name for name in item_types() if not name.startswith("kitchen_")}
    assert known == set(schema.load("CreateResponse")["properties"]["input"]["anyOf"][1]["items"]["x-known"])
    assert not set(INPUT_ITEMS) & set(ITEMS)
