"""Results of agent-framework: responses of chat clients and agents, their updates, messages, outputs of workflows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from harness.analysis.surfaces.base import Surface, get, joins, plain, reads, together
from harness.core.errors import ConfigError
from harness.core.exchange import Json

WHOLE = {
    "ChatResponseUpdate": ("ChatResponse",),
    "AgentResponseUpdate": ("AgentResponse",),
    "AgentRunResponseUpdate": ("AgentRunResponse",),
}
"""The class that a list of updates makes."""


@reads(*(f"agent_framework.{name}" for names in WHOLE.values() for name in names))
def response(result: Any) -> Surface:
    """A response: its messages, with the usage of all of them."""
    shown = together(message(one) for one in result.messages)
    return together(
        [shown, Surface(usage=get(result, "usage_details"), ids=frozenset({get(result, "response_id", "")}))]
    )


@joins(*(f"agent_framework.{name}" for name in WHOLE))
def updates(told: Sequence[Any]) -> Any:
    """What the framework itself makes of the updates of a stream."""
    kind = type(told[0])
    whole = getattr(sys.modules[kind.__module__], WHOLE[kind.__name__][0])
    for name in ("from_updates", "from_agent_run_response_updates", "from_chat_response_updates"):
        if hasattr(whole, name):
            return getattr(whole, name)(list(told))
    raise ConfigError(f"surfaced(): {whole.__qualname__} cannot be made of updates. Give the final response.")


@reads("agent_framework.Message", "agent_framework.ChatMessage")
def message(one: Any) -> Surface:
    """A message; only those of the assistant show what was said."""
    role = get(one, "role", "")
    if get(role, "value", role) != "assistant":
        return Surface(text="")
    contents = get(one, "contents", ())
    return Surface(
        text="".join(_texts(contents, "text")),
        annotations=[plain(note) for content in contents for note in get(content, "annotations", ())],
        calls=_calls(contents),
        reasoning="".join(_texts(contents, "text_reasoning")),
    )


@reads(*(f"agent_framework.{name}" for name in WHOLE))
def update(one: Any) -> Any:
    """One update of a stream, as all of it."""
    return updates([one])


@reads("agent_framework.WorkflowRunResult")
def workflow(result: Any) -> list[Any]:
    """The outputs of a workflow."""
    return _flat(result.get_outputs())


@joins("agent_framework.WorkflowEvent")
def workflow_events(told: Sequence[Any]) -> list[Any]:
    """The outputs among the events of a workflow."""
    return _flat(event.data for event in told if event.type == "output")


def _flat(outputs: Iterable[Any]) -> list[Any]:
    return [part for output in outputs for part in (output if isinstance(output, list) else [output])]


def _texts(contents: Iterable[Any], kind: str) -> list[str]:
    return [get(content, "text", "") for content in contents if get(content, "type") == kind]


def _calls(contents: Iterable[Any]) -> list[Json]:
    """The calls of a message; a request for leave names its call once more, and shows it where it stands alone."""
    made = [content for content in contents if get(content, "type") == "function_call"]
    asked = [content for content in contents if get(content, "type") == "function_approval_request"]
    known = [get(call, "call_id") for call in made]
    waiting = [call for content in asked if get(call := get(content, "function_call"), "call_id") not in known]
    return [{"name": get(call, "name", ""), "arguments": get(call, "arguments", "{}")} for call in [*made, *waiting]]
