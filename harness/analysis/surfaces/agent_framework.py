"""Reads results of agent-framework: responses of chat clients and agents, updates, messages, workflow outputs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from harness.analysis.surfaces.base import (
    Surface,
    get_member,
    merge_surfaces,
    register_joiner,
    register_reader,
    to_plain_json,
)
from harness.core.errors import ConfigError
from harness.core.exchange import Json

RESPONSE_BY_UPDATE = {
    "ChatResponseUpdate": "ChatResponse",
    "AgentResponseUpdate": "AgentResponse",
    "AgentRunResponseUpdate": "AgentRunResponse",
}
"""The response class for each class of updates."""


@register_reader(*(f"agent_framework.{name}" for name in RESPONSE_BY_UPDATE.values()))
def read_response(result: Any) -> Surface:
    """Read the surface of a response: its messages and their total usage."""
    shown = merge_surfaces(read_message(message) for message in result.messages)
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
def read_message(one: Any) -> Surface:
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
