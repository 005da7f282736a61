"""Reads results of openai-agents, agent-framework, LangChain and pydantic-ai: runs, messages, streams."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from inspect import isroutine
from operator import add
from typing import Any

from harness.analysis.collect_replies import ids_of_call
from harness.analysis.result_readers import (
    Surface,
    get_member,
    merge_surfaces,
    read_items,
    register_joiner,
    register_reader,
    to_plain_json,
)
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.items.transcript import APPROVAL_REQUEST


@register_reader("agents.RunResultBase")
def read_agents_run(result: Any) -> Surface:
    """Read the surface of a run without its nested runs, which have results of their own."""
    made = read_items(_unique_items(result.new_items))
    rest = [
        Surface(usage=response.usage, ids=frozenset({response.response_id or ""})) for response in result.raw_responses
    ]
    return merge_surfaces([made, *rest])


def _unique_items(run_items: Sequence[Any]) -> list[Json]:
    """List the items of a run; an approval request repeats its call and counts only if the call is missing."""
    items = [(item.type == "tool_approval_item", to_plain_json(item.raw_item)) for item in run_items]
    known = {id for is_approval, item in items if not is_approval for id in ids_of_call(item)}
    return [item for is_approval, item in items if not is_approval or known.isdisjoint(ids_of_call(item))]


@register_joiner("agents.RawResponsesStreamEvent", "agents.RunItemStreamEvent", "agents.AgentUpdatedStreamEvent")
def join_events(events: Sequence[Any]) -> list[Any]:
    """Extract the API's events from the events of a run."""
    return [event.data for event in events if event.type == "raw_response_event"]


RESPONSE_BY_UPDATE = {
    "ChatResponseUpdate": "ChatResponse",
    "AgentResponseUpdate": "AgentResponse",
    "AgentRunResponseUpdate": "AgentRunResponse",
}
"""The response class for each class of updates."""


@register_reader(*(f"agent_framework.{name}" for name in RESPONSE_BY_UPDATE.values()))
def read_response(result: Any) -> Surface:
    """Read the surface of a response: its messages and their total usage."""
    shown = merge_surfaces(read_framework_message(message) for message in result.messages)
    ids = frozenset({get_member(result, "response_id", "")})
    return merge_surfaces([shown, Surface(usage=get_member(result, "usage_details"), ids=ids)])


@register_joiner(*(f"agent_framework.{name}" for name in RESPONSE_BY_UPDATE))
def join_updates(updates: Sequence[Any]) -> Any:
    """Join the updates of a stream into a response, as the framework does."""
    kind = type(updates[0])
    response_class = getattr(sys.modules[kind.__module__], RESPONSE_BY_UPDATE[kind.__name__])
    for name in ("from_updates", "from_agent_run_response_updates", "from_chat_response_updates"):
        if hasattr(response_class, name):
            return getattr(response_class, name)(list(updates))
    raise ConfigError(
        f"surfaced(): {response_class.__qualname__} cannot be built from updates. Pass the final response."
    )


@register_reader("agent_framework.Message", "agent_framework.ChatMessage")
def read_framework_message(one: Any) -> Surface:
    """Read the surface of a message; empty unless it is the assistant's."""
    role = get_member(one, "role", "")
    if get_member(role, "value", role) != "assistant":
        return Surface(text="")
    contents = get_member(one, "contents", ())
    return Surface(
        text="".join(_texts(contents, "text")),
        annotations=[to_plain_json(note) for content in contents for note in get_member(content, "annotations", ())],
        calls=_calls(contents),
        reasoning="".join(_texts(contents, "text_reasoning")),
    )


@register_reader(*(f"agent_framework.{name}" for name in RESPONSE_BY_UPDATE))
def read_update(one: Any) -> Any:
    """Read a single update as if it were the whole stream."""
    return join_updates([one])


@register_reader("agent_framework.WorkflowRunResult")
def read_workflow(result: Any) -> list[Any]:
    """Read the outputs of a workflow."""
    return _flatten_outputs(result.get_outputs())


@register_joiner("agent_framework.WorkflowEvent")
def join_workflow_events(events: Sequence[Any]) -> list[Any]:
    """Join the outputs among the events of a workflow."""
    return _flatten_outputs(event.data for event in events if event.type == "output")


def _flatten_outputs(outputs: Iterable[Any]) -> list[Any]:
    return [part for output in outputs for part in (output if isinstance(output, list) else [output])]


def _texts(contents: Iterable[Any], kind: str) -> list[str]:
    return [get_member(content, "text", "") for content in contents if get_member(content, "type") == kind]


def _calls(contents: Iterable[Any]) -> list[Json]:
    """List the calls of a message; an approval request repeats its call and counts only if the call is missing."""
    calls = [content for content in contents if get_member(content, "type") == "function_call"]
    requests = [content for content in contents if get_member(content, "type") == "function_approval_request"]
    known = [get_member(call, "call_id") for call in calls]
    asked = [get_member(request, "function_call") for request in requests]
    calls += [call for call in asked if get_member(call, "call_id") not in known]
    return [{"name": get_member(call, "name", ""), "arguments": get_member(call, "arguments", "{}")} for call in calls]


@register_joiner("langchain_core.AIMessageChunk")
def join_chunks(chunks: Sequence[Any]) -> Any:
    """Join chunks into a message."""
    return reduce(add, chunks)


@register_reader("langchain_core.AIMessage")
def read_langchain_message(one: Any) -> Surface:
    """Read the surface of a model message, in any output version."""
    content = [one.content] if isinstance(one.content, str) else one.content
    # The content is a string, or a list of strings or blocks, depending on the output version.
    blocks: list[Json] = [{"text": block} if isinstance(block, str) else _unwrap_block(block) for block in content]
    if refused := get_member(one.additional_kwargs, "refusal"):
        blocks.append({"type": "refusal", "refusal": refused})
    text_blocks = [block for block in blocks if "text" in block or block.get("type") == "refusal"]
    return Surface(
        text="".join(block.get("text") or block.get("refusal") or "" for block in text_blocks),
        annotations=[note for block in text_blocks for note in block.get("annotations") or ()],
        calls=[
            *({"name": call["name"], "arguments": call["args"]} for call in one.tool_calls),
            *(block for block in blocks if block.get("type") == APPROVAL_REQUEST),
        ],
        reasoning="".join(_reasoning_texts([*blocks, get_member(one.additional_kwargs, "reasoning", {})])),
        usage=one.usage_metadata,
        ids=frozenset(filter(None, [one.id, one.response_metadata.get("id")])),
    )


@register_reader("langchain_core.BaseMessage")
def read_other_message(one: Any) -> Surface:
    """Return an empty surface for a message that is not the model's."""
    return Surface(text="")


def _unwrap_block(block: Json) -> Json:
    """Unwrap the API's own block from a `non_standard` one; other blocks are unchanged."""
    return block["value"] if block.get("type") == "non_standard" else block


def _reasoning_texts(blocks: Iterable[Json]) -> list[str]:
    thoughts = [block for block in blocks if block.get("type") == "reasoning"]
    return [
        text
        for block in thoughts
        for text in [block.get("reasoning") or "", *(part.get("text", "") for part in block.get("summary") or ())]
    ]


CITATION_TYPES = frozenset({"file_citation", "url_citation"})
"""The types of annotation that the framework's citations can express."""


@register_reader("pydantic_ai.AgentRunResult", "pydantic_ai.StreamedRunResult", "pydantic_ai.StreamedRunResultSync")
def read_pydantic_run(result: Any) -> Surface:
    """Read the surface of a run: its messages and their total usage."""
    usage = result.usage() if isroutine(result.usage) else result.usage
    shown = merge_surfaces(read for message in result.new_messages() if (read := _read_response(message)))
    return replace(shown, usage=to_plain_json(usage) | {"total_tokens": usage.total_tokens})


@register_reader("pydantic_ai.ModelResponse", "pydantic_ai.ModelRequest")
def read_pydantic_message(one: Any) -> Surface:
    """Read the surface of a message; empty for a request."""
    return _read_response(one) or Surface(text="")


def _read_response(one: Any) -> Surface | None:
    if get_member(one, "kind") != "response":
        return None
    texts = [part for part in one.parts if part.part_kind == "text"]
    cited = [notes for part in texts if (notes := _annotations(part)) is not None]
    raw = any("annotations" in get_member(part, "provider_details", {}) for part in texts)
    return Surface(
        text="".join(part.content for part in texts),
        annotations=[note for notes in cited for note in notes] if cited else None,
        calls=[
            {"name": part.tool_name, "arguments": get_member(part, "args", "{}")}
            for part in one.parts
            if part.part_kind == "tool-call"
        ],
        reasoning="".join(part.content for part in one.parts if part.part_kind == "thinking"),
        usage=to_plain_json(one.usage) | {"total_tokens": one.usage.total_tokens},
        ids=frozenset({get_member(one, "provider_response_id", "")}),
        kinds=None if raw else CITATION_TYPES,
    )


def _annotations(part: Any) -> list[Json] | None:
    """List the raw annotations of a text part if requested, else its citations; None in versions without citations."""
    raw = get_member(part, "provider_details", {}).get("annotations")
    if raw is not None:
        return [to_plain_json(note) for note in raw]
    return [to_plain_json(note) for note in get_member(part, "citations", ())] if hasattr(part, "citations") else None
