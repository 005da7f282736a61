"""Picks the tool that a model without a script calls: required by `tool_choice` or named by the user."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.api.project.tools import MEMORY_TOOLS
from harness.core.exchange import Json
from harness.core.loose_json import as_string, objects_in
from harness.unscripted.reading import CallableTool

_WORD = re.compile(r"[a-z]+")
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_VERSION = re.compile(r"(_use)?_(preview|\d{4}).*")
"""Matches the version in the type of a tool: `web_search_preview_2025_03_11` is a `web_search`."""
_MIN_LETTERS = 3
_COMMON_WORDS = frozenset(
    (
        *("and", "call", "check", "create", "delete", "fetch", "find", "for", "from", "function", "get"),
        *("list", "make", "new", "open", "read", "run", "search", "send", "set", "show", "the", "tool"),
        *("update", "use", "user", "with", "write"),
    )
)
"""Words in names that do not distinguish tools."""
_ANY_TOOL = re.compile(r"\b(?:call|use) (?:a|one of your|the|this|your) (?:function|tool)s?\b", re.IGNORECASE)


def pick_tool(tools: Sequence[CallableTool], choice: str | Json, said: str) -> CallableTool | None:
    """Pick the tool to call, if any: of the allowed tools, the best match for the user's text.

    Unless a tool is required, one is called only if what the user `said` has a word of its name or asks for a tool.
    """
    mode = required_mode(choice)
    if isinstance(choice, dict):
        wanted = objects_in(choice.get("tools")) if "mode" in choice else [choice]
        tools = [candidate for candidate in tools if any(_is_chosen(candidate.tool, entry) for entry in wanted)]
    if not tools or mode == "none":
        return None
    # `max` returns the first of several equals, so the same request always gets the same answer.
    best = max(tools, key=lambda candidate: _count_words(candidate.tool, said))
    return best if mode == "required" or _count_words(best.tool, said) or _ANY_TOOL.search(said) else None


def required_mode(choice: str | Json) -> str:
    """Reduce a `tool_choice` to its mode: none, auto or required."""
    return choice if isinstance(choice, str) else str(choice.get("mode", "required"))


def _is_chosen(tool: Json, choice: Json) -> bool:
    """Return whether an entry of a choice means this tool."""
    if _VERSION.sub("", tool["type"]) != _VERSION.sub("", str(choice.get("type", tool["type"]))):
        return False
    # For an MCP server, `name` is one of its tools.
    members = ("server_label",) if tool["type"] == "mcp" else ("name",)
    return all(choice.get(member) in (None, tool.get(member)) for member in members)


def _count_words(tool: Json, said: str) -> int:
    """Count the words of a tool's name in what the user says; a memory tool always counts one."""
    # Recorded: memories are searched for every request.
    words = {word.rstrip("s") for word in _words(said)}
    named = as_string(tool.get("name")) or as_string(tool.get("server_label")) or tool["type"]
    return sum(word.rstrip("s") in words for word in _words(named)) + (tool["type"] in MEMORY_TOOLS)


def _words(text: str) -> set[str]:
    words: list[str] = _WORD.findall(_CAMEL_CASE.sub(" ", text).lower())
    return {word for word in words if len(word) >= _MIN_LETTERS} - _COMMON_WORDS
