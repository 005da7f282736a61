"""A World's project agents, created the same way by requests and by tests."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from harness.api.project import agents as foundry_agents
from harness.api.project.agent_definitions import order_definition
from harness.api.project.agent_sessions import session_key
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.text import show
from harness.world.world import World

_COMPARED_MEMBERS = ("definition", "description", "metadata", "draft")
"""The members that decide whether a version differs from the one before."""


def add_version(world: World, name: str, body: Json, code: bytes | None = None) -> Json:
    """Add a version to a new or existing agent; without a change, return its last version.

    Recorded: a request without a change makes no new version. `code` is the zip of an agent made of code.
    """
    known, now = foundry_agents.versions_of(world, name), world.tick()
    definition = order_definition(body["definition"])
    if code is not None:
        configured = {**(definition.get("code_configuration") or {}), "content_hash": sha256(code).hexdigest()}
        definition = {**definition, "code_configuration": configured}
    described = {**body, "definition": definition}
    made = foundry_agents.new_version(known, name, described, now, world.as_of, world.ids)
    # An unchanged definition keeps its version, so that deploying twice is harmless.
    if known and all(known[-1].get(member) == made.get(member) for member in _COMPARED_MEMBERS):
        return known[-1]
    world.store.agents[name] = [*known, made]
    if code is not None:
        world.store.agent_code[made["id"]] = code
    return made


def forget_versions(world: World, name: str, kept: Sequence[Json]) -> None:
    """Drop all versions of an agent but `kept`; without any, the agent, its settings and its sessions are gone."""
    numbers = {remaining["version"] for remaining in kept}
    for stored in foundry_agents.versions_of(world, name):
        if stored["version"] not in numbers:
            world.store.agent_code.pop(f"{name}:{stored['version']}", None)
    world.store.agents[name] = list(kept)
    if not kept:
        world.store.agent_settings.pop(name, None)
        for key in [key for key in world.store.agent_sessions if key.startswith(session_key(name, ""))]:
            del world.store.agent_sessions[key]


def provision(world: World, name: str) -> Sequence[Json]:
    """Return the versions of an agent that is read, making those that were `creating` active.

    Recorded of a hosted agent, ten seconds after it was made.
    """
    versions = foundry_agents.versions_of(world, name)
    if any(version.get("status") == "creating" for version in versions):
        versions = [
            {**version, "status": "active"} if version.get("status") == "creating" else version for version in versions
        ]
        world.store.agents[name] = versions
    return versions


def make_agent(world: World, name: str, kind: str, described: Json, definition: Json) -> str:
    """Create a version of an agent for a test, active at once, and return its id; ConfigError if it is invalid."""
    if not foundry_agents.AGENT_NAME.fullmatch(name):
        raise ConfigError(f"agent({show(name)}): a name is at most 63 letters and digits, with hyphens between them.")
    if kind == "prompt" and not definition.get("model"):
        raise ConfigError(f"agent({show(name)}): a prompt agent needs a model: agent({show(name)}, model='gpt-4.1').")
    made = add_version(world, name, {**described, "definition": {"kind": kind, **definition}})
    provision(world, name)
    return str(made["id"])
