"""Adds to a World what the API stored in recorded exchanges, as far as its answers show it.

`judging` decides whether an answer is right.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from harness.answers.response import render_input_items
from harness.api.http.dialects import user_of
from harness.api.operations import OPERATIONS
from harness.api.resources.assistants import Thread
from harness.api.responses import PENDING_STATUSES
from harness.contract.call import WorldCall, drop_nulls
from harness.contract.check import check, check_answer
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object, as_string, objects_in
from harness.core.registry import Registry
from harness.foundry.access import OWNERS
from harness.foundry.agent_sessions import AGENT_SESSIONS, new_session, session_key
from harness.foundry.agent_versions import AGENTS
from harness.foundry.connections import CONNECTION, CONNECTIONS, DEPLOYMENTS, new_connection
from harness.foundry.memory_stores import MEMORY_STORES, STORE, put_memory_store
from harness.items.transcript import EMPTY_CHAIN, ItemChain, conversation_id
from harness.world.api_call import ApiCall
from harness.world.store import Conversation, PendingResponse
from harness.world.world import World

Remember = Callable[[World, Request, Json, Sequence[Json]], None]
"""Receives the object of the answer (`{}` without one) and the events of its stream."""
REMEMBERED: Registry[Remember] = Registry("memory of")
"""The functions by id of the operation."""
PRESUMED: Json = {}
"""The object of a conversation that the recording continues but never created."""


def remembers(*operations: str) -> Callable[[Remember], Remember]:
    """Register the function that records what these operations stored or deleted."""

    def register(note: Remember) -> Remember:
        for operation in operations:
            REMEMBERED.add(operation, note, note.__module__)
        return note

    return register


def typed_items(items: Sequence[Any]) -> list[Json]:
    """Select the recorded items that can be stored: those with a type, whose id, if any, is a string."""
    objects = (item for item in items if isinstance(item, dict))
    return [item for item in objects if isinstance(item.get("type"), str) and isinstance(item.get("id", ""), str)]


def _play(world: World, request: Request) -> None:
    """Let the mock itself handle a deletion, or a request to a Foundry project, unless it would refuse it."""
    if check(WorldCall(request, world)).violation is None:
        OPERATIONS[request.operation].handler(ApiCall(request, world))


@remembers("POST /responses")
def _remember_created(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    body, output = drop_nulls(request.body), answer.get("output")
    if not isinstance(answer.get("id"), str) or not isinstance(output, list):
        _mark_output_unknown(world, body)
        return
    _presume_named_objects(world, body)
    transcript = world.store.transcript(body)
    items, sent = typed_items(output), render_input_items(transcript.added)
    if body.get("store") is not False and answer.get("store") is not False:
        _store_response(world, {**answer, "output": items}, sent, world.store.chain_of(body))
        if events and body.get("background"):
            world.store.put_events(answer["id"], events)
    if conversation := world.store.conversations.get(conversation_id(body) or ""):
        conversation.add_items([*sent, *items])


def _mark_output_unknown(world: World, body: Json) -> None:
    """Mark the items of a conversation as unknown, after an answer without output."""
    if conversation := world.store.conversations.get(conversation_id(body) or ""):
        conversation.object = PRESUMED


def _store_response(world: World, response: Json, sent: Sequence[Json], previous: ItemChain) -> None:
    """Store a response in its current state; a pending one may end unobserved."""
    # A response that was recorded without a status has ended.
    if not isinstance(response.get("status"), str):
        response = {**response, "status": "completed"}
    world.store.put_response(response, sent, previous)
    if response["status"] in PENDING_STATUSES:
        world.store.pending[response["id"]] = PendingResponse(response, (), {}, sent, previous)
    else:
        world.store.pending.pop(response["id"], None)


def _presume_named_objects(world: World, body: Json) -> None:
    """Presume the prompt and the conversation that an accepted request names, the latter with unknown items."""
    if prompt := body.get("prompt"):
        world.organization(prompts=world.account.prompts | {prompt["id"]})
    if id := conversation_id(body):
        world.store.conversations.setdefault(id, Conversation(PRESUMED))


@remembers("GET /responses/{response_id}", "POST /responses/{response_id}/cancel")
def _remember_retrieved(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    """Store a background response in its current state, if its creation was recorded."""
    # Otherwise its input is unknown.
    stored, output = world.store.responses.get(request.params["response_id"]), answer.get("output")
    if stored is None or not isinstance(output, list):
        return
    now = {**answer, "id": stored.response["id"], "output": typed_items(output)}
    _store_response(world, now, stored.input, stored.chain.previous or EMPTY_CHAIN)
    if stored.events:
        world.store.put_events(stored.response["id"], stored.events)


@remembers("POST /conversations")
def _remember_conversation(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if isinstance(id := answer.get("id"), str):
        items = render_input_items(drop_nulls(request.body or {}).get("items") or [])
        world.store.conversations[id] = Conversation(answer, ItemChain(items))


@remembers("POST /conversations/{conversation_id}/items")
def _remember_items_added(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    conversation, added = world.store.conversations.get(request.params["conversation_id"]), answer.get("data")
    if conversation and isinstance(added, list):
        items = typed_items(added)
        conversation.add_items(items)
        world.store.items.update((item["id"], item) for item in items if "id" in item)


@remembers("POST /files", "GET /files/{file_id}", "POST /vector_stores", "POST /vector_stores/{vector_store_id}/files")
def _remember_uploaded(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if isinstance(id := answer.get("id"), str):
        name = answer.get("filename") if request.operation == "POST /files" else ""
        store, purpose = request.params.get("vector_store_id", ""), str(answer.get("purpose") or "")
        world.uploads.presume(id, store, purpose, as_string(name))


THREAD_PATH, RUN_PATH = "/threads/{thread_id}", "/threads/{thread_id}/runs/{run_id}"
UNSEEN_ASSISTANT: Json = {"instructions": "unseen"}
"""An assistant that the recording uses but never created."""


def _get_thread(world: World, id: Any) -> Thread:
    return world.store.threads.setdefault(str(id), Thread({}, {"": {"id": ""}}))


def _thread_of_request(world: World, request: Request) -> Thread:
    return _get_thread(world, request.params["thread_id"])


def _listed_objects(answer: Json) -> list[Json]:
    """Return the objects in an answer: the elements of a list, else the answer itself."""
    data = answer.get("data") if answer.get("object") == "list" else [answer]
    objects = data if isinstance(data, list) else ()
    return [shown for shown in objects if isinstance(shown, dict) and isinstance(shown.get("id"), str)]


@remembers("GET /assistants", "POST /assistants", "GET /assistants/{assistant_id}", "POST /assistants/{assistant_id}")
def _remember_assistants(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    world.store.assistants.update((shown["id"], shown) for shown in _listed_objects(answer))


@remembers("POST /threads")
def _remember_thread_created(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if isinstance(id := answer.get("id"), str):
        world.store.threads[id] = Thread(answer, _messages_without_ids((request.body or {}).get("messages")))


def _messages_without_ids(messages: Any) -> dict[str, Json]:
    """Build the messages that a thread is created with, keyed by index, as the answer does not show their ids."""
    return {str(number): {"id": str(number)} for number, _ in enumerate(messages or ())}


@remembers(f"GET {THREAD_PATH}", f"POST {THREAD_PATH}")
def _remember_thread(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    _thread_of_request(world, request).object = answer


@remembers(
    f"GET {THREAD_PATH}/messages",
    f"POST {THREAD_PATH}/messages",
    f"GET {THREAD_PATH}/messages/{{message_id}}",
    f"POST {THREAD_PATH}/messages/{{message_id}}",
)
def _remember_messages(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    _thread_of_request(world, request).messages.update((shown["id"], shown) for shown in _listed_objects(answer))


@remembers(
    "POST /threads/runs",
    f"GET {THREAD_PATH}/runs",
    f"POST {THREAD_PATH}/runs",
    f"GET {RUN_PATH}",
    f"POST {RUN_PATH}",
    f"POST {RUN_PATH}/cancel",
    f"POST {RUN_PATH}/submit_tool_outputs",
)
def _remember_runs(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    """Store a run in its current state, and the objects in its stream; a run that does not conform is ignored."""
    body = request.body or {}
    if isinstance(assistant := body.get("assistant_id"), str):
        world.store.assistants.setdefault(assistant, UNSEEN_ASSISTANT)
    thread = _get_thread(world, request.params.get("thread_id") or answer.get("thread_id"))
    thread.messages.update(
        _messages_without_ids((body.get("thread") or {}).get("messages") or body.get("additional_messages"))
    )
    thread.runs.update((run["id"], run) for run in _listed_objects(answer) if check_answer("Run", run) is None)
    thread.apply_events(event for event in events if _has_thread_object(event))


def _has_thread_object(event: Json) -> bool:
    """Return whether an event carries a complete message or step."""
    data = as_object(as_object(event).get("data"))
    return data.get("object") in ("thread.message", "thread.run.step") and isinstance(data.get("id"), str)


@remembers(f"GET {RUN_PATH}/steps", f"GET {RUN_PATH}/steps/{{step_id}}")
def _remember_steps(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    steps = (step for step in _listed_objects(answer) if "run_id" in step)
    _thread_of_request(world, request).steps.update((step["id"], step) for step in steps)


VERSIONS_PATH = "/agents/{agent_name}/versions"


def _put_version(world: World, version: object) -> None:
    """Store a version as an answer shows it, in place of any with the same number; a masked number is ignored."""
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
    listed = objects_in(answer.get("data"))
    for version in sorted(listed, key=lambda version: str(version.get("created_at"))):
        _put_version(world, version)


@remembers("GET /agents/{agent_name}")
def _remember_agent(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    versions = answer.get("versions")
    _put_version(world, as_object(versions).get("latest"))


@remembers("POST /agents/{agent_name}/endpoint/sessions")
def _remember_session(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    """Store a session under the id that the service assigned."""
    id, indicator, name = answer.get("agent_session_id"), answer.get("version_indicator"), request.params["agent_name"]
    if isinstance(id, str) and isinstance(indicator, dict):
        session = new_session(id, str(indicator.get("agent_version")), world.now, user_of(request))
        world.store.table(AGENT_SESSIONS)[session_key(name, id)] = session


def _listed(answer: Json) -> Iterable[Json]:
    """Return the named objects in an answer that is a list, or the answer itself if it has a name."""
    listed = answer.get("value")
    objects = listed if isinstance(listed, list) else [answer]
    return [shown for shown in objects if isinstance(shown, dict) and isinstance(shown.get("name"), str)]


@remembers("GET /connections", f"GET {CONNECTION}", f"POST {CONNECTION}/getConnectionWithCredentials")
def _remember_connections(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    for shown in _listed(answer):
        credentials = shown.get("credentials")
        members = {**shown, "credentials": as_object(credentials)}
        world.store.table(CONNECTIONS)[shown["name"]] = new_connection(shown["name"], members) | {"id": shown.get("id")}


@remembers("GET /deployments", "GET /deployments/{name}")
def _remember_deployments(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    for shown in _listed(answer):
        world.store.table(DEPLOYMENTS)[shown["name"]] = shown


@remembers("POST /memory_stores", f"GET {STORE}", f"POST {STORE}")
def _remember_memory_store(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
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


MIN_REMEMBERED = 1000
"""The minimum number of newest objects per table that a World remembers; older ones are dropped to bound memory."""
_SMALL_OBJECTS = ("items", "reasoning_of", "follower_of", "files", "vector_stores")
"""Tables that remember eight times as many objects."""


def remember(world: World, request: Request, answer: Any, events: Sequence[Json] | None = None) -> None:
    """Record in `world` what an answered request stored or deleted.

    `answer` is the object in the answer, `events` are the events of its stream.
    """
    operation = OPERATIONS.get(request.operation)
    if note := REMEMBERED.get(request.operation):
        note(world, request, as_object(answer), events or ())
    elif operation and (request.method == "DELETE" or (operation.is_project and request.method != "GET")):
        _play(world, request)
    else:
        return
    if user := user_of(request):
        _note_owner(world, user, answer)
    _forget_oldest(world)


def _note_owner(world: World, user: str, answer: Any) -> None:
    """Record the user on whose behalf a response or a conversation of Foundry was created."""
    id = as_object(answer).get("id")
    if isinstance(id, str) and (id in world.store.responses or id in world.store.conversations):
        world.store.table(OWNERS).setdefault(id, user)


def _forget_oldest(world: World) -> None:
    """Drop the oldest objects of each table that has twice as many as it must remember."""
    for name, remembered in world.store.tables.items():
        if len(remembered) <= 2 * MIN_REMEMBERED:
            continue
        count = MIN_REMEMBERED * (8 if name in _SMALL_OBJECTS else 1)
        if len(remembered) > 2 * count:
            for key in list(islice(remembered, len(remembered) - count)):
                del remembered[key]
