"""The unmodified `openai-agents` in a test of its own: refusals, event loops; `tests/scenarios` has its streams."""

import openai
import pytest
from agents import Agent, ModelRefusalError, OpenAIResponsesModel, RunConfig, Runner

from harness.items import message, refusal
from tests.support.clients.programs import MODEL

pytestmark = pytest.mark.asyncio

QUIET = RunConfig(tracing_disabled=True)


@pytest.fixture
def model(async_client: openai.AsyncOpenAI) -> OpenAIResponsesModel:
    return OpenAIResponsesModel(MODEL, async_client)


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_tests_with_event_loops_of_their_own_share_the_http_client_of_all_providers(mock, number):
    mock.script(message("Hello."))
    result = await Runner.run(Agent("Clerk", model=MODEL), "hi", run_config=RunConfig(tracing_disabled=True))
    assert result.final_output == "Hello."
    assert mock.exchanges[0].request.headers["user-agent"].startswith("Agents/Python")


async def test_a_refusal_is_an_error_of_the_run(mock, model):
    mock.script(message(refusal("I cannot help.")))
    with pytest.raises(ModelRefusalError, match=r"I cannot help\."):
        await Runner.run(Agent("Clerk", model=model), "Rob a bank.", run_config=QUIET)
    assert [exchange.status for exchange in mock.exchanges] == [200]
