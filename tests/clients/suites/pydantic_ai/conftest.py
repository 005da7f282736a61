"""One client for a test, and a run that is played at once and as a stream."""

import pytest
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

MEMORIES = {"replay": {}, "chain": {"openai_previous_response_id": "auto"}, "unstored": {"openai_store": False}}


@pytest.fixture
def provider(mock):
    return OpenAIProvider(openai_client=AsyncOpenAI(max_retries=0))


@pytest.fixture
def model(provider):
    return OpenAIResponsesModel("gpt-4.1", provider=provider)


@pytest.fixture
def thinking(provider):
    return OpenAIResponsesModel("gpt-5", provider=provider)


@pytest.fixture(params=MEMORIES)
def memory(request):
    """The settings of a model by which the next turn knows of the last."""
    return MEMORIES[request.param]


@pytest.fixture(params=["run", "streamed"])
def run(request):
    """Run an agent, with a stream or without.

    `await run(agent, prompt, …)` is its result.
    """

    async def read(context, events):
        async for _ in events:
            pass

    more = {} if request.param == "run" else {"event_stream_handler": read}
    return lambda agent, *given, **options: agent.run(*given, **more, **options)
