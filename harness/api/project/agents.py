"""The agents of a project in Azure AI Foundry: named and versioned; the newest version answers.

Those of the account (`mock.organization(agents={…})`) exist from the start, as version 1. Read from recorded answers of
2026-03; members that newer clients require as well (`state`, `status`) are those of an active agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from harness.core.account import Organization
from harness.core.exchange import Json

ENABLED = {"state": "enabled", "configuration_state": "enabled"}


class AgentTable(Protocol):
    """Where the agents that requests made are stored."""

    @property
    def agents(self) -> Mapping[str, Sequence[Json]]:
        """The versions of each agent by name, without deleted agents."""


class FoundryProject(Protocol):
    """A project with agents: those created by requests, and those of the account."""

    @property
    def account(self) -> Organization:
        """The account, which may list agents that exist from the start."""

    @property
    def store(self) -> AgentTable:
        """The agents made by requests."""


def new_version(name: str, number: int, body: Json, now: int) -> Json:
    """A version of an agent; `body` has its `definition` and optionally a `description` and `metadata`."""
    return {
        "metadata": body.get("metadata") or {},
        "object": "agent.version",
        "id": f"{name}:{number}",
        "name": name,
        "version": str(number),
        "description": body.get("description") or "",
        "created_at": now,
        "definition": body["definition"],
        "status": "active",
    }


def render_agent(name: str, versions: Sequence[Json]) -> Json:
    """An agent as the API shows it, with its newest version."""
    return {"object": "agent", "id": name, "name": name, **ENABLED, "versions": {"latest": versions[-1]}}


def versions_of(project: FoundryProject, name: str) -> Sequence[Json]:
    """The versions of an agent, oldest first; empty for an unknown one."""
    if name in project.store.agents:
        return project.store.agents[name]
    scripted = (project.account.agents or {}).get(name)
    return [new_version(name, 1, {"definition": {"kind": "prompt", **scripted}}, 0)] if scripted is not None else ()


def agent_names(project: FoundryProject) -> list[str]:
    """The agents of a project by name, oldest first."""
    return [
        name
        for name in dict.fromkeys([*(project.account.agents or ()), *project.store.agents])
        if versions_of(project, name)
    ]


def resolve_definition(project: FoundryProject, reference: Any) -> Json:
    """The request members that a referenced agent defines; empty for an unknown agent.

    An agent of the account is the same in all versions.
    """
    if not isinstance(reference, dict) or not isinstance(reference.get("name"), str):
        return {}
    known, version = versions_of(project, reference["name"]), reference.get("version")
    if reference["name"] in project.store.agents:
        known = [each for each in known if version in (None, each["version"])]
    own = known[-1]["definition"] if known else {}
    return {member: own[member] for member in _REQUEST_MEMBERS if member in own}


_REQUEST_MEMBERS = ("model", "instructions", "tools", "tool_choice", "temperature", "top_p", "text", "reasoning")
"""Members of a definition that are members of a request."""
