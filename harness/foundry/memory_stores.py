"""`/memory_stores`: agents' memories of users, by scope; updates extract them from messages, searches find them.

There is no model: a user message becomes a memory of the kind `user_profile`, a conversation with an assistant one of
`chat_summary`, each verbatim. A search finds the memories that share a word with the query, those that share most
first. Recorded 2026-02: stores, updates and their states, searches, deletions; typed (azure-ai-projects 2.10): items.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.api.http.dialects import FOUNDRY
from harness.api.operations import operation
from harness.api.tokens import CHARACTERS_PER_TOKEN
from harness.contract.rule import RuleScope, WorldView, after, recorded, rule
from harness.core.errors import ConfigError
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import as_object, omit, pick
from harness.core.limits import oldest_beyond
from harness.core.registry import TableKind, declare_table
from harness.core.text import show
from harness.foundry.resources import ASSETS_REPOSITORY, origin_of, page_list, project_case, project_not_found
from harness.world.api_call import ApiCall
from harness.world.resources import declare_resource, member_types
from harness.world.world import World

SCOPE = RuleScope(area="resources", dialects=FOUNDRY)
USER_PROFILE, CHAT_SUMMARY = "user_profile", "chat_summary"
DEFAULT_DELAY = 300
"""Default seconds that an update waits for more messages (documented)."""
MOST_FOUND = 20
"""Default maximum number of memories found by a search (assumed)."""
MOST_KEPT = 1000
"""The number of searches and updates of a store that can be continued; the newest are kept."""
DEFAULT_SCOPE = "user_123"
"""The scope of memories for which a test names none."""
STORE = "/memory_stores/{name}"
ITEMS = f"{STORE}/items"
ITEM = f"{ITEMS}/{{memory_id}}"
UPDATE_VERSION = "2025-11-15-preview"
"""The `api-version` in the address at which an update is polled (recorded)."""
MAKE_STORE = project_case(
    "POST /memory_stores",
    {"name": "mine", "definition": {"kind": "default", "chat_model": "m", "embedding_model": "e"}},
)
_COMMON = frozenset(
    re.findall(r"\w+", "a an and are at be do for how i in is it me my of on or that the to what when where who you")
)
"""Words that a search ignores."""


@dataclass(slots=True)
class MemoryUpdate:
    """An update: scope and messages, how often it was polled, and its result."""

    scope: str
    messages: list[Json]
    delay: int
    polls: int = 0
    superseded_by: str = ""
    result: Json | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether it has been neither applied nor superseded."""
        return self.result is None and not self.superseded_by


@dataclass(slots=True)
class Memories:
    """A memory store: the object, and by id the memories, updates and search queries."""

    object: Json
    items: dict[str, Json] = field(default_factory=dict)
    updates: dict[str, MemoryUpdate] = field(default_factory=dict)
    searches: dict[str, str] = field(default_factory=dict)

    def add(self, id: str, now: int, scope: str, content: str, kind: str = USER_PROFILE) -> Json:
        """Add a memory."""
        made = {"memory_id": id, "updated_at": now, "scope": scope, "content": content, "kind": kind}
        self.items[id] = made
        return made

    def queue(self, id: str, body: Json) -> MemoryUpdate:
        """Queue an update; it supersedes a waiting one of the same scope and takes over its messages."""
        messages = messages_of(body.get("items"))
        delay = body.get("update_delay")
        made = MemoryUpdate(body["scope"], messages, delay if isinstance(delay, int) else DEFAULT_DELAY)
        for earlier, update in self.updates.items():
            if update.is_waiting and (
                earlier == body.get("previous_update_id") or (update.delay and update.scope == made.scope)
            ):
                update.superseded_by = id
                made.messages = [*update.messages, *made.messages]
        self.updates[id] = made
        for oldest in oldest_beyond(self.updates, MOST_KEPT):
            del self.updates[oldest]
        return made

    def apply_update(self, update: MemoryUpdate, world: World) -> None:
        """Add the memories of an update that are not yet there."""
        now = world.tick()
        operations: list[Json] = []
        known = {(item["scope"], item["kind"], item["content"]) for item in self.items.values()}
        for kind, content in _extract(update.messages, self.object["definition"]["options"]):
            if (update.scope, kind, content) not in known:
                known.add((update.scope, kind, content))
                item = self.add(new_memory_id(world), now, update.scope, content, kind)
                operations.append({"kind": "create", "memory_item": item})
        written = sum(len(operation["memory_item"]["content"]) for operation in operations)
        update.result = {"memory_operations": operations, "usage": _usage(_tokens(written))}

    def search(self, id: str, body: Json) -> Json:
        """Search the memories; without a query, return the profile of the scope."""
        asked = " ".join(text_of(message) for message in messages_of(body.get("items")))
        wanted = word_set(f"{self.searches.get(str(body.get('previous_search_id')), '')} {asked}")
        self.searches[id] = " ".join(sorted(wanted))
        for oldest in oldest_beyond(self.searches, MOST_KEPT):
            del self.searches[oldest]
        scores = {
            memory: len(wanted & word_set(item["content"])) if asked else item["kind"] == USER_PROFILE
            for memory, item in self.items.items()
            if item["scope"] == body["scope"]
        }
        most = as_object(body.get("options")).get("max_memories")
        most = most if isinstance(most, int) and most > 0 else MOST_FOUND
        found = [memory for memory in sorted(scores, key=lambda memory: -scores[memory]) if scores[memory]][:most]
        return {
            "search_id": id,
            "memories": [{"memory_item": self.items[memory]} for memory in found],
            "usage": _usage(_tokens(len(asked))),
            "error": None,
        }

    def delete_scope(self, scope: str) -> bool:
        """Delete the memories of a scope; returns whether there were any."""
        of_scope = [id for id, item in self.items.items() if item["scope"] == scope]
        for id in of_scope:
            del self.items[id]
        return bool(of_scope)


def new_memory_store(id: str, now: int, body: Json) -> Json:
    """Make the object of a memory store; recorded: options that the definition leaves out get their defaults."""
    definition = body["definition"]
    filled = {"user_profile_enabled": True, "chat_summary_enabled": True, **as_object(definition.get("options"))}
    order = ("user_profile_enabled", "user_profile_details", "chat_summary_enabled")
    return {
        "object": "memory_store",
        "id": id,
        "created_at": now,
        "updated_at": now,
        "name": body["name"],
        "description": body.get("description") or "",
        "metadata": body.get("metadata") or {},
        "definition": {
            "kind": definition.get("kind", "default"),
            **omit(definition, "kind", "options"),
            "options": pick(filled, *order, *filled),
        },
    }


def render_update(id: str, update: MemoryUpdate) -> Json:
    """Render the current state of an update."""
    if update.superseded_by:
        return {"update_id": id, "status": "superseded", "superseded_by": update.superseded_by}
    if update.result is None:
        return {"update_id": id, "status": "queued"}
    return {"update_id": id, "status": "completed", "result": update.result}


def messages_of(items: Any) -> list[Json]:
    """Return the messages among a request's items, which may be a string; documented: others are ignored."""
    if isinstance(items, str):
        return [{"type": "message", "role": "user", "content": items}]
    listed = items if isinstance(items, list) else []
    return [item for item in listed if isinstance(item, dict) and item.get("type") == "message" and text_of(item)]


def text_of(message: Json) -> str:
    """Return the text of a message."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return " ".join(text for text in texts if isinstance(text, str)).strip()


def _usage(embedding: int) -> Json:
    """Return the usage of an operation that only embeds text."""
    return {
        "embedding_tokens": embedding,
        "input_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": embedding,
    }


def _extract(messages: Iterable[Json], options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    spoken = [(message.get("role"), text_of(message)) for message in messages]
    if options["user_profile_enabled"]:
        yield from ((USER_PROFILE, text) for role, text in spoken if role == "user")
    if options["chat_summary_enabled"] and any(role == "assistant" for role, _ in spoken):
        yield CHAT_SUMMARY, "\n".join(f"{role}: {text}" for role, text in spoken)


def word_set(text: str) -> set[str]:
    """Return the words of a text that a search can find."""
    return set(re.findall(r"\w+", text.casefold())) - _COMMON


def _tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


MEMORY_STORES: TableKind[Memories] = declare_table("memory_stores")


def put_memory_store(world: World, body: Json) -> Memories:
    """Create a memory store, or redefine one, which keeps its memories."""
    stores, name, now = world.store.table(MEMORY_STORES), body["name"], world.tick()
    known = stores.get(name)
    made = new_memory_store(known.object["id"] if known else world.ids.project_id("memstore_"), now, body)
    if known:
        known.object = {**made, "created_at": known.object["created_at"]}
    stores[name] = known or Memories(made)
    return stores[name]


def new_memory_id(world: World) -> str:
    """Make the id of a memory."""
    return world.ids.hex("mem_", 32)


@operation("POST", "/memory_stores", project=True)
def create(call: ApiCall) -> Answer:
    """Create a memory store; an existing one gets a new description and definition, and keeps its memories."""
    return Answer(200, put_memory_store(call.world, call.body).object)


@operation("GET", "/memory_stores", project=True)
def list_stores(call: ApiCall) -> Answer:
    """List the memory stores, newest first unless `order=asc`."""
    return Answer(200, page_list([store.object for store in call.store.table(MEMORY_STORES).values()], call.query))


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
    del call.store.table(MEMORY_STORES)[name]
    return Answer(200, {"object": "memory_store.deleted", "name": name, "deleted": True})


@operation("POST", f"{STORE}:update_memories", project=True)
def update_memories(call: ApiCall) -> Answer:
    """Start extracting memories from messages; the update is polled until it is completed."""
    id, name = call.world.ids.guid(), call.params["name"]
    call.world.tick()
    _store_of(call).queue(id, call.body)
    project = f"{origin_of(call.world, call.request.headers)}{call.request.root}"
    address = f"{project}/memory_stores/{name}/updates/{id}?api-version={UPDATE_VERSION}"
    return Answer(202, {"update_id": id, "status": "queued"}, {"operation-location": address})


@operation("GET", f"{STORE}/updates/{{update_id}}", project=True)
def retrieve_update(call: ApiCall) -> Answer:
    """Return an update: queued at the first poll (recorded), completed from then on."""
    store, id = _store_of(call), call.params["update_id"]
    update = store.updates[id]
    update.polls += 1
    if update.polls > 1 and update.is_waiting:
        store.apply_update(update, call.world)
    return Answer(200, render_update(id, update))


@operation("POST", f"{STORE}:search_memories", project=True)
def search_memories(call: ApiCall) -> Answer:
    """Find the memories of a scope that match messages; waiting updates are applied first."""
    return Answer(200, _settled_store(call).search(call.world.ids.hex("", 32), call.body))


@operation("POST", f"{STORE}:delete_scope", project=True)
def delete_scope(call: ApiCall) -> Answer:
    """Delete the memories of a scope; `deleted` says whether there were any (recorded)."""
    store, name, scope = _settled_store(call), call.params["name"], call.body["scope"]
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
    return call.store.table(MEMORY_STORES)[call.params["name"]]


def _settled_store(call: ApiCall) -> Memories:
    """Return a store after its waiting updates, in case no client has polled them."""
    store = _store_of(call)
    for update in store.updates.values():
        if update.is_waiting:
            store.apply_update(update, call.world)
    return store


def _memory_members(store: str, memory: Any) -> Json:
    known = ("content", "kind", "scope")
    is_memory = isinstance(memory, dict) and "content" in memory and set(memory) <= set(known)
    if not is_memory or not all(isinstance(text, str) for text in memory.values()):
        raise ConfigError(
            f"memory_store({show(store)}): {show(memory)} is not a memory; pass a string, or an object with content, kind "
            "and scope."
        )
    return dict(memory)


@declare_resource("memory_store", member_types("description scope", "definition metadata", "memories"))
def make_memory_store(world: World, name: str, members: Json) -> str:
    """Create a memory store; `memories` are strings in the `scope`, or objects with `content`, `kind` and `scope`."""
    definition = members.get("definition", {"kind": "default", "chat_model": "gpt-4.1", "embedding_model": "embed"})
    given = {member: members[member] for member in members if member in ("description", "metadata")}
    store = put_memory_store(world, {"name": name, "definition": definition, **given})
    scope = members.get("scope", DEFAULT_SCOPE)
    for memory in members.get("memories", ()):
        own = {"scope": scope, **({"content": memory} if isinstance(memory, str) else _memory_members(name, memory))}
        store.add(new_memory_id(world), world.tick(), **own)
    return str(store.object["id"])


@rule(
    project_not_found("MemoryStore '{name}' not found"),
    recorded(f"{ASSETS_REPOSITORY}: azure-ai-projects for Python, sample_memory_crud", "2026-02-21"),
    on=("* /memory_stores/{name}", "* /memory_stores/{name}:*", "* /memory_stores/{name}/*"),
    rejects={"other": project_case("DELETE /memory_stores/other")},
    accepts=[after(MAKE_STORE, project_case("GET /memory_stores/mine"))],
    fix="Create it first: `POST /memory_stores`, or `mock.memory_store(…)`.",
)
def memory_store_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """Memory stores must exist."""
    if request.params["name"] not in world.store.table(MEMORY_STORES):
        yield {"name": request.params["name"]}
