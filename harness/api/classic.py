"""The members that classic agents of a Foundry project add to bodies of Assistants, threads and vector stores.

According to azure-ai-agents 1.2, whose recordings of 2025 show them accepted: tokens of MCP servers, indexes, files
that stay in the project's storage (`data_source`), typed outputs.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness.core.exchange import Json
from harness.core.json_values import as_object, objects_in, omit

_CLASSIC_OPERATIONS = re.compile(r"POST /(?:assistants|threads|vector_stores)")
_MESSAGE_HOLDERS = ("", "messages[].", "thread.messages[].", "additional_messages[].")
_STORES = "file_search.vector_stores[]"
_RESOURCES = (
    *("mcp", "azure_ai_search", "code_interpreter.data_sources"),
    *(f"{_STORES}.configuration", f"{_STORES}.name"),
)
_MEMBERS = (
    *(f"{holder}tool_resources.{name}" for holder in ("", "thread.") for name in _RESOURCES),
    *(f"{holder}attachments[].data_source" for holder in _MESSAGE_HOLDERS),
    *("tool_outputs[].type", "tool_outputs[].acknowledged_safety_checks"),
    *("configuration", "data_source", "data_sources"),
)
"""The locations of members that only a project has."""
_PLACES = [place.replace("[]", ".[]").split(".") for place in _MEMBERS]
PROJECT_TYPES: Mapping[str, str] = {
    "azure_ai_search": "azure_ai_search",
    "azure_function": "azure_function",
    "bing_custom_search": "bing_custom_search_preview",
    "bing_grounding": "bing_grounding",
    "browser_automation": "browser_automation_preview",
    "connected_agent": "a2a_preview",
    "fabric_dataagent": "fabric_dataagent_preview",
    "openapi": "openapi",
    "sharepoint_grounding": "sharepoint_grounding_preview",
}
"""The types of tools that a classic agent does not run itself, with the types of the same tools of a project."""
_OWN_TOOLS = (*PROJECT_TYPES, "computer_use_preview", "deep_research", "mcp")
"""The types of tools that only a project's assistants have; typed in azure-ai-agents 1.2.0b4."""
ASSET_FILE = "file-asset"
"""The placeholder where OpenAI requires a file's id and a project accepts a `data_source`."""
ANY_TOOL: Json = {"type": "code_interpreter"}
"""What OpenAI's schema is shown instead of a tool that only a project has."""
SCREENSHOT = "computer_call_output"
"""The type of an output that is a screenshot instead of a text."""


def omit_classic_members(operation: str, body: Json) -> Json:
    """Return a body for validation by OpenAI's schema of the operation, without the members of classic agents."""
    if not _CLASSIC_OPERATIONS.match(operation):
        return body
    shown = body
    for place in _PLACES:
        shown = _omit_at(shown, place)
    if operation.endswith("/files") and isinstance(body.get("data_source"), dict) and "file_id" not in body:
        shown = {**shown, "file_id": ASSET_FILE}
    if operation == "POST /threads/{thread_id}/runs" and isinstance(shown.get("tool_resources"), dict):
        shown = _omit_at(shown, ["tool_resources"])
    if isinstance(tools := shown.get("tools"), list):
        shown = {**shown, "tools": [ANY_TOOL if as_object(tool).get("type") in _OWN_TOOLS else tool for tool in tools]}
    if "tool_approvals" in body and body.get("tool_outputs") is None:
        shown = {**shown, "tool_outputs": []}
    if isinstance(outputs := shown.get("tool_outputs"), list) and isinstance(sent := body.get("tool_outputs"), list):
        shown = {**shown, "tool_outputs": [_as_text(*pair) for pair in zip(outputs, sent, strict=True)]}
    return shown


def _omit_at(value: Any, place: Sequence[str]) -> Any:
    """Return a value without the member at a location; the value itself if it has none."""
    name, *rest = place
    if name == "[]":
        return [_omit_at(element, rest) for element in value] if isinstance(value, list) else value
    if not isinstance(value, dict) or name not in value:
        return value
    if rest:
        return {**value, name: _omit_at(value[name], rest)}
    return omit(value, name)


def _as_text(output: Any, sent: Any) -> Any:
    is_picture = isinstance(sent, dict) and sent.get("type") == SCREENSHOT and isinstance(sent.get("output"), dict)
    return {**output, "output": ""} if is_picture else output


def sources_of(body: Json) -> list[Json]:
    """Return the assets in a body that uses files of the project's storage, as objects with `uri` and `type`."""
    several = body.get("data_sources") or as_object(body.get("configuration")).get("data_sources")
    return objects_in([body.get("data_source"), *(several if isinstance(several, list) else ())])


def asset_name(source: Json) -> str:
    """Return the file name of an asset, which is the end of its address."""
    return str(source.get("uri") or source.get("asset_identifier") or "asset").rstrip("/").rpartition("/")[2]
