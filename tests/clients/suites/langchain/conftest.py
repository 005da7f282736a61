"""A chat model for a test, calls and graphs that are played at once and as a stream."""

import asyncio
from functools import reduce
from operator import add

import pytest
from langchain_openai import ChatOpenAI
from openai import DefaultAsyncHttpxClient
from story import SEALED

MEMORIES = {"replay": {}, "chain": {"use_previous_response_id": True}, "unstored": SEALED}


@pytest.fixture(params=MEMORIES)
def memory(request):
    """The options of a model by which the next turn knows of the last."""
    return MEMORIES[request.param]


@pytest.fixture(params=["responses/v1", "v1"])
def version(request):
    """The form of a message's content."""
    return {"output_version": request.param}


@pytest.fixture
def chat(mock):
    """Make a chat model: `chat("gpt-5", use_previous_response_id=True)`; by default they share connections across loops."""

    def made(model="gpt-4.1", **options):
        own = {"use_responses_api": True, "max_retries": 0, "http_async_client": DefaultAsyncHttpxClient()}
        return ChatOpenAI(model=model, **{**own, **options})

    return made


@pytest.fixture(params=["whole", "streamed"])
def ask(request):
    """Ask a chat model, whole or streamed.

    `await ask(model, messages)` is the message it says, or the sum of its chunks.
    """

    async def whole(model, given, **options):
        return await asyncio.to_thread(model.invoke, given, **options)

    async def streamed(model, given, **options):
        return reduce(add, [chunk async for chunk in model.astream(given, **options)])

    return whole if request.param == "whole" else streamed


@pytest.fixture(params=["whole", "streamed"])
def run(request):
    """Run a graph; when it is streamed, so is the model.

    `await run(agent, input, …)` is its state at the end.
    """

    async def streamed(agent, given, *more, **options):
        state, waiting = None, []
        async for mode, told in agent.astream(given, *more, stream_mode=["values", "messages", "updates"], **options):
            if mode == "values":
                state = told
            if mode == "updates":
                waiting += told.get("__interrupt__", ())
        return {**state, "__interrupt__": waiting}

    return streamed if request.param == "streamed" else lambda agent, *given, **more: agent.ainvoke(*given, **more)
