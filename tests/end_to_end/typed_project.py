"""The tests of a user who checks types: `test_wheel` copies this file beside an installed wheel, checks and runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from harness import counted, surfaced
from harness.drive import Chat, linear
from harness.ending import incomplete
from harness.faults import cut, rate_limit
from harness.items import function_call, message, reasoning

if TYPE_CHECKING:
    from openai import OpenAI

    from harness import Mock, World
    from harness.core.exchange import Request
    from harness.world.route import Turn


def test_a_turn_is_answered(mock: Mock, client: OpenAI) -> None:
    mock.script([reasoning("**Greeting**"), message("Hi.")])
    answer = client.responses.create(model="gpt-4.1", input="Hello?")
    text: str = answer.output_text
    surfaced(text, mock.replies, only=["text"])
    assert [exchange.status for exchange in mock.exchanges] == [200]


def test_a_refund_is_made_once(mock: Mock, client: OpenAI) -> None:
    def refund(order: str) -> str:
        return f"{order} is refunded"

    tool = counted(refund)
    mock.when(instructions="cashier", tools=["refund"]).script(function_call("refund", {"order": "A7"}))
    mock.script(message("Done."))
    first = client.responses.create(
        model="gpt-4.1",
        instructions="You are the cashier.",
        input="Refund A7.",
        tools=[
            {"type": "function", "name": "refund", "parameters": {"type": "object", "properties": {}}, "strict": False}
        ],
    )
    call = first.output[0]
    assert call.type == "function_call"
    output: str = tool(order="A7")
    client.responses.create(
        model="gpt-4.1",
        previous_response_id=first.id,
        input=[{"type": "function_call_output", "call_id": call.call_id, "output": output}],
    )
    assert [(call.name, call.answered) for call in mock.calls] == [("refund", 1)]
    assert tool.runs == [{"order": "A7"}]


def test_a_chat_is_linear(mock: Mock) -> None:
    def model(request: Request) -> Iterator[Any]:
        yield message(f"You said {request.body['input'][-1]['content'][0]['text']}.")
        yield [message("Once upon"), incomplete("max_output_tokens")]

    mock.script(model)
    with Chat(mock.base_url, mock.api_key, mode="replay") as chat:
        assert chat.say("one").text == "You said one."
        assert chat.say("two").response["status"] == "incomplete"
    linear(mock.exchanges, chat.texts)


@pytest.mark.harness(losses="allow", unused="allow")
def test_what_goes_wrong_on_the_way(mock: Mock, client: OpenAI) -> None:
    mock.script(rate_limit(after="1s"), cut(message("Once"), after=4))
    mock.mcp("prod", {"deploy": lambda ref: f"{ref} is live"})
    mock.organization(models=["gpt-4.1"])
    with pytest.raises(Exception, match="Rate limit"):
        client.responses.create(model="gpt-4.1", input="Hello?")
    assert [loss.loss for loss in mock.losses] == []
    assert len(mock.lanes) == 1
    assert str(mock.flow)
    assert not mock.approvals
    world: World = mock.world
    assert len(world.exchanges) == 1


def test_a_recording_is_a_script(mock: Mock, client: OpenAI, cassette: Callable[[str], list[Turn]]) -> None:
    mock.script(*cassette("weather")[:1])
    assert client.responses.create(model="gpt-4.1", input="Hello?").output
