"""The judge of answers: what is missing or of another type is named, in JSON, in a stream and in an error."""

import pytest

from harness.core.exchange import Exchange, Json
from harness.items import function_call, message
from tests.support.clients.programs import MODEL
from tests.support.clients.strict import faults
from tests.support.tools import functions


def with_answer(exchange: Exchange, **changes: object) -> Exchange:
    return exchange._replace(answer=exchange.answer._replace(**changes))


@pytest.mark.parametrize("name", ["id", "created_at", "model", "output", "parallel_tool_calls", "tool_choice", "tools"])
def test_a_response_without_a_member_is_found_out(mock, client, name):
    mock.script(message("hi"))
    client.responses.create(model=MODEL, input="hi")
    exchange = mock.exchanges[0]
    body = {member: value for member, value in exchange.answer.body.items() if member != name}
    assert faults(exchange) == []
    assert [fault for fault in faults(with_answer(exchange, body=body)) if f"{name}: Field required" in fault]


def test_a_member_of_another_type_is_found_out(mock, client):
    mock.script(message("hi"))
    client.responses.create(model=MODEL, input="hi")
    exchange = mock.exchanges[0]
    usage = {**exchange.answer.body["usage"], "input_tokens": "7"}
    broken = with_answer(exchange, body={**exchange.answer.body, "usage": usage})
    assert [fault for fault in faults(broken) if "usage.input_tokens: Input should be a valid integer" in fault]


def test_every_event_without_its_number_is_found_out(mock, client):
    mock.script([message("hi"), function_call("f")])
    with client.responses.stream(model=MODEL, input="hi", tools=functions("f")) as stream:
        stream.until_done()
    exchange = mock.exchanges[0]
    for index, event in enumerate(exchange.answer.events):
        events: list[Json] = list(exchange.answer.events)
        events[index] = {name: value for name, value in event.items() if name != "sequence_number"}
        assert any("sequence_number: Field required" in fault for fault in faults(with_answer(exchange, events=events)))


def test_an_error_without_a_member_is_found_out(mock, client):
    with pytest.raises(Exception, match="temperature"):
        client.responses.create(model=MODEL, input="hi", temperature=3)
    error = dict(mock.exchanges[0].answer.body["error"])
    del error["message"]
    assert [
        fault
        for fault in faults(with_answer(mock.exchanges[0], body={"error": error}))
        if "message: Field required" in fault
    ]
