"""What every answer of the API has: the members of a response, the events of a stream and their order.

Facts of the public OpenResponses description, version 2.4.
"""

from __future__ import annotations

import json
from itertools import groupby
from types import NoneType
from typing import Any

Json = dict[str, Any]
NUMBER, INTEGER, TEXT = (int, float), (int,), (str,)
OR_NULL = (NoneType,)
MEMBERS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("id", "object", "status", "model", "truncation", "service_tier"), TEXT),
    **dict.fromkeys(("previous_response_id", "instructions", "safety_identifier", "prompt_cache_key"), TEXT + OR_NULL),
    **dict.fromkeys(("top_p", "presence_penalty", "frequency_penalty", "temperature"), NUMBER),
    **dict.fromkeys(("created_at", "top_logprobs"), INTEGER),
    **dict.fromkeys(("completed_at", "max_output_tokens", "max_tool_calls"), INTEGER + OR_NULL),
    **dict.fromkeys(("parallel_tool_calls", "store", "background"), (bool,)),
    **dict.fromkeys(("incomplete_details", "error", "reasoning", "usage"), (dict, NoneType)),
    **dict.fromkeys(("text", "metadata"), (dict,)),
    **dict.fromkeys(("output", "tools"), (list,)),
    "tool_choice": (str, dict),
}
"""What every response has, and of which type."""
EVENTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("response.created", "response.in_progress", "response.completed"), ("response",)),
    **dict.fromkeys(("response.output_item.added", "response.output_item.done"), ("output_index", "item")),
    **dict.fromkeys(
        ("response.content_part.added", "response.content_part.done"),
        ("item_id", "output_index", "content_index", "part"),
    ),
    "response.output_text.delta": ("item_id", "output_index", "content_index", "delta", "logprobs"),
    "response.output_text.done": ("item_id", "output_index", "content_index", "text", "logprobs"),
    "response.function_call_arguments.delta": ("item_id", "output_index", "delta"),
    "response.function_call_arguments.done": ("item_id", "output_index", "arguments"),
}
"""What the events of plain answers have, beside `type` and `sequence_number`."""
SAID = [
    *("created", "in_progress", "output_item.added", "content_part.added", "output_text.delta", "output_text.done"),
    *("content_part.done", "output_item.done", "completed"),
]
CALLED = [
    *("created", "in_progress", "output_item.added", "function_call_arguments.delta"),
    *("function_call_arguments.done", "output_item.done", "completed"),
]
"""The events of a message and of a call, those of a row as one."""
ENDS = ("response.completed", "response.failed", "response.incomplete", "error")


def whole(response: Any) -> Json:
    """Return a response that has every member."""
    assert {name for name, types in MEMBERS.items() if not isinstance(response.get(name, ...), types)} == set()
    assert response["object"] == "response"
    return dict(response)


def done(response: Any) -> Json:
    """Return one that has been completed, too."""
    whole(response)
    assert (response["status"], response["error"], response["incomplete_details"]) == ("completed", None, None)
    assert response["completed_at"] >= response["created_at"]
    usage = response["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert set(usage) >= {"input_tokens_details", "output_tokens_details"}
    assert response["output"]
    for item in response["output"]:
        assert {"id", "type", "status"} <= set(item)
    return dict(response)


def spoken(response: Any) -> str:
    """Return the text of a response that is one message."""
    (item,) = done(response)["output"]
    (part,) = item["content"]
    assert (item["type"], item["role"], item["status"]) == ("message", "assistant", "completed")
    assert (part["type"], part["annotations"], part["logprobs"]) == ("output_text", [], [])
    assert part["text"]
    return str(part["text"])


def calls(response: Any, name: str) -> None:
    """The response is one call of a tool, with what it requires."""
    (item,) = done(response)["output"]
    assert (item["type"], item["name"], item["status"]) == ("function_call", name, "completed")
    assert item["call_id"]
    tool = next(tool for tool in response["tools"] if tool["name"] == name)
    assert set(json.loads(item["arguments"])) >= set(tool["parameters"]["required"])


def final_response(events: list[Json]) -> Json:
    """Return the response that a stream ends with; its events have all that they must have, in order."""
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    for event in events:
        assert set(event) >= {"type", *EVENTS[event["type"]]}
        if "response" in event:
            whole(event["response"])
    kinds = [kind.removeprefix("response.") for kind, _ in groupby(event["type"] for event in events)]
    response = dict(events[-1]["response"])
    assert kinds == (CALLED if response["output"][0]["type"] == "function_call" else SAID)
    return response
