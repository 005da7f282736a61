"""Runs background responses and compactions with the `openai` package, as the API's guides show."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from openai import APIConnectionError, APIError, AsyncOpenAI

PAUSE = 0.01
"""The number of seconds between two polls of a response."""
ENDINGS = ("response.completed", "response.incomplete", "response.failed")


async def send(client: AsyncOpenAI, asked: dict[str, Any]) -> Any:
    """Send a request and return the response or the stream; poll a background response, and resume its stream."""
    answered = await client.responses.create(**asked)
    if not asked.get("background"):
        return answered
    return resume(client, answered) if asked["stream"] else await poll(client, answered)


async def compact(client: AsyncOpenAI, model: str, history: list[Any]) -> list[Any]:
    """Let the API compact a history."""
    made = await client.responses.compact(model=model, input=history)
    return [item.model_dump(exclude_unset=True) for item in made.output]


async def poll(client: AsyncOpenAI, response: Any) -> Any:
    """Poll a response until it has ended."""
    while response.status in ("queued", "in_progress"):
        await asyncio.sleep(PAUSE)
        response = await client.responses.retrieve(response.id)
    return response


async def resume(client: AsyncOpenAI, stream: Any) -> AsyncIterator[Any]:
    """Yield the events of a stream, resuming it when it is cut, until a stream has no events."""
    id, last, seen = "", -1, -2
    while seen < last or not id:
        seen = last
        try:
            async for event in stream:
                yield event
                id, last = getattr(getattr(event, "response", None), "id", id), event.sequence_number
                if event.type in ENDINGS:
                    return
        except Exception as problem:  # the HTTP client's own, too: which one that is depends on the release
            if not id or (isinstance(problem, APIError) and not isinstance(problem, APIConnectionError)):
                raise
        if not id:
            return
        stream = await client.responses.retrieve(id, stream=True, starting_after=last)
