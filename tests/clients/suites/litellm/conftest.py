"""LiteLLM's ways to ask: responses, and chat completions made of them, each whole and streamed, awaited or not."""

import asyncio

import litellm
import pytest

MODES = ["whole", "streamed", "async whole", "async streamed"]


@pytest.fixture(autouse=True)
def fresh(mock):
    """No client of another test's loop is kept, and nothing is tried again."""
    litellm.in_memory_llm_clients_cache.flush_cache()
    litellm.num_retries = None


@pytest.fixture(params=MODES)
def respond(request):
    """Ask for a response.

    `await respond(input=…)` is it, of a stream that of the last event.
    """

    async def whole(**asked):
        return await asyncio.to_thread(litellm.responses, **asked)

    async def streamed(**asked):
        return (await asyncio.to_thread(lambda: list(litellm.responses(stream=True, **asked))))[-1].response

    async def async_streamed(**asked):
        return [event async for event in await litellm.aresponses(stream=True, **asked)][-1].response

    ways = dict(zip(MODES, [whole, streamed, litellm.aresponses, async_streamed], strict=True))
    return lambda model="openai/gpt-4.1", **asked: ways[request.param](model=model, **asked)


@pytest.fixture(params=MODES)
def complete(request):
    """Ask for a chat completion over the Responses API.

    `await complete(messages=…)` is it, of a stream what its chunks are built to.
    """

    async def whole(**asked):
        return await asyncio.to_thread(litellm.completion, **asked)

    async def streamed(**asked):
        chunks = await asyncio.to_thread(lambda: list(litellm.completion(stream=True, **asked)))
        return litellm.stream_chunk_builder(chunks, messages=asked["messages"])

    async def async_streamed(**asked):
        chunks = [chunk async for chunk in await litellm.acompletion(stream=True, **asked)]
        return litellm.stream_chunk_builder(chunks, messages=asked["messages"])

    ways = dict(zip(MODES, [whole, streamed, litellm.acompletion, async_streamed], strict=True))
    return lambda model="openai/responses/gpt-4.1", **asked: ways[request.param](model=model, **asked)
