"""Learners of operations on the agents of a Foundry project, which are kept in versions."""

from __future__ import annotations

from collections.abc import Sequence

from harness.api.http.dialects import user_of
from harness.api.project.agent_sessions import new_session, session_key
from harness.core.exchange import Json, Request
from harness.verify.learn.registry import learns_from
from harness.world.world import World

VERSIONS_PATH = "/agents/{agent_name}/versions"


def _put_version(world: World, version: object) -> None:
    """Store a version as an answer shows it; one that is known, as of a definition that did not change, in its place.

    One without a number is ignored: recorders mask some.
    """
    if not isinstance(version, dict) or not isinstance(version.get("definition"), dict):
        return
    name, number = version.get("name"), version.get("version")
    if isinstance(name, str) and isinstance(number, str) and number.isdecimal():
        others = [each for each in world.store.agents.get(name, ()) if each.get("version") != number]
        world.store.agents[name] = [*others, {**version, "id": f"{name}:{number}"}]


@learns_from(f"POST {VERSIONS_PATH}", f"GET {VERSIONS_PATH}/{{agent_version}}")
def _learn_version(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    _put_version(world, answer)


@learns_from(f"GET {VERSIONS_PATH}")
def _learn_versions(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    """The versions of a list, oldest first, whatever its order."""
    listed = [each for each in answer.get("data") or () if isinstance(each, dict)]
    for version in sorted(listed, key=lambda each: str(each.get("created_at"))):
        _put_version(world, version)


@learns_from("GET /agents/{agent_name}")
def _learn_agent(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    versions = answer.get("versions")
    _put_version(world, versions.get("latest") if isinstance(versions, dict) else None)


@learns_from("DELETE /agents/{agent_name}")
def _learn_agent_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    world.store.agents[request.params["agent_name"]] = []


@learns_from(f"DELETE {VERSIONS_PATH}/{{agent_version}}")
def _learn_version_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    name, number = request.params["agent_name"], request.params["agent_version"]
    world.store.agents[name] = [each for each in world.store.agents.get(name, ()) if each.get("version") != number]


@learns_from("POST /agents/{agent_name}/endpoint/sessions")
def _learn_session(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    """A session by the id that the service gave it."""
    id, indicator, name = answer.get("agent_session_id"), answer.get("version_indicator"), request.params["agent_name"]
    if isinstance(id, str) and isinstance(indicator, dict):
        session = new_session(id, str(indicator.get("agent_version")), world.now, user_of(request))
        world.store.agent_sessions[session_key(name, id)] = session
