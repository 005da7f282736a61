"""The request members that an agent's definition sets, with the structured inputs filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from harness.api.http.dialects import agent_of, is_at_agent_endpoint
from harness.api.operations import OPERATIONS
from harness.api.project.agents import FoundryProject, answering_version
from harness.api.project.tools import order_tool
from harness.core.exchange import Json, Request

REQUEST_MEMBERS = ("model", "instructions", "tools", "tool_choice", "temperature", "top_p", "text", "reasoning")
"""The members of a definition that are members of a request."""
_TEMPLATED_MEMBERS = ("instructions", "tools")
_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_FIRST_MEMBERS = ("kind", "type", "container_protocol_versions", "model")
"""The first members of a definition as shown, in whatever order they were sent (recorded)."""


def order_definition(definition: Json) -> Json:
    """Order a definition for storage: `kind` first, then the model; its tools as a project writes them.

    Recorded 2026-05-28: a hosted agent with `protocol_versions` also shows the former member, as an empty list.
    """
    if definition.get("kind") == "hosted" and "protocol_versions" in definition:
        definition = {"container_protocol_versions": [], **definition}
    ordered = _begin_with(definition, _FIRST_MEMBERS)
    if isinstance(tools := ordered.get("tools"), list):
        ordered["tools"] = [order_tool(tool) if isinstance(tool, dict) else tool for tool in tools]
    return ordered


def sent_version(request: Request) -> Any:
    """Return the new version in a request: in a form it is JSON in `metadata`; None for any other content."""
    if not OPERATIONS[request.operation].reads_form(request.headers.get("content-type", "")):
        return request.body
    try:
        return orjson.loads(request.body.get("metadata", ""))
    except (orjson.JSONDecodeError, TypeError):
        return None


def _begin_with(members: Json, first: tuple[str, ...]) -> Json:
    return {name: members[name] for name in first if name in members} | members


def resolve_definition(version: Json | None, inputs: Any = None) -> Json:
    """Return the request members that a version of an agent defines; empty for None.

    `inputs` are the structured inputs of the request, which fill `{{name}}` in instructions and tools.
    """
    own = (version or {}).get("definition") or {}
    given = {name: own[name] for name in REQUEST_MEMBERS if own.get(name) is not None}
    if isinstance(declared := own.get("structured_inputs"), dict):
        values = input_values(declared, inputs)
        given |= {name: _fill(given[name], values) for name in _TEMPLATED_MEMBERS if name in given}
    text = given.get("text")
    format = text.get("format") if isinstance(text, dict) else None
    if isinstance(format, dict) and format.get("type") == "json_schema" and format.get("strict") is None:
        given["text"] = {**given["text"], "format": {**format, "strict": True}}
    return given


def input_values(declared: Mapping[str, Any], inputs: Any) -> Mapping[str, str | None]:
    """Return the text of each declared structured input: the request's, the default, or an empty string.

    None stands for a required input without a value: its placeholder stays.
    """
    sent = inputs if isinstance(inputs, dict) else {}
    values: dict[str, str | None] = {}
    for name, declaration in declared.items():
        known = declaration if isinstance(declaration, dict) else {}
        value = sent[name] if sent.get(name) is not None else known.get("default_value")
        values[name] = None if value is None and known.get("required") else _as_text(value)
    return values


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _fill(part: Any, values: Mapping[str, str | None]) -> Any:
    """Fill the placeholders in a part of a definition; list elements that become empty strings are left out."""
    if isinstance(part, str):
        return _PLACEHOLDER.sub(lambda found: found[0] if (text := values.get(found[1])) is None else text, part)
    if isinstance(part, dict):
        return {name: _fill(value, values) for name, value in part.items()}
    if isinstance(part, list):
        filled = [(element, _fill(element, values)) for element in part]
        return [after for before, after in filled if after != "" or before == ""]
    return part


def find_answering_version(request: Request, project: FoundryProject) -> Json | None:
    """Return the version of the named agent that answers a request; None without one."""
    agent = agent_of(request)
    return answering_version(project, agent, is_at_agent_endpoint(request)) if agent else None
