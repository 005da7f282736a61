"""Results of pydantic-ai: a run as it ended, streamed or not, and its messages."""

from __future__ import annotations

from inspect import isroutine
from typing import Any

from harness.analysis.surfaces.base import Surface, get, plain, reads, together
from harness.core.exchange import Json

CITED = frozenset({"file_citation", "url_citation"})
"""The kinds of annotation that its own citations can express."""


@reads("pydantic_ai.AgentRunResult", "pydantic_ai.StreamedRunResult", "pydantic_ai.StreamedRunResultSync")
def run(result: Any) -> Surface:
    """The messages of a run, with the usage of all of them."""
    usage = result.usage() if isroutine(result.usage) else result.usage
    shown = together(read for one in result.new_messages() if (read := _message(one)))
    return Surface(**{**_members(shown), "usage": plain(usage) | {"total_tokens": usage.total_tokens}})


@reads("pydantic_ai.ModelResponse", "pydantic_ai.ModelRequest")
def message(one: Any) -> Surface:
    """A message; a request shows nothing."""
    return _message(one) or Surface(text="")


def _message(one: Any) -> Surface | None:
    if get(one, "kind") != "response":
        return None
    texts = [part for part in one.parts if part.part_kind == "text"]
    cited = [notes for part in texts if (notes := _notes(part)) is not None]
    raw = any("annotations" in get(part, "provider_details", {}) for part in texts)
    return Surface(
        text="".join(part.content for part in texts),
        annotations=[note for notes in cited for note in notes] if cited else None,
        calls=[_call(part) for part in one.parts if part.part_kind == "tool-call"],
        reasoning="".join(part.content for part in one.parts if part.part_kind == "thinking"),
        usage=plain(one.usage) | {"total_tokens": one.usage.total_tokens},
        ids=frozenset({get(one, "provider_response_id", "")}),
        kinds=None if raw else CITED,
    )


def _notes(part: Any) -> list[Json] | None:
    """The annotations of a text as they came where they were asked for, else its citations; None before it had any."""
    raw = get(part, "provider_details", {}).get("annotations")
    if raw is not None:
        return [plain(note) for note in raw]
    return [plain(note) for note in get(part, "citations", ())] if hasattr(part, "citations") else None


def _call(part: Any) -> Json:
    return {"name": part.tool_name, "arguments": get(part, "args", "{}")}


def _members(surface: Surface) -> dict[str, Any]:
    return {name: getattr(surface, name) for name in Surface.__slots__}
