"""`/memory_stores`: agents' memories of users, by scope; updates extract them from messages, searches find them."""

from __future__ import annotations

from harness.api.operations import operation
from harness.api.project.lists import page_list
from harness.api.project.memories import USER_PROFILE, Memories, render_update
from harness.core.exchange import Answer
from harness.core.json_values import as_object
from harness.world.api_call import ApiCall
from harness.world.project_resources import new_memory_id, origin_of, put_memory_store, settle_updates

STORES = "/memory_stores"
STORE = f"{STORES}/{{name}}"
ITEMS = f"{STORE}/items"
ITEM = f"{ITEMS}/{{memory_id}}"
UPDATE_VERSION = "2025-11-15-preview"
"""The `api-version` in the address at which an update is polled (recorded)."""


@operation("POST", STORES, project=True)
def create(call: ApiCall) -> Answer:
    """Create a memory store; an existing one gets a new description and definition, and keeps its memories."""
    return Answer(200, put_memory_store(call.world, call.body).object)


@operation("GET", STORES, project=True)
def list_stores(call: ApiCall) -> Answer:
    """List the memory stores, newest first unless `order=asc`."""
    return Answer(200, page_list([store.object for store in call.store.memory_stores.values()], call.query))


@operation("GET", STORE, project=True)
def retrieve(call: ApiCall) -> Answer:
    """Retrieve a memory store."""
    return Answer(200, _store_of(call).object)


@operation("POST", STORE, project=True)
def update(call: ApiCall) -> Answer:
    """Change the description or the metadata of a memory store."""
    store = _store_of(call)
    changes = {name: value for name, value in as_object(call.body).items() if name in ("description", "metadata")}
    store.object = {**store.object, **changes, "updated_at": call.world.tick()}
    return Answer(200, store.object)


@operation("DELETE", STORE, project=True)
def delete(call: ApiCall) -> Answer:
    """Delete a memory store with all its memories."""
    name = call.params["name"]
    del call.store.memory_stores[name]
    return Answer(200, {"object": "memory_store.deleted", "name": name, "deleted": True})


@operation("POST", f"{STORE}:update_memories", project=True)
def update_memories(call: ApiCall) -> Answer:
    """Start extracting memories from messages; the update is polled until it is completed."""
    id, name = call.world.ids.guid(), call.params["name"]
    call.world.tick()
    _store_of(call).queue(id, call.body)
    project = f"{origin_of(call.world, call.request.headers)}{call.request.root}"
    address = f"{project}{STORES}/{name}/updates/{id}?api-version={UPDATE_VERSION}"
    return Answer(202, {"update_id": id, "status": "queued"}, {"operation-location": address})


@operation("GET", f"{STORE}/updates/{{update_id}}", project=True)
def retrieve_update(call: ApiCall) -> Answer:
    """Return an update: queued at the first poll (recorded), completed from then on."""
    store, id = _store_of(call), call.params["update_id"]
    update = store.updates[id]
    update.polls += 1
    if update.polls > 1 and update.is_waiting:
        store.carry_out(update, call.world.tick(), lambda: new_memory_id(call.world))
    return Answer(200, render_update(id, update))


@operation("POST", f"{STORE}:search_memories", project=True)
def search_memories(call: ApiCall) -> Answer:
    """Find the memories of a scope that match messages; waiting updates are applied first."""
    store = _settled_store(call)
    return Answer(200, store.search(call.world.ids.hex("", 32), call.body))


@operation("POST", f"{STORE}:delete_scope", project=True)
def delete_scope(call: ApiCall) -> Answer:
    """Delete the memories of a scope; `deleted` says whether there were any (recorded)."""
    store, scope = _settled_store(call), call.body["scope"]
    name = call.params["name"]
    deleted = store.delete_scope(scope)
    return Answer(200, {"object": "memory_store.scope.deleted", "name": name, "scope": scope, "deleted": deleted})


@operation("POST", ITEMS, project=True)
def create_memory(call: ApiCall) -> Answer:
    """Add a memory."""
    body = call.body
    kind = body["kind"] if isinstance(body.get("kind"), str) else USER_PROFILE
    store = _store_of(call)
    return Answer(200, store.add(new_memory_id(call.world), call.world.tick(), body["scope"], body["content"], kind))


@operation("POST", f"{ITEMS}:list", project=True)
def list_memories(call: ApiCall) -> Answer:
    """List the memories of a scope, newest first unless `order=asc`, optionally by `kind`."""
    scope, kind = call.body["scope"], call.query.get("kind")
    every = _settled_store(call).items.values()
    shown = [memory for memory in every if memory["scope"] == scope and kind in (None, memory["kind"])]
    return Answer(200, page_list(shown, call.query, id_member="memory_id"))


@operation("GET", ITEM, project=True)
def retrieve_memory(call: ApiCall) -> Answer:
    """Retrieve a memory."""
    return Answer(200, _store_of(call).items[call.params["memory_id"]])


@operation("POST", ITEM, project=True)
def update_memory(call: ApiCall) -> Answer:
    """Change the text of a memory."""
    items, id = _store_of(call).items, call.params["memory_id"]
    items[id] = {**items[id], "updated_at": call.world.tick(), "content": call.body["content"]}
    return Answer(200, items[id])


@operation("DELETE", ITEM, project=True)
def delete_memory(call: ApiCall) -> Answer:
    """Delete a memory."""
    id = call.params["memory_id"]
    del _store_of(call).items[id]
    return Answer(200, {"object": "memory_store.item.deleted", "memory_id": id, "deleted": True})


def _store_of(call: ApiCall) -> Memories:
    return call.store.memory_stores[call.params["name"]]


def _settled_store(call: ApiCall) -> Memories:
    store = _store_of(call)
    settle_updates(call.world, store)
    return store
