"""The clients of agent-framework for the Responses API, and a player that plays each flow at once and as a stream."""

import pytest
from agent_framework.foundry import FoundryChatClient
from agent_framework.openai import OpenAIChatClient
from credential import AsyncCredential

MODEL = "gpt-5"


@pytest.fixture
def openai(mock):
    return OpenAIChatClient(base_url=mock.base_url, api_key=mock.api_key, model=MODEL)


@pytest.fixture
def foundry(mock):
    credential = AsyncCredential(mock.api_key)
    return FoundryChatClient(project_endpoint=mock.project_endpoint, credential=credential, model=MODEL)


@pytest.fixture(params=["openai", "foundry"])
def chat(request):
    """Each client in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def done():
    """What the tools of a test have deployed."""
    return []


@pytest.fixture(params=["run", "streamed"])
def run(request):
    """Runs an agent or a workflow, at once or streamed and read to its end; awaited, it is the result."""

    async def at_once(runner, *given, **options):
        return await runner.run(*given, **options)

    async def streamed(runner, *given, **options):
        stream = runner.run(*given, stream=True, **options)
        async for _ in stream:
            pass
        return await stream.get_final_response()

    return at_once if request.param == "run" else streamed
