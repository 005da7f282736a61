"""`/conversations`: create one, read it back, forget it."""

from __future__ import annotations

from harness.contract import given
from harness.exchange import Answer, Request
from harness.operation import operation
from harness.response import listed_input
from harness.world import Conversation, World


@operation("POST", "/conversations", body="CreateConversation", answer="Conversation")
def create(request: Request, world: World) -> Answer:
    """A new conversation, with the items it starts with."""
    body = given(request.body) or {}
    now = world.tick()
    id = world.ids.conversation()
    made = {"id": id, "object": "conversation", "created_at": now, "metadata": body.get("metadata") or {}}
    items = world.identified(listed_input({"input": body.get("items") or []}), id, now)
    world.conversations[id] = Conversation(made, items)
    return Answer(200, made)


@operation("GET", "/conversations/{conversation_id}", answer="Conversation")
def retrieve(request: Request, world: World) -> Answer:
    """A stored conversation."""
    return Answer(200, world.conversations[request.params["conversation_id"]].object)


@operation("DELETE", "/conversations/{conversation_id}", answer="ConversationDeleted")
def delete(request: Request, world: World) -> Answer:
    """Forget a conversation and its items."""
    id = request.params["conversation_id"]
    del world.conversations[id]
    return Answer(200, {"id": id, "object": "conversation.deleted", "deleted": True})
