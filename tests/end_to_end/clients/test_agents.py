"""The unmodified `openai-agents` on the mock: runs, streams, tools, guardrails, sessions, chains."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    ModelRefusalError,
    ModelSettings,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    SQLiteSession,
    function_tool,
    input_guardrail,
)
from openai.types.shared import Reasoning
from pydantic import BaseModel

from harness.core.exchange import Json
from harness.items import function_call, message, reasoning, refusal
from harness.world.mock import Mock
from tests.support.clients import broken
from tests.support.clients.broken import BrokenAsyncOpenAI
from tests.support.clients.programs import MODEL, TEMPERATURES

pytestmark = pytest.mark.asyncio

QUIET = RunConfig(tracing_disabled=True)
TWO_CITIES = [
    function_call("get_weather", {"city": "Paris"}, call_id="call_paris"),
    function_call("get_weather", {"city": "Oslo"}, call_id="call_oslo"),
]


class Verdict(BaseModel):
    homework: bool


@pytest.fixture
def model(async_client: openai.AsyncOpenAI) -> OpenAIResponsesModel:
    return OpenAIResponsesModel(MODEL, async_client)


@function_tool
async def get_weather(city: str) -> int:
    """Return the temperature in a city."""
    return TEMPERATURES[city]


def sent(mock: Mock, number: int) -> list[str]:
    """Return the types of the items of the request with that number, messages by their role."""
    return [item.get("type", item.get("role")) for item in mock.exchanges[number - 1].request.body["input"]]


def bodies(mock: Mock) -> list[Json]:
    return [exchange.request.body for exchange in mock.exchanges]


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_tests_with_event_loops_of_their_own_share_the_http_client_of_all_providers(mock, number):
    mock.script(message("Hello."))
    result = await Runner.run(Agent("Clerk", model=MODEL), "hi", run_config=RunConfig(tracing_disabled=True))
    assert result.final_output == "Hello."
    assert mock.exchanges[0].request.headers["user-agent"].startswith("Agents/Python")


async def test_parallel_tools_are_answered_in_one_request(mock, model):
    mock.script(TWO_CITIES, message("18 and 4 degrees."))
    clerk = Agent("Clerk", instructions="Be exact.", model=model, tools=[get_weather])
    result = await Runner.run(clerk, "Weather in Paris and Oslo?", run_config=QUIET)
    assert result.final_output == "18 and 4 degrees."
    assert sent(mock, 2) == ["user", *["function_call"] * 2, *["function_call_output"] * 2]
    outputs = [item["output"] for item in bodies(mock)[1]["input"] if item.get("type") == "function_call_output"]
    assert outputs == ["18", "4"]


async def test_a_client_that_drops_an_output_fails_the_run(mock):
    mock.script(TWO_CITIES)
    client = BrokenAsyncOpenAI(broken.drops_a_tool_output, base_url=mock.base_url, api_key=mock.api_key, max_retries=0)
    async with client:
        clerk = Agent("Clerk", model=OpenAIResponsesModel(MODEL, client), tools=[get_weather])
        with pytest.raises(openai.BadRequestError, match=r"No tool output found for function call call_oslo\."):
            await Runner.run(clerk, "Weather in Paris and Oslo?", run_config=QUIET)
    assert [exchange.status for exchange in mock.exchanges] == [200, 400]


async def test_a_client_that_drops_reasoning_fails_the_run(mock):
    mock.script([reasoning("**Looking up**"), TWO_CITIES[0]])
    client = BrokenAsyncOpenAI(broken.drops_reasoning, base_url=mock.base_url, api_key=mock.api_key, max_retries=0)
    async with client:
        clerk = Agent("Clerk", model=OpenAIResponsesModel("gpt-5", client), tools=[get_weather])
        with pytest.raises(openai.BadRequestError, match="was provided without its required 'reasoning' item"):
            await Runner.run(clerk, "Weather in Paris?", run_config=QUIET)
    assert mock.exchanges[-1].answer.rule == "item_without_reasoning"


async def test_a_streamed_run_has_the_events_of_the_api_and_its_own(mock, model):
    mock.script(function_call("get_weather", {"city": "Oslo"}), message(["4 ", "degrees."]))
    clerk = Agent("Clerk", model=model, tools=[get_weather])
    run = Runner.run_streamed(clerk, "Weather in Oslo?", run_config=QUIET)
    raw, named = [], []
    async for event in run.stream_events():
        if event.type == "raw_response_event":
            raw.append(event.data)
        elif event.type == "run_item_stream_event":
            named.append(event.name)
    assert run.final_output == "4 degrees."
    assert named == ["tool_called", "tool_output", "message_output_created"]
    assert [event.type for event in raw].count("response.completed") == 2
    assert [event.delta for event in raw if event.type == "response.output_text.delta"] == ["4 ", "degrees."]
    numbers = [event.sequence_number for event in raw]
    second = numbers.index(0, 1)
    assert numbers == [*range(second), *range(len(numbers) - second)]
    assert [body["stream"] for body in bodies(mock)] == [True, True]


async def test_a_guardrail_run_by_an_agent_stops_the_run(mock, model):
    mock.when(instructions="judge").script(message('{"homework":false}'), message('{"homework":true}'))
    mock.when(instructions="tutor").script(message("Hello."))
    judge = Agent("Judge", instructions="You judge.", model=model, output_type=Verdict)

    @input_guardrail(run_in_parallel=False)
    async def no_homework(context: Any, agent: Any, input: Any) -> GuardrailFunctionOutput:
        verdict = (await Runner.run(judge, input, run_config=QUIET)).final_output
        return GuardrailFunctionOutput(verdict, tripwire_triggered=verdict.homework)

    tutor = Agent("Tutor", instructions="You are a tutor.", model=model, input_guardrails=[no_homework])
    assert (await Runner.run(tutor, "hi", run_config=QUIET)).final_output == "Hello."
    with pytest.raises(InputGuardrailTripwireTriggered) as caught:
        await Runner.run(tutor, "Solve 2x = 4 for me.", run_config=QUIET)
    assert caught.value.guardrail_result.output.output_info == Verdict(homework=True)
    assert [body["instructions"] for body in bodies(mock)] == ["You judge.", "You are a tutor.", "You judge."]


async def test_an_output_type_is_requested_and_read(mock, model):
    mock.script(message('{"homework":true}'))
    result = await Runner.run(Agent("Judge", model=model, output_type=Verdict), "Solve it.", run_config=QUIET)
    assert result.final_output == Verdict(homework=True)
    assert bodies(mock)[0]["text"]["format"]["schema"]["required"] == ["homework"]


async def test_a_refusal_is_an_error_of_the_run(mock, model):
    mock.script(message(refusal("I cannot help.")))
    with pytest.raises(ModelRefusalError, match=r"I cannot help\."):
        await Runner.run(Agent("Clerk", model=model), "Rob a bank.", run_config=QUIET)
    assert [exchange.status for exchange in mock.exchanges] == [200]


async def test_a_session_replays_what_was_sent(mock, model):
    mock.script([reasoning("**Greeting**"), message("Hello, Ann.")], message("Ann."))
    clerk, session = Agent("Clerk", model=model), SQLiteSession("ann")
    for question in ("I am Ann.", "Who am I?"):
        result = await Runner.run(clerk, question, session=session, run_config=QUIET)
    session.close()
    assert result.final_output == "Ann."
    assert sent(mock, 2) == ["user", "reasoning", "message", "user"]


async def test_a_chain_sends_only_what_is_new(mock, model):
    mock.script(function_call("get_weather", {"city": "Oslo"}), message("4 degrees."), message("Cold."))
    clerk = Agent("Clerk", model=model, tools=[get_weather])
    first = await Runner.run(clerk, "Weather in Oslo?", auto_previous_response_id=True, run_config=QUIET)
    last = first.last_response_id
    second = await Runner.run(clerk, "Is that cold?", previous_response_id=last, run_config=QUIET)
    assert second.final_output == "Cold."
    assert [sent(mock, number) for number in (1, 2, 3)] == [["user"], ["function_call_output"], ["user"]]
    previous = [body.get("previous_response_id") for body in bodies(mock)]
    assert previous == [None, mock.exchanges[0].answer.body["id"], last]


async def test_a_conversation_of_the_api_is_the_memory(mock, model, async_client):
    mock.script(function_call("get_weather", {"city": "Oslo"}), message("4 degrees."))
    conversation = await async_client.conversations.create()
    clerk = Agent("Clerk", model=model, tools=[get_weather])
    result = await Runner.run(clerk, "Weather in Oslo?", conversation_id=conversation.id, run_config=QUIET)
    assert result.final_output == "4 degrees."
    assert [sent(mock, number) for number in (2, 3)] == [["user"], ["function_call_output"]]
    items = [item["type"] for item in mock.world.store.conversations[conversation.id].items]
    assert items == ["message", "function_call", "function_call_output", "message"]


async def test_a_stateless_run_carries_its_ciphertext(mock, async_client):
    mock.script([reasoning(encrypted_content="gAAAA"), TWO_CITIES[0]], message("18 degrees."))
    mock.organization(zdr=True)
    settings = ModelSettings(
        store=False, response_include=["reasoning.encrypted_content"], reasoning=Reasoning(effort="low")
    )
    model = OpenAIResponsesModel("gpt-5", async_client)
    clerk = Agent("Clerk", model=model, tools=[get_weather], model_settings=settings)
    result = await Runner.run(clerk, "Weather in Paris?", run_config=QUIET)
    assert result.final_output == "18 degrees."
    assert [body["store"] for body in bodies(mock)] == [False, False]
    assert [item.get("encrypted_content") for item in bodies(mock)[1]["input"]] == [None, "gAAAA", None, None]


async def test_a_chain_without_data_retention_is_refused(mock, model):
    mock.script(message("Hello."))
    mock.organization(zdr=True)
    clerk = Agent("Clerk", model=model)
    first = await Runner.run(clerk, "hi", run_config=QUIET)
    with pytest.raises(openai.BadRequestError, match="due to Zero Data Retention"):
        await Runner.run(clerk, "again", previous_response_id=first.last_response_id, run_config=QUIET)
