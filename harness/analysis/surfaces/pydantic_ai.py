"""Reads results of pydantic-ai: finished runs, streamed or not, and messages."""

from __future__ import annotations

from dataclasses import replace
from inspect import isroutine
from typing import Any

from harness.analysis.surfaces.base import Surface, get_member, merge_surfaces, register_reader, to_plain_json
from harness.core.exchange import Json

CITATION_TYPES = frozenset({"file_citation", "url_citation"})
"""The types of annotation that the framework's citations can express."""


@register_reader("pydantic_ai.AgentRunResult", "pydantic_ai.StreamedRunResult", "pydantic_ai.StreamedRunResultSync")
def read_run(result: Any) -> Surface:
    """Read the surface of a run: its messages and their total usage."""
    usage = result.usage() if isroutine(result.usage) else result.usage
    shown = merge_surfaces(read for message in result.new_messages() if (read := _read_response(message)))
    return replace(shown, usage=to_plain_json(usage) | {"total_tokens": usage.total_tokens})


@register_reader("pydantic_ai.ModelResponse", "pydantic_ai.ModelRequest")
def read_message(one: Any) -> Surface:
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
