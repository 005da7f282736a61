"""Adds objects that must have existed before a recording, since the API accepted their ids: files, stores, agents.

No rule depends on the content of files and of most project resources, so empty ones are presumed. Of an agent, only
what its responses show is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from harness.api.http.dialects import user_of
from harness.api.project_types import AGENT_KINDS, PROMPT
from harness.contract.check import Violation
from harness.core.exchange import Json, Request
from harness.core.tables import TableKind
from harness.foundry.agent_sessions import AGENT_SESSIONS, new_session, session_key
from harness.foundry.agent_versions import AGENTS
from harness.foundry.resources import Versioned
from harness.foundry.skills import SKILLS
from harness.foundry.toolboxes import TOOLBOXES
from harness.world.resources import make_resource
from harness.world.world import World

MISSING_FILE_RULES = (
    *("file_not_found", "input_file_not_found", "files_not_found", "vector_store_not_found"),
    *("file_search_store_not_found", "vector_store_file_not_found"),
)
"""Rules about missing files and vector stores; their facts have the `missing` ids, and the `store` of a file in one."""
MISSING_AGENT_RULES = ("agent_unknown", "agent_not_there", "agent_not_found")
"""Rules about a missing agent; their facts have its `name` and the requested `version`, if any."""
RESOURCE_OF_RULE = {
    "connection_not_found": "connection",
    "project_deployment_not_found": "deployment",
    "memory_store_not_found": "memory_store",
    "toolbox_not_found": "toolbox",
    "skill_not_found": "skill",
    "asset_not_found": "asset",
}
"""The kind of project resource that a rule reports as missing; its name is in the path."""
_REFUSED_EXTENSION = re.compile(r"extensions \[(\.\w+)\]")
KINDS = {kind.id_prefix: kind.name for kind in AGENT_KINDS.values() if kind is not PROMPT}
"""The kind of an agent by the prefix of its response ids."""


def presume(world: World, request: Request, violation: Violation) -> bool:
    """Presume what this violation reports as missing, since the API accepted it; return whether the World changed."""
    if violation.rule.id in MISSING_FILE_RULES:
        return _presume_files(world, violation)
    if kind := RESOURCE_OF_RULE.get(violation.rule.id):
        _presume_resource(world, request, kind)
        return True
    if violation.rule.id == "session_not_found":
        _presume_session(world, request)
        return True
    if violation.rule.id not in MISSING_AGENT_RULES:
        return False
    version = str(violation.facts.get("version") or "").strip() or "1"
    return _presume_version(world, violation.facts["name"], version, {})


def presume_agent(world: World, response: Json) -> None:
    """Presume the agent and version that answered according to a Foundry response, unless the agent is known."""
    agent = response.get("agent_reference") or response.get("agent")
    if (
        not isinstance(agent, dict)
        or not isinstance(agent.get("name"), str)
        or agent["name"] in world.store.table(AGENTS)
    ):
        return
    kind = KINDS.get(str(response.get("id")).partition("_")[0], PROMPT.name)
    shown = {name: response[name] for name in ("model", "tools") if response.get(name)}
    _presume_version(world, agent["name"], str(agent.get("version")), {"kind": kind, **shown})


_VERSIONED: Mapping[str, TableKind[Versioned]] = {"toolbox": TOOLBOXES, "skill": SKILLS}
"""The tables of resources with versions that the service numbers."""


def _presume_resource(world: World, request: Request, kind: str) -> None:
    """Presume a resource by its name in the path, in the version that the path or the body requests."""
    name, body = request.params["name"], request.body if isinstance(request.body, dict) else {}
    version = request.params.get("version", body.get("default_version"))
    if kind == "asset":
        asset = "dataset" if request.path.startswith("/datasets/") else "index"
        make_resource(world, asset, name, {"version": version})
        return
    table = world.store.table(_VERSIONED[kind]) if kind in _VERSIONED else {}
    if name not in table:
        make_resource(world, kind, name, {})
    # The recording may have begun after the first version.
    if name in table and isinstance(version, str):
        known = table[name]
        known.versions.setdefault(version, {**known.latest, "version": version})
        known.packages.setdefault(version, b"")


def presume_type_of_file(world: World, violation: Violation, error: Mapping[str, Any]) -> bool:
    """Presume a missing file with the extension for which the API refused it; return whether the World changed."""
    found = _REFUSED_EXTENSION.search(str(error.get("message"))) if error.get("code") == "unsupported_file" else None
    if violation.rule.id not in MISSING_FILE_RULES or not found:
        return False
    for id in violation.facts["missing"]:
        world.uploads.presume(id, name=f"{id}{found[1]}")
    return True


def _presume_session(world: World, request: Request) -> None:
    """Presume a session of an agent, in the version that the path names."""
    name, id = request.params["agent_name"], request.params["session_id"]
    session = new_session(id, request.params.get("agent_version", "1"), world.now, user_of(request))
    world.store.table(AGENT_SESSIONS)[session_key(name, id)] = session


def _presume_files(world: World, violation: Violation) -> bool:
    uploads, store = world.uploads, violation.facts.get("store", "")
    missing = [id for id in violation.facts["missing"] if not uploads.has_id(id, store)]
    for id in missing:
        uploads.presume(id, store)
    return bool(missing)


def _presume_version(world: World, name: str, version: str, definition: Json) -> bool:
    """Presume a version of an agent, older than the known ones; return whether the World changed."""
    known = world.store.table(AGENTS).get(name, ())
    if any(agent_version["version"] == version for agent_version in known):
        return False
    made = {"object": "agent.version", "name": name, "version": version, "definition": definition}
    world.store.table(AGENTS)[name] = [made, *known]
    return True
