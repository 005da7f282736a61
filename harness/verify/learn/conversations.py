"""Learners of operations on conversations and their items."""

from __future__ import annotations

from collections.abc import Sequence

from harness.answers.response import render_input_items
from harness.contract.check import drop_nulls
from harness.core.exchange import Json, Request
from harness.items.history.chain import ItemChain
from harness.verify.learn.registry import learns_from, typed_items
from harness.world.store import Conversation
from harness.world.world import World


@learns_from("POST /conversations")
def _learn_created(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if isinstance(id := answer.get("id"), str):
        items = render_input_items({"input": drop_nulls(request.body or {}).get("items") or []})
        world.store.conversations[id] = Conversation(answer, ItemChain(items))


@learns_from("DELETE /conversations/{conversation_id}")
def _learn_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    world.store.conversations.pop(request.params["conversation_id"], None)


@learns_from("POST /conversations/{conversation_id}/items")
def _learn_items_added(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    conversation, added = world.store.conversations.get(request.params["conversation_id"]), answer.get("data")
    if conversation and isinstance(added, list):
        items = typed_items(added)
        conversation.add_items(items)
        world.store.items.update((item["id"], item) for item in items if "id" in item)


@learns_from("DELETE /conversations/{conversation_id}/items/{item_id}")
def _learn_item_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if conversation := world.store.conversations.get(request.params["conversation_id"]):
        gone = request.params["item_id"]
        conversation.remove_item(gone)
        world.store.items.pop(gone, None)
