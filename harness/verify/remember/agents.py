"""Remembers the agents of a Foundry project, which are kept in versions, and their sessions."""

from __future__ import annotations

from collections.abc import Sequence

from harness.api.http.dialects import user_of
from harness.api.project.agent_sessions import new_session, session_key
from harness.core.exchange import Json, Request
from harness.verify.remember.registry import remembers
from harness.world.world import World

VERSIONS_PATH = "/agents/{agent_name}/versions"


def _put_version(world: World, version: object) -> None:
    """Store a version as an answer shows it, in place of one with the same number.

    One without a number is ignored: recorders mask some.
    """
    if not isinstance(version, dict) or not isinstance(version.get("definition"), dict):
        return
    name, number = version.get("name"), version.get("version")
    if isinstance(name, str) and isinstance(number, str) and number.isdecimal():
        others = [stored for stored in world.store.agents.get(name, ()) if stored.get("version") != number]
        world.store.agents[name] = [*others, {**version, "id": f"{name}:{number}"}]


@remembers(f"POST {VERSIONS_PATH}", f"GET {VERSIONS_PATH}/{{agent_version}}")
def _remember_version(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    _put_version(world, answer)


@remembers(f"GET {VERSIONS_PATH}")
def _remember_versions(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    """Store the versions of a list, oldest first, whatever its order."""
    listed = [version for version in answer.get("data") or () if isinstance(version, dict)]
    for version in sorted(listed, key=lambda version: str(version.get("created_at"))):
        _put_version(world, version)


@remembers("GET /agents/{agent_name}")
def _remember_agent(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    versions = answer.get("versions")
    _put_version(world, versions.get("latest") if isinstance(versions, dict) else None)


@remembers("DELETE /agents/{agent_name}")
def _remember_agent_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    world.store.agents[request.params["agent_name"]] = []


@remembers(f"DELETE {VERSIONS_PATH}/{{agent_version}}")
def _remember_version_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    name, number = request.params["agent_name"], request.params["agent_version"]
    versions = world.store.agents.get(name, ())
    world.store.agents[name] = [version for version in versions if version.get("version") != number]


@remembers("POST /agents/{agent_name}/endpoint/sessions")
def _remember_session(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    """Store a session under the id that the service gave it."""
    id, indicator, name = answer.get("agent_session_id"), answer.get("version_indicator"), request.params["agent_name"]
    if isinstance(id, str) and isinstance(indicator, dict):
        session = new_session(id, str(indicator.get("agent_version")), world.now, user_of(request))
        world.store.agent_sessions[session_key(name, id)] = session
