"""`/memory_stores`: what agents remember of users, scope by scope; made of messages by updates, and found by searches."""

from __future__ import annotations

from harness.api.operations import operation
from harness.api.project.memories import USER_PROFILE, Memories, render_update
from harness.api.project.versions import page_list
from harness.core.exchange import Answer, Request
from harness.core.loose_json import as_object
from harness.world.project_resources import new_memory_id, origin_of, put_memory_store, settle_updates
from harness.world.world import World

STORES = "/memory_stores"
STORE = f"{STORES}/{{name}}"
ITEMS = f"{STORE}/items"
ITEM = f"{ITEMS}/{{memory_id}}"
UPDATE_VERSION = "2025-11-15-preview"
"""The version in the address at which an update is polled (recorded)."""


@operation("POST", STORES, project=True)
def create(request: Request, world: World) -> Answer:
    """Make a memory store; of one that is there the description and the definition change, its memories stay."""
    return Answer(200, put_memory_store(world, request.body).object)


@operation("GET", STORES, project=True)
def list_stores(request: Request, world: World) -> Answer:
    """The memory stores, newest first unless `order=asc`."""
    return Answer(200, page_list([each.object for each in world.store.memory_stores.values()], request.query))


@operation("GET", STORE, project=True)
def retrieve(request: Request, world: World) -> Answer:
    """One memory store."""
    return Answer(200, _store_of(request, world).object)


@operation("POST", STORE, project=True)
def update(request: Request, world: World) -> Answer:
    """Change the description or the metadata."""
    store = _store_of(request, world)
    changes = {name: value for name, value in as_object(request.body).items() if name in ("description", "metadata")}
    store.object = {**store.object, **changes, "updated_at": world.tick()}
    return Answer(200, store.object)


@operation("DELETE", STORE, project=True)
def delete(request: Request, world: World) -> Answer:
    """Forget a memory store with all memories."""
    name = request.params["name"]
    del world.store.memory_stores[name]
    return Answer(200, {"object": "memory_store.deleted", "name": name, "deleted": True})


@operation("POST", f"{STORE}:update_memories", project=True)
def update_memories(request: Request, world: World) -> Answer:
    """Begin to make memories of messages; the update is polled until it is completed."""
    id, name = world.ids.guid(), request.params["name"]
    world.tick()
    _store_of(request, world).queue(id, request.body)
    address = (
        f"{origin_of(world, request.headers)}{request.root}{STORES}/{name}/updates/{id}?api-version={UPDATE_VERSION}"
    )
    return Answer(202, {"update_id": id, "status": "queued"}, {"operation-location": address})


@operation("GET", f"{STORE}/updates/{{update_id}}", project=True)
def retrieve_update(request: Request, world: World) -> Answer:
    """An update: queued when it is polled first (recorded), from then on completed."""
    store, id = _store_of(request, world), request.params["update_id"]
    update = store.updates[id]
    update.polls += 1
    if update.polls > 1 and update.is_waiting:
        store.carry_out(update, world.tick(), lambda: new_memory_id(world))
    return Answer(200, render_update(id, update))


@operation("POST", f"{STORE}:search_memories", project=True)
def search_memories(request: Request, world: World) -> Answer:
    """The memories of a scope that messages remind of; updates that still wait come first."""
    store = _settled_store(request, world)
    return Answer(200, store.search(world.ids.hex("", 32), request.body))


@operation("POST", f"{STORE}:delete_scope", project=True)
def delete_scope(request: Request, world: World) -> Answer:
    """Forget the memories of a scope; `deleted` says whether there were any (recorded)."""
    store, scope = _settled_store(request, world), request.body["scope"]
    name = request.params["name"]
    deleted = store.delete_scope(scope)
    return Answer(200, {"object": "memory_store.scope.deleted", "name": name, "scope": scope, "deleted": deleted})


@operation("POST", ITEMS, project=True)
def create_memory(request: Request, world: World) -> Answer:
    """Put a memory in."""
    body = request.body
    kind = body["kind"] if isinstance(body.get("kind"), str) else USER_PROFILE
    store = _store_of(request, world)
    return Answer(200, store.add(new_memory_id(world), world.tick(), body["scope"], body["content"], kind))


@operation("POST", f"{ITEMS}:list", project=True)
def list_memories(request: Request, world: World) -> Answer:
    """The memories of a scope, newest first unless `order=asc`, of one `kind` when asked for."""
    scope, kind = request.body["scope"], request.query.get("kind")
    every = _settled_store(request, world).items.values()
    shown = [each for each in every if each["scope"] == scope and kind in (None, each["kind"])]
    return Answer(200, page_list(shown, request.query, id_member="memory_id"))


@operation("GET", ITEM, project=True)
def retrieve_memory(request: Request, world: World) -> Answer:
    """One memory."""
    return Answer(200, _store_of(request, world).items[request.params["memory_id"]])


@operation("POST", ITEM, project=True)
def update_memory(request: Request, world: World) -> Answer:
    """Change the text of a memory."""
    items, id = _store_of(request, world).items, request.params["memory_id"]
    items[id] = {**items[id], "updated_at": world.tick(), "content": request.body["content"]}
    return Answer(200, items[id])


@operation("DELETE", ITEM, project=True)
def delete_memory(request: Request, world: World) -> Answer:
    """Forget a memory."""
    id = request.params["memory_id"]
    del _store_of(request, world).items[id]
    return Answer(200, {"object": "memory_store.item.deleted", "memory_id": id, "deleted": True})


def _store_of(request: Request, world: World) -> Memories:
    return world.store.memory_stores[request.params["name"]]


def _settled_store(request: Request, world: World) -> Memories:
    store = _store_of(request, world)
    settle_updates(world, store)
    return store
