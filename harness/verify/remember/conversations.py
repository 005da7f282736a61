"""Remembers conversations and their items."""

from __future__ import annotations

from collections.abc import Sequence

from harness.answers.response import render_input_items
from harness.contract.check import drop_nulls
from harness.core.exchange import Json, Request
from harness.items.history import ItemChain
from harness.verify.remember.registry import remembers, typed_items
from harness.world.store import Conversation
from harness.world.world import World


@remembers("POST /conversations")
def _remember_created(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if isinstance(id := answer.get("id"), str):
        items = render_input_items(drop_nulls(request.body or {}).get("items") or [])
        world.store.conversations[id] = Conversation(answer, ItemChain(items))


@remembers("DELETE /conversations/{conversation_id}")
def _remember_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    world.store.conversations.pop(request.params["conversation_id"], None)


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
