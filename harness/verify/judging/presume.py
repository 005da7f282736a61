"""What existed before a recording began, since the API accepted requests that name it: files, vector stores, agents.

No rule depends on the content of files, so empty ones are presumed; of an agent nothing is known but its name.
"""

from __future__ import annotations

from harness.api.project.agent_kinds import AGENT_KINDS, PROMPT
from harness.contract.check import Violation
from harness.core.exchange import Json
from harness.world.world import World

MISSING_FILE_RULES = (
    *("file_not_found", "input_file_not_found", "files_not_found", "vector_store_not_found"),
    *("file_search_store_not_found", "vector_store_file_not_found"),
)
"""Rules about missing files and vector stores; their facts hold the `missing` ids, and the `store` of a file in one."""
MISSING_AGENT_RULES = ("agent_unknown", "agent_not_found")
"""Rules about a missing agent; their facts hold its `name` and the `version` that was asked for, or nothing."""

KINDS = {kind.id_prefix: kind.name for kind in AGENT_KINDS.values() if kind is not PROMPT}
"""The kind of an agent by how the ids of its responses begin."""


def presume(world: World, violation: Violation) -> bool:
    """Presume what this violation reports as missing, since the API accepted the request; whether that changes the World."""
    if violation.rule.id in MISSING_FILE_RULES:
        return _presume_files(world, violation)
    if violation.rule.id not in MISSING_AGENT_RULES:
        return False
    return _presume_version(world, violation.facts["name"], str(violation.facts.get("version") or "").strip() or "1")


def presume_agent(world: World, response: Json) -> None:
    """Presume the agent, in its version, that a response of Foundry says has answered, unless another version is known."""
    agent = response.get("agent_reference") or response.get("agent")
    if isinstance(agent, dict) and isinstance(name := agent.get("name"), str) and name not in world.store.agents:
        kind = KINDS.get(str(response.get("id")).partition("_")[0])
        _presume_version(world, name, str(agent.get("version")), {"kind": kind} if kind else {})


def _presume_files(world: World, violation: Violation) -> bool:
    uploads, store = world.uploads, violation.facts.get("store", "")
    missing = [id for id in violation.facts["missing"] if not uploads.has_id(id, store)]
    for id in missing:
        uploads.presume(id, store)
    return bool(missing)


def _presume_version(world: World, name: str, version: str, definition: Json | None = None) -> bool:
    """Presume a version of an agent, older than those that are known; whether that changes the World."""
    known = world.store.agents.get(name, ())
    if any(each["version"] == version for each in known):
        return False
    made = {"object": "agent.version", "name": name, "version": version, "definition": definition or {}}
    world.store.agents[name] = [made, *known]
    return True
