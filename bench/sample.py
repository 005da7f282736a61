"""The answer of every server: one message of 50 words, with prepared bytes in case `harness` cannot provide them.

Every word has five letters, so that a mock which splits a text by size (6 characters, with the space) makes the same 50
deltas as one which splits it by words.
"""

import json
from typing import Any

from bench.wire import Captured

TEXT = (
    "Every river bends where stone meets water under quiet light while birds drift above green hills after early rains "
    "carry loose earth along banks whose roots stand proud below heavy skies until later winds bring fresh scent among "
    "trees which never sleep while night holds still those small homes again"
)
DELTAS = [word + " " for word in TEXT.split()[:-1]] + TEXT.split()[-1:]
ITEM_ID = "msg_" + "0" * 50


def part(text: str) -> dict[str, Any]:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def item(status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": ITEM_ID, "type": "message", "status": status, "content": content, "role": "assistant"}


def response(status: str, output: list[dict[str, Any]], usage: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "id": "resp_" + "0" * 50,
        "object": "response",
        "created_at": 1767225600,
        "status": status,
        "background": False,
        "completed_at": 1767225601 if usage else None,
        "error": None,
        "frequency_penalty": 0.0,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "metadata": {},
        "model": "gpt-4.1-2025-04-14",
        "output": output,
        "parallel_tool_calls": True,
        "presence_penalty": 0.0,
        "previous_response_id": None,
        "prompt_cache_key": None,
        "reasoning": {"effort": None, "summary": None},
        "safety_identifier": None,
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "user": None,
    }


def completed() -> dict[str, Any]:
    usage = {
        "input_tokens": 11,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 52,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 63,
    }
    return response("completed", [item("completed", [part(TEXT)])], usage)


def events() -> list[dict[str, Any]]:
    """Return the 58 events of the stream."""
    opened = response("in_progress", [], None)
    at = {"item_id": ITEM_ID, "output_index": 0, "content_index": 0}
    plain: list[dict[str, Any]] = [
        {"type": "response.created", "response": opened},
        {"type": "response.in_progress", "response": opened},
        {"type": "response.output_item.added", "output_index": 0, "item": item("in_progress", [])},
        {"type": "response.content_part.added", **at, "part": part("")},
        *({"type": "response.output_text.delta", **at, "delta": delta, "logprobs": []} for delta in DELTAS),
        {"type": "response.output_text.done", **at, "text": TEXT, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": part(TEXT)},
        {"type": "response.output_item.done", "output_index": 0, "item": item("completed", [part(TEXT)])},
        {"type": "response.completed", "response": completed()},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(plain)]


def captured() -> dict[str, Captured]:
    """Return the built-in answer in the form of one captured from a server."""
    frames = (f"event: {e['type']}\ndata: {json.dumps(e, separators=(',', ':'))}\n\n" for e in events())
    return {
        "json": Captured({"content-type": "application/json"}, json.dumps(completed(), separators=(",", ":"))),
        "stream": Captured({"content-type": "text/event-stream; charset=utf-8"}, "".join(frames)),
    }
