"""Which tool without a name of its own the model calls: one that `tool_choice` demands, or that the user speaks of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from harness.api.http.dialects import FOUNDRY
from harness.api.project.tools import MEMORY_TOOLS
from harness.core.exchange import Json
from harness.core.loose_json import as_string
from harness.unscripted.hosted_tools import HOSTED_TYPES, is_client_search
from harness.unscripted.project_tools import named_functions
from harness.unscripted.reading import Reading
from harness.unscripted.tool_picker import is_forbidden, pick_tool

_FAMILIES = (
    *("web_search", "computer", "mcp"),
    *("a2a", "bing_custom_search", "browser_automation", "fabric", "memory_search", "sharepoint"),
)
"""Types by which a choice may name a tool of another version."""
_TOPICS: Mapping[str, frozenset[str]] = {
    "web_search": frozenset({"internet", "latest", "news", "online", "web"}),
    "file_search": frozenset({"document", "documents", "file", "files"}),
    "code_interpreter": frozenset({"code", "compute", "csv", "plot", "python"}),
    "image_generation": frozenset({"draw", "drawing", "image", "logo", "picture"}),
    "shell": frozenset({"bash", "command", "shell", "skill", "skills", "terminal"}),
    "local_shell": frozenset({"bash", "command", "shell", "terminal"}),
    "apply_patch": frozenset({"edit", "file", "files", "patch"}),
    "computer": frozenset({"browser", "click", "screen", "screenshot"}),
    "programmatic_tool_calling": frozenset({"program", "programmatically"}),
    "a2a": frozenset({"agent", "agents"}),
    "azure_ai_search": frozenset({"document", "documents", "index", "search"}),
    "azure_function": frozenset({"azure", "function", "queue"}),
    "bing_custom_search": frozenset({"bing", "internet", "latest", "news", "online", "web"}),
    "bing_grounding": frozenset({"bing", "internet", "latest", "news", "online", "web"}),
    "browser_automation": frozenset({"browser", "click", "website"}),
    "fabric": frozenset({"data", "fabric"}),
    "openapi": frozenset({"api", "openapi"}),
    "sharepoint": frozenset({"document", "documents", "sharepoint"}),
}
"""The words with which a user speaks of a tool."""
_FOLLOW_UPS = frozenset({"again", "another", "change", "edit", "instead", "now"})
"""The words with which a user speaks of what was called before."""
_WORD = re.compile(r"[a-z]+")
_TOOLS_WANTED = re.compile(r"\b(?:use|using)\b(?: \w+){0,5} tools?\b|\bsearch through\b")
"""How the instructions of an agent of a project say that its tools are to be used."""


def pick_hosted(reading: Reading) -> Json | None:
    """The tool that is called, as it was declared; None when none is."""
    tools = [tool for tool in reading.tools if tool.get("type") in HOSTED_TYPES]
    choice = reading.body.get("tool_choice") or "auto"
    mode = choice if isinstance(choice, str) else choice.get("mode", "required")
    if not tools or mode == "none":
        return None
    allowed = tools if isinstance(choice, str) else _choose(tools, choice.get("tools") or [choice])
    text = reading.user_text.lower()
    free = not (mode == "auto" and is_forbidden(text))
    spoken_of = [tool for tool in allowed if free and (_is_topic(tool, text) or _is_followed_up(tool, text, reading))]
    if free and not spoken_of and _TOOLS_WANTED.search(_instructions(reading)):
        spoken_of = [tool for tool in allowed if reading.request.dialect == FOUNDRY and _is_callable(tool)]
    if spoken_of:
        return spoken_of[0]
    return next(filter(_is_callable, allowed), None) if mode == "required" else None


def _instructions(reading: Reading) -> str:
    return as_string(reading.body.get("instructions")).lower() if reading.said else ""


def _is_callable(tool: Json) -> bool:
    """Whether a call of it can be made up: a search that the API executes needs a deferred tool to find."""
    return tool["type"] != "tool_search" or is_client_search(tool)


def _choose(tools: Iterable[Json], choices: Iterable[Any]) -> list[Json]:
    """The tools that one of the choices names."""
    wanted = [choice for choice in choices if isinstance(choice, dict)]
    return [tool for tool in tools if any(_is_named(tool, choice) for choice in wanted)]


def _is_named(tool: Json, choice: Json) -> bool:
    if _family(tool["type"]) != _family(str(choice.get("type"))):
        return False
    return choice.get("server_label") in (None, tool.get("server_label"))


def _family(type: str) -> str:
    return next((family for family in _FAMILIES if type.startswith(family)), type)


def _is_topic(tool: Json, text: str) -> bool:
    words = frozenset(_WORD.findall(text))
    if tool["type"] in MEMORY_TOOLS:
        return True  # recorded: a store of memories is searched whatever the user says
    if tool["type"] == "mcp":
        return not words.isdisjoint(("mcp", *_WORD.findall(str(tool.get("server_label")).lower())))
    if is_client_search(tool):
        return "?" in text  # what it would find is not known here
    if pick_tool({}, named_functions(tool), text):
        return True
    return not words.isdisjoint(_TOPICS.get(_family(tool["type"]), ()))


def _is_followed_up(tool: Json, text: str, reading: Reading) -> bool:
    """Whether the user speaks of a call that stands in the same input."""
    return f"{_family(tool['type'])}_call" in reading.transcript.added_by_type and not _FOLLOW_UPS.isdisjoint(
        _WORD.findall(text)
    )
