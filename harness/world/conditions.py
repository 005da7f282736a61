"""The conditions of routes: which part of a request each one reads, and how it is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from re import Pattern
from typing import Any

from harness.core.exchange import Json, Request
from harness.items.transcript import input_items

Matcher = str | Pattern[str] | Callable[[Any], bool] | Sequence[str]
CONDITIONS = ("instructions", "tools", "model", "input", "user", "call_id", "agent")


def condition_value(request: Request, what: str) -> Any:
    """Read the value that a condition is compared with: a string for most, a list of names for `tools`."""
    body: Json = request.body if isinstance(request.body, dict) else {}
    if what == "tools":
        return [tool.get("name") or tool.get("server_label") or tool.get("type") for tool in body.get("tools") or []]
    if what == "instructions":
        leading = [_item_text(item) for item in input_items(body) if item.get("role") in ("system", "developer")]
        return "\n".join(filter(None, [body.get("instructions"), *leading]))
    if what == "input":
        return _last_text(input_items(body))
    if what == "user":
        return next((text for item in reversed(input_items(body)) if _is_user(item) and (text := _item_text(item))), "")
    if what == "call_id":
        return "\n".join(_answered_calls(input_items(body)))
    if what == "agent":
        # Foundry has had both members; frameworks for OpenAI name their agents in the metadata, if at all.
        agent = body.get("agent_reference") or body.get("agent") or {}
        return agent.get("name") or (body.get("metadata") or {}).get("agent") or ""
    return body.get(what) or ""


def _item_text(item: Json) -> str:
    content = item.get("content", item.get("output", ""))
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content if isinstance(part, dict)) if content else ""


def _last_text(items: Sequence[Json]) -> str:
    """Return the text of the last message or tool output."""
    return next((text for item in reversed(items) if (text := _item_text(item))), "")


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
