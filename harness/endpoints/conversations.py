"""`/conversations`: create, retrieve, update and delete, and the same for a conversation's items."""

from collections.abc import Iterator

from harness.answers.response import render_input_items
from harness.api import responses
from harness.api.http.dialects import FOUNDRY
from harness.api.operations import ITEM_LIST, Cursors, operation
from harness.api.pages import list_object, page
from harness.core.exchange import Answer, Json
from harness.world.api_call import ApiCall
from harness.world.store import Conversation
from harness.world.world import World


@operation("POST", "/conversations", body="CreateConversation", answer="Conversation")
def create(call: ApiCall) -> Answer:
    """Create a conversation, with its initial items."""
    body = call.members
    id = call.world.ids.project_conversation() if call.request.dialect == FOUNDRY else call.world.ids.conversation()
    made = {"id": id, "object": "conversation", "created_at": call.world.tick(), "metadata": body.get("metadata") or {}}
    call.store.conversations[id] = Conversation(made)
    _add_items(call.world, id, body)
    return Answer(200, made)


def _add_items(world: World, id: str, body: Json) -> list[Json]:
    """Add the items of a body to a conversation and return them; what has the id of a stored item is that item.

    Recorded: vllm-project/agentic-api (2026-09-25), a message with the id of another one and a text of its own.
    """
    sent = world.store.transcript({"input": body.get("items")}).added
    added = [world.store.items.get(item.get("id", ""), item) for item in sent]
    items = world.add_item_ids(render_input_items(added), id, world.now)
    world.store.add_to_conversation(id, items)
    return items


@operation("GET", "/conversations/{conversation_id}", answer="Conversation")
def retrieve(call: ApiCall) -> Answer:
    """Retrieve a conversation."""
    return Answer(200, _find_conversation(call).object)


@operation("POST", "/conversations/{conversation_id}", body="UpdateConversation", answer="Conversation")
def update(call: ApiCall) -> Answer:
    """Replace the metadata of a conversation."""
    conversation = _find_conversation(call)
    conversation.object = {**conversation.object, "metadata": call.body["metadata"] or {}}
    call.store.conversations[call.params["conversation_id"]] = conversation
    return Answer(200, conversation.object)


@operation("DELETE", "/conversations/{conversation_id}", answer="ConversationDeleted")
def delete(call: ApiCall) -> Answer:
    """Delete a conversation; its items stay wherever else they are stored."""
    id = call.params["conversation_id"]
    del call.store.conversations[id]
    return Answer(200, {"id": id, "object": "conversation.deleted", "deleted": True})


@operation(
    "GET",
    "/conversations/{conversation_id}/items",
    query="ListInputItems",
    answer="ConversationItemList",
    cursors=Cursors(
        "item",
        lambda request, world: [item.get("id") for item in _find_conversation(ApiCall(request, world)).items],
        ITEM_LIST,
    ),
)
def list_items(call: ApiCall) -> Answer:
    """List the items of a conversation, newest first unless `order=asc`; in a project, optionally by `item_type`."""
    items = _find_conversation(call).items
    if type := call.query.get("item_type"):
        items = [item for item in items if item["type"] == type]
    shown = page(items, call.query)
    return Answer(200, responses.filter_page(shown, call.query.get("include", ()), call.store.unfiltered_items))


@operation(
    "POST", "/conversations/{conversation_id}/items", body="CreateConversationItems", answer="ConversationItemList"
)
def create_items(call: ApiCall) -> Answer:
    """Append items to a conversation; the answer lists them in the order sent."""
    call.world.tick()
    return Answer(200, list_object(_add_items(call.world, call.params["conversation_id"], call.body)))


@operation("GET", "/conversations/{conversation_id}/items/{item_id}", query="ListInputItems", answer="ConversationItem")
def retrieve_item(call: ApiCall) -> Answer:
    """Retrieve an item of a conversation."""
    wanted = call.params["item_id"]
    item = next(item for item in _find_conversation(call).items if item["id"] == wanted)
    return Answer(
        200,
        responses.filter_page({"data": [item]}, call.query.get("include", ()), call.store.unfiltered_items)["data"][0],
    )


@operation("DELETE", "/conversations/{conversation_id}/items/{item_id}", answer="ConversationItemDeleted")
def delete_item(call: ApiCall) -> Answer:
    """Remove an item from a conversation and return the conversation; dependent items now lack it.

    It can still be referenced while a stored response has it as input or output, or another conversation contains it.
    """
    conversation, id = _find_conversation(call), call.params["item_id"]
    conversation.remove_item(id)
    call.store.conversations[call.params["conversation_id"]] = conversation
    if id not in {item.get("id") for item in _stored_items(call.world)}:
        call.store.items.pop(id, None)
    return Answer(200, conversation.object)


def _stored_items(world: World) -> Iterator[Json]:
    for conversation in world.store.conversations.values():
        yield from conversation.items
    for stored in world.store.responses.values():
        yield from (*stored.input, *stored.response["output"])


def _find_conversation(call: ApiCall) -> Conversation:
    return call.store.conversations[call.params["conversation_id"]]
