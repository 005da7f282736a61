"""The story of one question that takes two tools, told in every way the `openai` SDK can tell it."""

import openai
import pytest
from openai.lib.responses_tool_runner import RegisteredFunction, ResponsesToolRunner

from harness.explain.turn import tried_routes
from harness.items import function_call, message, reasoning
from tests.support.clients.programs import (
    MODEL,
    SCRIPTS,
    TEMPERATURES,
    WEATHER,
    chained_loop,
    inline_loop,
    outputs,
    second_thought,
    sent_back,
)

ANSWER = "18 and 4 degrees."


def statuses(mock):
    return [exchange.status for exchange in mock.exchanges]


def test_the_transcript_travels_and_nothing_is_stored(mock, client):
    mock.script(*SCRIPTS[inline_loop])
    assert inline_loop(client) == ANSWER
    first, second = (exchange.request.body["input"] for exchange in mock.exchanges)
    assert second[: len(first)] == first
    assert [item.get("call_id") for item in second[1:]] == ["call_paris", "call_oslo"] * 2
    assert mock.world.store.responses == {}


def test_the_api_keeps_the_transcript_and_only_outputs_travel(mock, client):
    mock.script(*SCRIPTS[chained_loop])
    assert chained_loop(client) == ANSWER
    second = mock.exchanges[1].request.body
    assert {item["type"] for item in second["input"]} == {"function_call_output"}
    kept = [item["type"] for item in mock.world.store.responses[mock.exchanges[1].answer.body["id"]].chain]
    assert kept == ["message", *["function_call"] * 2, *["function_call_output"] * 2, "message"]


def test_a_chain_costs_what_its_transcript_costs(mock, client):
    mock.script(*SCRIPTS[inline_loop], *SCRIPTS[chained_loop])
    assert inline_loop(client) == chained_loop(client)
    usages = [exchange.answer.body["usage"] for exchange in mock.exchanges]
    assert usages[:2] == usages[2:]


def test_reasoning_is_sent_back_with_what_followed_it(mock, client):
    mock.script(*SCRIPTS[second_thought])
    assert second_thought(client) == "Yes: 7 times 13."
    types = [item.get("type", item.get("role")) for item in mock.exchanges[1].request.body["input"]]
    assert types == ["user", "reasoning", "message", "user"]


def test_the_loop_is_streamed(mock, client):
    mock.script(*SCRIPTS[chained_loop])
    asked, previous, told = "Weather in Paris and Oslo?", None, ""
    while asked:
        given = {} if previous is None else {"previous_response_id": previous}
        with client.responses.stream(model=MODEL, input=asked, tools=[WEATHER], **given) as stream:
            told += "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            final = stream.get_final_response()
        asked, previous = outputs(final), final.id
    assert told == ANSWER
    assert [exchange.answer.events[-1]["type"] for exchange in mock.exchanges] == ["response.completed"] * 2


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
def test_the_tool_runner_of_the_sdk_drives_the_loop(mock, client, stream):
    mock.script(*SCRIPTS[inline_loop])
    ran = []

    def weather(arguments):
        ran.append(arguments["city"])
        return str(TEMPERATURES[arguments["city"]])

    runner = ResponsesToolRunner(functions=[RegisteredFunction(WEATHER, weather)])
    asked = {"model": "gpt-5", "input": "Weather in Paris and Oslo?"}
    assert runner.run(client, asked, stream=stream).output_text == ANSWER
    assert (ran, statuses(mock)) == (["Paris", "Oslo"], [200, 200])


def test_a_branch_continues_an_earlier_response(mock, client):
    mock.script(function_call("get_weather", {"city": "Oslo"}), message("4."), message("Still 4."))
    first = client.responses.create(model=MODEL, input="Weather in Oslo?", tools=[WEATHER])
    said = [
        client.responses.create(model=MODEL, input=outputs(first), previous_response_id=first.id).output_text
        for _ in range(2)
    ]
    assert said == ["4.", "Still 4."]


def test_items_are_referred_to_in_place_of_being_sent(mock, client):
    mock.script([reasoning("**Greeting**"), message("Hello.")], message("Again."))
    first = client.responses.create(model=MODEL, input="hi")
    references = [{"type": "item_reference", "id": item.id} for item in first.output]
    with pytest.raises(openai.BadRequestError, match="without its required 'reasoning' item"):
        client.responses.create(model=MODEL, input=[references[1], {"role": "user", "content": "again"}])
    whole = [*references, {"role": "user", "content": "again"}]
    second = client.responses.create(model=MODEL, input=whole)
    assert second.output_text == "Again."
    listed = list(client.responses.input_items.list(second.id, order="asc"))
    assert [item.id for item in listed[:2]] == [item.id for item in first.output]


def test_a_conversation_collects_the_loop(mock, client):
    mock.script(*SCRIPTS[chained_loop])
    conversation = client.conversations.create()
    named = {"model": MODEL, "tools": [WEATHER], "conversation": conversation.id}
    first = client.responses.create(**named, input="Weather in Paris and Oslo?")
    with pytest.raises(openai.BadRequestError, match="Duplicate item found with id fc_"):
        client.responses.create(**named, input=[*sent_back(first), *outputs(first)])
    assert client.responses.create(**named, input=outputs(first)).output_text == ANSWER
    assert statuses(mock) == [200, 200, 400, 200]


ASKED = [{"role": "system", "content": "You are the planner."}, {"role": "user", "content": "Weather in Paris?"}]
TURNS = (function_call("get_weather", {"city": "Paris"}, call_id="call_1"), "18 degrees.")


class TestRoutesOfALoopWhoseItemsAreStored:
    """A route sees what the model reads: it answers each turn of a loop, however the earlier items get there."""

    def loop(self, client, **chain):
        first = client.responses.create(model=MODEL, tools=[WEATHER], input=ASKED, **chain)
        output = {"type": "function_call_output", "call_id": "call_1", "output": "18"}
        chain = chain or {"previous_response_id": first.id}
        return client.responses.create(model=MODEL, tools=[WEATHER], input=[output], **chain).output_text

    @pytest.mark.parametrize(
        "condition",
        [{"instructions": "planner"}, {"user": "Paris"}, {"instructions": "planner", "tools": "get_weather"}],
    )
    def test_the_system_message_and_the_question_lie_in_the_chain(self, mock, client, condition):
        mock.when(**condition).script(*TURNS)
        assert self.loop(client) == "18 degrees."

    def test_routes_of_a_loop_whose_items_are_stored_lie_in_a_conversation(self, mock, client):
        mock.when(instructions="planner", user="Paris").script(*TURNS)
        named = {"conversation": client.conversations.create().id}
        assert self.loop(client, **named) == "18 degrees."

    @pytest.mark.harness(unused="allow")
    def test_a_route_is_explained_with_what_the_conversation_held_then(self, mock, client):
        mock.when(instructions="planner").script("never")
        mock.script("one", "two")
        named = {"model": MODEL, "conversation": client.conversations.create().id}
        client.responses.create(**named, input="hi")
        client.responses.create(**named, input=[{"role": "user", "content": "ho"}])
        client.conversations.items.create(named["conversation"], items=ASKED)
        for exchange in [exchange for exchange in mock.exchanges if exchange.request.path == "/responses"]:
            why = tried_routes(mock.world, exchange)[0].why
            assert why == "instructions does not contain 'planner': ''"

    def test_the_system_message_is_a_reference(self, mock, client):
        conversation = client.conversations.create(items=ASKED[:1])
        (system,) = client.conversations.items.list(conversation.id)
        mock.when(instructions="planner").script("ok")
        given = [{"type": "item_reference", "id": system.id}, ASKED[1]]
        assert client.responses.create(model=MODEL, input=given).output_text == "ok"

    @pytest.mark.harness(unused="allow")
    def test_the_parameter_is_not_inherited(self, mock, client):
        mock.when(instructions="planner").script("first", "never")
        mock.script("second")
        first = client.responses.create(model=MODEL, instructions="You are the planner.", input="hi")
        chained = client.responses.create(model=MODEL, input="go on", previous_response_id=first.id)
        assert chained.output_text == "second"
