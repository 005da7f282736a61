"""The conditions of routes: which part of what the model reads each one looks at, and how it is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from re import Pattern
from typing import Any

from harness.analysis.lanes import INSTRUCTION_ROLES
from harness.answers.prompt import TOOL_BRINGERS
from harness.core.exchange import Json, Request
from harness.core.json_values import as_string, objects_in
from harness.items.transcript import Transcript

Matcher = str | Pattern[str] | Callable[[Any], bool] | Sequence[str]
CONDITIONS = ("instructions", "tools", "model", "input", "user", "call_id", "agent")


def condition_value(request: Request, transcript: Transcript, what: str) -> Any:
    """Read the value that a condition is compared with: a string for most, a list of names for `tools`.

    The items are those that the model reads, wherever they lie: in the request, in the response or conversation that it
    continues, or behind a reference. The parameter `instructions` holds for its own request only.
    """
    body: Json = request.body if isinstance(request.body, dict) else {}
    if what == "tools":
        tools = [*(body.get("tools") or ()), *_added_tools(transcript)]
        return list(dict.fromkeys(tool.get("name") or tool.get("server_label") or tool.get("type") for tool in tools))
    if what == "instructions":
        leading = [_item_text(item) for item in transcript.items if item.get("role") in INSTRUCTION_ROLES]
        return "\n".join(filter(None, [body.get("instructions"), *leading]))
    if what == "input":
        return _last_text(item for item in reversed(transcript.items) if item.get("type") != "reasoning")
    if what == "user":
        return _last_text(item for item in reversed(transcript.items) if _is_user(item))
    if what == "call_id":
        return "\n".join(_answered_calls(transcript.items))
    if what == "agent":
        # Foundry has had both members; frameworks for OpenAI name their agents in the metadata, if at all.
        agent = body.get("agent_reference") or body.get("agent") or {}
        return agent.get("name") or (body.get("metadata") or {}).get("agent") or ""
    return body.get(what) or ""


def _added_tools(transcript: Transcript) -> Iterator[Json]:
    """Yield the tools that items add to those of the request."""
    for kind in TOOL_BRINGERS:
        for item in transcript.items_of(kind):
            yield from item.get("tools") or ()


def _item_text(item: Json) -> str:
    content = item.get("content", item.get("output", ""))
    if isinstance(content, str):
        return content
    return "\n".join(as_string(part.get("text")) for part in objects_in(content))


def _last_text(newest_first: Iterable[Json]) -> str:
    return next((text for item in newest_first if (text := _item_text(item))), "")


def _is_user(item: Json) -> bool:
    return item.get("role") == "user"


def _answered_calls(items: Sequence[Json]) -> Iterator[str]:
    """Yield the ids of the calls that have an output after the last user message."""
    last = max((place for place, item in enumerate(items) if _is_user(item)), default=-1)
    outputs = (item for item in items[last + 1 :] if "output" in item and isinstance(item.get("call_id"), str))
    yield from (item["call_id"] for item in outputs)


def is_matcher(name: str, wanted: Any) -> bool:
    """Return whether a condition accepts this value: a string, a pattern of strings, a function; names for `tools`."""
    if isinstance(wanted, Pattern):
        return isinstance(wanted.pattern, str)
    is_names = isinstance(wanted, list | tuple | set | frozenset) and all(isinstance(entry, str) for entry in wanted)
    return isinstance(wanted, str) or callable(wanted) or (name == "tools" and is_names)


def is_match(name: str, wanted: Matcher, actual: Any) -> bool:
    """Return whether a request's value meets a condition.

    A string is searched for case-insensitively (`model`: a shell pattern), a compiled pattern is searched for, a
    function decides by itself; for `tools` every wanted name must be declared, and a pattern must match one of them.
    """
    if callable(wanted):
        return bool(wanted(actual))
    if isinstance(wanted, Pattern):
        return any(wanted.search(text) for text in ([actual] if isinstance(actual, str) else actual))
    if name == "tools":
        return set([wanted] if isinstance(wanted, str) else wanted) <= set(actual)
    if name == "model":
        # Names of models are compared as the API does: case matters.
        return fnmatchcase(actual, str(wanted))
    return str(wanted).casefold() in actual.casefold()
