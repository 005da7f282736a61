"""Reads the API's own JSON, or objects that dump to it: responses, thread messages, events, completions.

These are the objects of the `openai` SDK and of LiteLLM, and the answers of a server under test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.analysis.collect_replies import ITEM_TYPES
from harness.analysis.surfaces.base import (
    JOINERS,
    READERS,
    Surface,
    find_registered,
    merge_surfaces,
    surface_from_mapping,
    to_plain_json,
)
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.replies import annotations_of, text_parts
from harness.core.text import show

FINAL_EVENTS = ("response.completed", "response.incomplete", "response.failed")
ANNOTATION_ADDED = "response.output_text.annotation.added"
USAGE_HINT = (
    "Pass a text, the result of a framework, a mapping {'text': …, 'annotations': …, 'calls': …, 'reasoning': …, "
    "'usage': …}, or an object with a `__surfaced__()` that returns one."
)
COMPLETION_ANNOTATIONS = frozenset({"url_citation"})
"""The types of annotation in a chat completion."""


def read(result: Any) -> Surface:
    """Read the surface of a result. ConfigError if no reader recognizes it."""
    try:
        return _read_result(result)
    except (AttributeError, IndexError, KeyError, TypeError) as problem:
        raise ConfigError(
            f"surfaced(): {_describe_type(result)} has an unexpected structure: {show(problem)}. {USAGE_HINT}"
        ) from problem


def _describe_type(result: Any) -> str:
    return f"a {type(result).__module__}.{type(result).__qualname__}"


def _read_result(result: Any) -> Surface:
    # A class that describes itself takes precedence over any guess from its form.
    if hasattr(result, "__surfaced__"):
        return surface_from_mapping(result.__surfaced__())
    if isinstance(result, str):
        return Surface(text=result)
    if reader := find_registered(READERS, result):
        return _read_if_needed(reader(result))
    if isinstance(result, list | tuple):
        return _read_list(result)
    if isinstance(result, Mapping) and isinstance(result.get("messages"), list):
        return _read_list(result["messages"])
    if isinstance(result, Mapping) or hasattr(result, "model_dump"):
        return _read_object(to_plain_json(result))
    raise ConfigError(f"surfaced(): unsupported result {_describe_type(result)}. {USAGE_HINT}")


def _read_if_needed(result: Any) -> Surface:
    """Return the surface that a reader returned, or read the result that it returned instead."""
    return result if isinstance(result, Surface) else read(result)


def _read_list(results: Sequence[Any]) -> Surface:
    """Read the surface of a joined stream if the list holds its pieces, else the merged surfaces of its results."""
    if not results:
        return Surface(text="")
    # A list of strings is taken for the deltas of one stream.
    if all(isinstance(result, str) for result in results):
        return Surface(text="".join(results))
    if joiner := find_registered(JOINERS, results[0]):
        return _read_if_needed(joiner(results))
    wire = [to_plain_json(result) for result in results if isinstance(result, Mapping) or hasattr(result, "model_dump")]
    if wire and len(wire) == len(results) and _is_event(wire[0]):
        return _read_events(wire)
    return merge_surfaces(read(result) for result in results)


def _is_event(thing: Any) -> bool:
    kind = thing.get("event") or thing.get("type") or thing.get("object")
    # A thread message is no event, though its `object` begins with `thread.`; it has a role.
    return str(kind).startswith(("response.", "thread.", "chat.completion.chunk")) and thing.get("role") is None


def _read_object(thing: Json) -> Surface:
    kind = thing.get("object")
    if kind == "response":
        own = Surface(usage=thing.get("usage"), ids=frozenset({thing.get("id") or ""}))
        return merge_surfaces([read_items(thing.get("output") or ()), own])
    if kind == "thread.message":
        return _read_thread_message(thing)
    if "choices" in thing:
        return _read_completion(thing)
    if kind == "list" and isinstance(thing.get("data"), list):  # newest first
        return _read_list([element for element in reversed(thing["data"]) if element.get("role") != "user"])
    if thing.get("type") in (*ITEM_TYPES["messages"], *ITEM_TYPES["calls"], *ITEM_TYPES["reasoning"]):
        return read_items([thing])
    return surface_from_mapping(thing)


def read_items(output: Iterable[Any]) -> Surface:
    """Read the surface of the output items of a response."""
    items = [to_plain_json(item) for item in output]
    messages = [
        item for item in items if item.get("type") == "message" and item.get("role", "assistant") == "assistant"
    ]
    thoughts = [item for item in items if item.get("type") == "reasoning"]
    return Surface(
        text="".join(text for item in messages for text, _ in text_parts(item)),
        annotations=[note for item in messages for note in annotations_of(item)],
        calls=[item for item in items if item.get("type") in ITEM_TYPES["calls"]],
        reasoning="".join(text for item in thoughts for text, _ in text_parts(item)),
    )


def _read_thread_message(message: Json) -> Surface:
    """Read the surface of a thread message; empty for a user message."""
    if message.get("role") == "user":
        return Surface(text="")
    content = message.get("content") or ()
    texts = [part["text"] for part in content if part.get("type") == "text"]
    refused = [part["refusal"] for part in content if part.get("type") == "refusal"]
    cited = [note for text in texts for note in text.get("annotations") or ()]
    ids = frozenset({message.get("id") or ""})
    return Surface(text="".join([*(text.get("value") or "" for text in texts), *refused]), annotations=cited, ids=ids)


def _read_completion(thing: Json) -> Surface:
    message = thing["choices"][0].get("message") or {}
    return Surface(
        text=message.get("content") or message.get("refusal") or "",
        annotations=message.get("annotations") or [],
        calls=[call.get("function") or call.get("custom") or call for call in message.get("tool_calls") or ()],
        reasoning=message.get("reasoning_content"),
        usage=thing.get("usage"),
        ids=frozenset({thing.get("id") or ""}),
        kinds=COMPLETION_ANNOTATIONS,
    )


def _read_events(events: Sequence[Json]) -> Surface:
    if "event" in events[0]:
        return _read_thread_events(events)
    if events[0].get("object") == "chat.completion.chunk":
        return _read_chunks(events)
    deltas = [event["delta"] for event in events if event["type"] == "response.output_text.delta"]
    cited = [event["annotation"] for event in events if event["type"] == ANNOTATION_ADDED]
    done = read_items(event["item"] for event in events if event["type"] == "response.output_item.done")
    ended = [event["response"] for event in events if event["type"] in FINAL_EVENTS]
    return Surface(
        # A client may forward only the deltas, or only the finished items.
        text="".join(deltas) if deltas else done.text,
        annotations=cited or done.annotations,
        calls=done.calls,
        reasoning=done.reasoning,
        usage=merge_surfaces(Surface(usage=response.get("usage")) for response in ended).usage,
        ids=frozenset(response.get("id") or "" for response in ended),
    )


def _read_thread_events(events: Sequence[Json]) -> Surface:
    deltas = [event["data"]["delta"] for event in events if event["event"] == "thread.message.delta"]
    collected = _read_thread_message({"content": [part for delta in deltas for part in delta.get("content") or ()]})
    messages = [_read_thread_message(event["data"]) for event in events if event["event"] == "thread.message.completed"]
    ended = merge_surfaces(messages)
    return Surface(
        text=collected.text or ended.text or "", annotations=collected.annotations or ended.annotations, ids=ended.ids
    )


def _read_chunks(chunks: Sequence[Json]) -> Surface:
    deltas = [choice.get("delta") or {} for chunk in chunks for choice in chunk.get("choices") or ()]
    calls: dict[int, Json] = {}
    for call in (call for delta in deltas for call in delta.get("tool_calls") or ()):
        known, more = calls.setdefault(call["index"], {"name": "", "arguments": ""}), call.get("function") or {}
        # The arguments come in pieces; only the first one has the name.
        known |= {name: known[name] + (more.get(name) or "") for name in known}
    thoughts = [delta["reasoning_content"] for delta in deltas if delta.get("reasoning_content")]
    return Surface(
        text="".join(delta.get("content") or "" for delta in deltas),
        annotations=[note for delta in deltas for note in delta.get("annotations") or ()],
        calls=list(calls.values()),
        reasoning="".join(thoughts) if thoughts else None,
        usage=next((chunk["usage"] for chunk in reversed(chunks) if chunk.get("usage")), None),
        ids=frozenset(chunk.get("id") or "" for chunk in chunks),
        kinds=COMPLETION_ANNOTATIONS,
    )
