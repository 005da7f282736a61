"""The unmodified `openai-agents` in a test of its own: streams, refusals, event loops; `tests/clients` has its flows."""

import openai
import pytest
from agents import Agent, ModelRefusalError, OpenAIResponsesModel, RunConfig, Runner, function_tool

from harness.core.exchange import Json
from harness.items import function_call, message, refusal
from harness.world.mock import Mock
from tests.support.clients.programs import MODEL, TEMPERATURES

pytestmark = pytest.mark.asyncio

QUIET = RunConfig(tracing_disabled=True)


@pytest.fixture
def model(async_client: openai.AsyncOpenAI) -> OpenAIResponsesModel:
    return OpenAIResponsesModel(MODEL, async_client)


@function_tool
async def get_weather(city: str) -> int:
    """Return the temperature in a city."""
    return TEMPERATURES[city]


def bodies(mock: Mock) -> list[Json]:
    return [exchange.request.body for exchange in mock.exchanges]


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_tests_with_event_loops_of_their_own_share_the_http_client_of_all_providers(mock, number):
    mock.script(message("Hello."))
    result = await Runner.run(Agent("Clerk", model=MODEL), "hi", run_config=RunConfig(tracing_disabled=True))
    assert result.final_output == "Hello."
    assert mock.exchanges[0].request.headers["user-agent"].startswith("Agents/Python")


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


async def test_a_refusal_is_an_error_of_the_run(mock, model):
    mock.script(message(refusal("I cannot help.")))
    with pytest.raises(ModelRefusalError, match=r"I cannot help\."):
        await Runner.run(Agent("Clerk", model=model), "Rob a bank.", run_config=QUIET)
    assert [exchange.status for exchange in mock.exchanges] == [200]


async def test_a_chain_without_data_retention_is_refused(mock, model):
    mock.script(message("Hello."))
    mock.organization(zdr=True)
    clerk = Agent("Clerk", model=model)
    first = await Runner.run(clerk, "hi", run_config=QUIET)
    with pytest.raises(openai.BadRequestError, match="due to Zero Data Retention"):
        await Runner.run(clerk, "again", previous_response_id=first.last_response_id, run_config=QUIET)
