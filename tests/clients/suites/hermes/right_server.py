"""A small right server of the Responses API whose model is another one: `right_server.py PORT`.

It keeps typed items as they are, runs the tool `todo`, and takes a client that replays its transcript beside
`previous_response_id` for what it is: what the chain already holds is not stored again.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from openai import AsyncOpenAI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Item = dict[str, Any]

TODO = {
    "type": "function",
    "name": "todo",
    "description": "Keep the list of tasks.",
    "parameters": {"type": "object", "properties": {"todos": {"type": "array", "items": {"type": "object"}}}},
    "strict": False,
}
client = AsyncOpenAI()
stored: dict[str, list[Item]] = {}


async def create(request: Request) -> Response:
    body = await request.json()
    before = stored.get(body.get("previous_response_id"), [])
    transcript = [*before, *unknown(before, as_items(body["input"]))]
    asked = len(transcript)
    while not transcript[asked:] or transcript[-1]["type"] == "function_call_output":
        transcript += await answer(transcript)
    response = {
        "id": f"resp_{uuid.uuid4().hex}",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": body["model"],
        "output": transcript[asked:],
    }
    stored[response["id"]] = transcript
    if body.get("stream"):
        return StreamingResponse(events(response), media_type="text/event-stream")
    return JSONResponse(response)


def as_items(said: str | list[Item]) -> list[Item]:
    return [{"role": "user", "content": said}] if isinstance(said, str) else said


def unknown(before: list[Item], given: list[Item]) -> list[Item]:
    """Return what of the given items the chain does not hold: a transcript replayed from its beginning is cut off."""
    replayed = [key(item) for item in given[: len(before)]] == [key(item) for item in before]
    return given[len(before) :] if replayed else given


def key(item: Item) -> Any:
    if call_id := item.get("call_id"):
        return item["type"], call_id
    return item.get("role"), text(item.get("content"))


def text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


async def answer(transcript: list[Item]) -> list[Item]:
    """Return what the model says next, and the outputs of the tools it calls."""
    said = await client.responses.create(model="gpt-5", input=transcript, tools=[TODO], store=False)
    output = [item.model_dump(exclude_none=True) for item in said.output]
    calls = [item for item in output if item["type"] == "function_call"]
    return [
        *output,
        *({"type": "function_call_output", "call_id": call["call_id"], "output": run(call)} for call in calls),
    ]


def run(call: Item) -> str:
    return json.dumps({"todos": json.loads(call["arguments"])["todos"]})


async def events(response: Item) -> AsyncIterator[str]:
    told = [{"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}]
    for index, item in enumerate(response["output"]):
        told.append({"type": "response.output_item.added", "output_index": index, "item": item})
        told.append({"type": "response.output_item.done", "output_index": index, "item": item})
    told.append({"type": "response.completed", "response": response})
    for number, event in enumerate(told):
        yield f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"


async def health(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


if __name__ == "__main__":
    app = Starlette(routes=[Route("/v1/responses", create, methods=["POST"]), Route("/health", health)])
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
