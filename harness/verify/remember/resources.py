"""Remembers the resources of a Foundry project of which a request does not say all that is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.api.project.connections import new_connection
from harness.core.exchange import Json, Request
from harness.verify.remember.registry import remembers
from harness.world.project_resources import put_memory_store
from harness.world.world import World

CONNECTION = "/connections/{name}"
STORE = "/memory_stores/{name}"


def _listed(answer: Json) -> Iterable[Json]:
    """List the objects of a list, or the object that an answer is, if they have names."""
    listed = answer.get("value")
    objects = listed if isinstance(listed, list) else [answer]
    return [shown for shown in objects if isinstance(shown, dict) and isinstance(shown.get("name"), str)]


@remembers("GET /connections", f"GET {CONNECTION}", f"POST {CONNECTION}/getConnectionWithCredentials")
def _remember_connections(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    for shown in _listed(answer):
        credentials = shown.get("credentials")
        members = {**shown, "credentials": credentials if isinstance(credentials, dict) else {}}
        world.store.connections[shown["name"]] = new_connection(shown["name"], members) | {"id": shown.get("id")}


@remembers("GET /deployments", "GET /deployments/{name}")
def _remember_deployments(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    for shown in _listed(answer):
        world.store.deployments[shown["name"]] = shown


@remembers("POST /memory_stores", f"GET {STORE}", f"POST {STORE}")
def _remember_memory_store(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    """Store a memory store with the id that it was given."""
    texts = all(isinstance(answer.get(name), str) for name in ("name", "id"))
    if texts and isinstance(answer.get("definition"), dict) and isinstance(answer.get("created_at"), int):
        put_memory_store(world, answer).object = answer


@remembers(f"POST {STORE}:update_memories")
def _remember_update(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    store, id = world.store.memory_stores.get(request.params["name"]), answer.get("update_id")
    if store is not None and isinstance(id, str) and isinstance(request.body, dict) and "scope" in request.body:
        store.queue(id, request.body)


@remembers(f"POST {STORE}/items", f"GET {STORE}/items/{{memory_id}}", f"POST {STORE}/items/{{memory_id}}")
def _remember_memory(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    store, id = world.store.memory_stores.get(request.params["name"]), answer.get("memory_id")
    if store is not None and isinstance(id, str) and {"scope", "kind", "content"} <= answer.keys():
        store.items[id] = answer
