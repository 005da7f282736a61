"""Remembers responses, conversations with their items, and files and vector stores without their content."""

from __future__ import annotations

from collections.abc import Sequence

from harness.answers.response import render_input_items
from harness.api.responses import PENDING_STATUSES
from harness.contract.call import drop_nulls
from harness.core.exchange import Json, Request
from harness.items.transcript import EMPTY_CHAIN, ItemChain, conversation_id
from harness.verify.remember.registry import PRESUMED, remembers, typed_items
from harness.world.store import Conversation, PendingResponse
from harness.world.world import World


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
    if (prompt := body.get("prompt")) and prompt["id"] not in world.account.prompts:
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


@remembers("DELETE /conversations/{conversation_id}/items/{item_id}")
def _remember_item_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if conversation := world.store.conversations.get(request.params["conversation_id"]):
        gone = request.params["item_id"]
        conversation.remove_item(gone)
        world.store.items.pop(gone, None)


@remembers("POST /files", "GET /files/{file_id}", "POST /vector_stores", "POST /vector_stores/{vector_store_id}/files")
def _remember_uploaded(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if isinstance(id := answer.get("id"), str):
        name = answer.get("filename") if request.operation == "POST /files" else ""
        store, purpose = request.params.get("vector_store_id", ""), str(answer.get("purpose") or "")
        world.uploads.presume(id, store, purpose, name if isinstance(name, str) else "")


@remembers("DELETE /files/{file_id}", "DELETE /vector_stores/{vector_store_id}")
def _remember_upload_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    world.uploads.delete(request.params.get("file_id") or request.params["vector_store_id"])


@remembers("DELETE /vector_stores/{vector_store_id}/files/{file_id}")
def _remember_removed(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if store := world.uploads.store(request.params["vector_store_id"]):
        store.files.pop(request.params["file_id"], None)
