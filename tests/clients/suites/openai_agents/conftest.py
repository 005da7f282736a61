"""One client for a test, and a runner that plays each flow at once and as a stream."""

import pytest
from agents import OpenAIResponsesModel, RunConfig, Runner
from openai import AsyncOpenAI

QUIET = RunConfig(tracing_disabled=True)


@pytest.fixture
def model(mock):
    return OpenAIResponsesModel("gpt-4.1", AsyncOpenAI(max_retries=0))


@pytest.fixture
def thinking(mock):
    return OpenAIResponsesModel("gpt-5", AsyncOpenAI(max_retries=0))


@pytest.fixture(params=["run", "streamed"])
def run(request):
    """How a run is played, at once or as a stream that is read to its end; it takes what `Runner.run` takes."""

    async def streamed(agent, given, **options):
        result = Runner.run_streamed(agent, given, **options)
        async for _ in result.stream_events():
            pass
        return result

    play = Runner.run if request.param == "run" else streamed
    return lambda agent, given, **options: play(agent, given, **{"run_config": QUIET, **options})
