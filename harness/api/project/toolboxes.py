"""Toolboxes: tools and skills that agents share, in versions numbered by the service (recorded 2026-05 to 2026-07)."""

from __future__ import annotations

from typing import Any

from harness.api.project.tools import order_tool
from harness.api.project.versions import Versioned, named_id
from harness.core.exchange import Json
from harness.core.json_values import as_string

TOOLBOX_VERSIONS_SINCE = "2026-09-18"
"""The first day on which a toolbox has its newest version and its last change (azure-ai-projects 2.7, typed)."""

SKILLS_SINCE = "2026-05-29"
"""The first day on which a version has its skills and ends with `object`; the last day before is 2026-04-15.

Both are recorded.
"""


def add_toolbox_version(toolbox: Versioned, name: str, now: int, body: Json, as_of: str) -> Json:
    """Add a version of a toolbox in its form on a day; returns it. Recorded: a tool or skill begins with its type."""
    toolbox.id = named_id("toolbox", name)
    toolbox.last_number += 1
    number = str(toolbox.last_number)
    made = {
        "metadata": body.get("metadata") or {},
        **_type_of("toolbox.version", as_of < SKILLS_SINCE),
        "id": f"{toolbox.id}:{number}",
        "name": name,
        "version": number,
        "description": body.get("description") or "",
        "created_at": now,
        "tools": _stored(body.get("tools")),
        **({"skills": _stored(body.get("skills"))} if as_of >= SKILLS_SINCE else {}),
        **({"policies": body["policies"]} if body.get("policies") else {}),
        **_type_of("toolbox.version", as_of >= SKILLS_SINCE),
    }
    return toolbox.add(now, made)


def render_toolbox(toolbox: Versioned, as_of: str) -> Json:
    """Render a toolbox in its form on a day."""
    newer = (
        {"updated_at": toolbox.updated_at, "versions": {"latest": toolbox.latest}}
        if as_of >= TOOLBOX_VERSIONS_SINCE
        else {}
    )
    named = {"id": toolbox.id, "name": toolbox.latest["name"], **newer, "default_version": toolbox.default}
    return {**_type_of("toolbox", as_of < SKILLS_SINCE), **named, **_type_of("toolbox", as_of >= SKILLS_SINCE)}


def _type_of(name: str, is_here: bool) -> Json:
    return {"object": name} if is_here else {}


def _stored(tools: Any) -> list[Any]:
    """Return tools or skills as stored."""
    listed = tools if isinstance(tools, list) else []
    return [order_tool(_labelled(tool)) if isinstance(tool, dict) and "type" in tool else tool for tool in listed]


def _labelled(tool: Json) -> Json:
    """Label the server of Fabric IQ with its connection if the tool has no label (recorded 2026-06-23, with .NET)."""
    connection = as_string(tool.get("project_connection_id"))
    if tool["type"] != "fabric_iq_preview" or not connection or "server_label" in tool:
        return tool
    return {**tool, "server_label": connection.rpartition("/")[2]}
