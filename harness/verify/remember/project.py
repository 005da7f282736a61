"""Remembers what a Foundry project stores: agents with their versions and sessions, and other resources.

For most resources the request contains all that is stored; this module has those that need the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.api.http.dialects import user_of
from harness.core.exchange import Json, Request
from harness.foundry.agent_sessions import AGENT_SESSIONS, new_session, session_key
from harness.foundry.agent_versions import AGENTS
from harness.foundry.connections import CONNECTIONS, DEPLOYMENTS, new_connection
from harness.foundry.memory_stores import MEMORY_STORES, put_memory_store
from harness.verify.remember.registry import remembers
from harness.world.world import World

VERSIONS_PATH = "/agents/{agent_name}/versions"


def _put_version(world: World, version: object) -> None:
    """Store a version as an answer shows it, replacing one with the same number.

    A version without a number, which a recorder may have masked, is ignored.
    """
    if not isinstance(version, dict) or not isinstance(version.get("definition"), dict):
        return
    name, number = version.get("name"), version.get("version")
    if isinstance(name, str) and isinstance(number, str) and number.isdecimal():
        others = [stored for stored in world.store.table(AGENTS).get(name, ()) if stored.get("version") != number]
        world.store.table(AGENTS)[name] = [*others, {**version, "id": f"{name}:{number}"}]


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
    world.store.table(AGENTS)[request.params["agent_name"]] = []


@remembers(f"DELETE {VERSIONS_PATH}/{{agent_version}}")
def _remember_version_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    name, number = request.params["agent_name"], request.params["agent_version"]
    versions = world.store.table(AGENTS).get(name, ())
    world.store.table(AGENTS)[name] = [version for version in versions if version.get("version") != number]


@remembers("POST /agents/{agent_name}/endpoint/sessions")
def _remember_session(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    """Store a session under the id that the service assigned."""
    id, indicator, name = answer.get("agent_session_id"), answer.get("version_indicator"), request.params["agent_name"]
    if isinstance(id, str) and isinstance(indicator, dict):
        session = new_session(id, str(indicator.get("agent_version")), world.now, user_of(request))
        world.store.table(AGENT_SESSIONS)[session_key(name, id)] = session


CONNECTION = "/connections/{name}"
STORE = "/memory_stores/{name}"


def _listed(answer: Json) -> Iterable[Json]:
    """Return the named objects in an answer that is a list, or the answer itself if it has a name."""
    listed = answer.get("value")
    objects = listed if isinstance(listed, list) else [answer]
    return [shown for shown in objects if isinstance(shown, dict) and isinstance(shown.get("name"), str)]


@remembers("GET /connections", f"GET {CONNECTION}", f"POST {CONNECTION}/getConnectionWithCredentials")
def _remember_connections(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    for shown in _listed(answer):
        credentials = shown.get("credentials")
        members = {**shown, "credentials": credentials if isinstance(credentials, dict) else {}}
        world.store.table(CONNECTIONS)[shown["name"]] = new_connection(shown["name"], members) | {"id": shown.get("id")}


@remembers("GET /deployments", "GET /deployments/{name}")
def _remember_deployments(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    for shown in _listed(answer):
        world.store.table(DEPLOYMENTS)[shown["name"]] = shown


@remembers("POST /memory_stores", f"GET {STORE}", f"POST {STORE}")
def _remember_memory_store(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    """Store a memory store with the id that the service assigned."""
    texts = all(isinstance(answer.get(name), str) for name in ("name", "id"))
    if texts and isinstance(answer.get("definition"), dict) and isinstance(answer.get("created_at"), int):
        put_memory_store(world, answer).object = answer


@remembers(f"POST {STORE}:update_memories")
def _remember_update(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    store, id = world.store.table(MEMORY_STORES).get(request.params["name"]), answer.get("update_id")
    if store is not None and isinstance(id, str) and isinstance(request.body, dict) and "scope" in request.body:
        store.queue(id, request.body)


@remembers(f"POST {STORE}/items", f"GET {STORE}/items/{{memory_id}}", f"POST {STORE}/items/{{memory_id}}")
def _remember_memory(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    store, id = world.store.table(MEMORY_STORES).get(request.params["name"]), answer.get("memory_id")
    if store is not None and isinstance(id, str) and {"scope", "kind", "content"} <= answer.keys():
        store.items[id] = answer
