"""Learners of operations on the resources of a Foundry project, of which a request does not say all that is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.api.project.connections import new_connection
from harness.core.exchange import Json, Request
from harness.verify.learn.registry import learns_from
from harness.world.project_resources import put_memory_store
from harness.world.world import World

CONNECTION = "/connections/{name}"
STORE = "/memory_stores/{name}"


def _listed(answer: Json) -> Iterable[Json]:
    """The objects of a list, or the object that an answer is, if they have names."""
    shown = answer.get("value")
    return [
        each
        for each in (shown if isinstance(shown, list) else [answer])
        if isinstance(each, dict) and isinstance(each.get("name"), str)
    ]


@learns_from("GET /connections", f"GET {CONNECTION}", f"POST {CONNECTION}/getConnectionWithCredentials")
def _learn_connections(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    for shown in _listed(answer):
        credentials = shown.get("credentials")
        known = {**shown, "credentials": credentials if isinstance(credentials, dict) else {}}
        world.store.connections[shown["name"]] = new_connection(shown["name"], known) | {"id": shown.get("id")}


@learns_from("GET /deployments", "GET /deployments/{name}")
def _learn_deployments(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    for shown in _listed(answer):
        world.store.deployments[shown["name"]] = shown


@learns_from("POST /memory_stores", f"GET {STORE}", f"POST {STORE}")
def _learn_memory_store(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    """A store with the id that it was given."""
    texts = all(isinstance(answer.get(name), str) for name in ("name", "id"))
    if texts and isinstance(answer.get("definition"), dict) and isinstance(answer.get("created_at"), int):
        put_memory_store(world, answer).object = answer


@learns_from(f"POST {STORE}:update_memories")
def _learn_update(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    store, id = world.store.memory_stores.get(request.params["name"]), answer.get("update_id")
    if store is not None and isinstance(id, str) and isinstance(request.body, dict) and "scope" in request.body:
        store.queue(id, request.body)


@learns_from(f"POST {STORE}/items", f"GET {STORE}/items/{{memory_id}}", f"POST {STORE}/items/{{memory_id}}")
def _learn_memory(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    store, id = world.store.memory_stores.get(request.params["name"]), answer.get("memory_id")
    if store is not None and isinstance(id, str) and {"scope", "kind", "content"} <= answer.keys():
        store.items[id] = answer
