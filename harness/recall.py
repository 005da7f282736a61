"""What a World learns from an exchange somebody recorded: what the API stored, as far as its answers show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from harness.contract import given
from harness.exchange import Json, Request
from harness.reminder import LEARNERS
from harness.response import listed_input
from harness.suppose import LEARNED
from harness.transcript import conversation_id
from harness.world import Conversation, Run, World

Recall = Callable[[World, Request, Json], None]

KEPT = 1000
"""Responses, conversations and items a World remembers at least, the newest, so that a tape of any length can be read."""

PRESUMED: Json = {}
"""The object of a conversation that the tape goes on with but never made."""


def remember(world: World, request: Request, answer: Any, events: Sequence[Json] | None = None) -> None:
    """Note in `world` what this answered request has stored or deleted.

    `answer` is the object the API gave, `events` the stream that told it.
    """
    if learner := LEARNERS.get(request.operation):
        learner(world, request, answer if isinstance(answer, dict) else {}, events or ())
        _forget(world)
    learn = _LEARN.get(request.operation)
    if learn:
        answer = answer if isinstance(answer, dict) else {}
        learn(world, request, answer)
        if events and request.body and request.body.get("background") and answer.get("id") in world.responses:
            world.record(answer["id"], events)
        _forget(world)


def _created(world: World, request: Request, answer: Json) -> None:
    body, output = given(request.body), answer.get("output")
    if not isinstance(answer.get("id"), str) or not isinstance(output, list):
        _lost(world, body)
        return
    _presume(world, body)
    transcript = world.transcript(body)
    items, own = [item for item in output if _typed(item)], listed_input({"input": transcript.added})
    if body.get("store") is not False and answer.get("store") is not False:
        _stored(world, {**answer, "output": items}, own, transcript.items[: transcript.start])
    if conversation := world.conversations.get(conversation_id(body) or ""):
        conversation.items += [*own, *items]


def _lost(world: World, body: Json) -> None:
    """An answer without its output: what it added to a conversation is not known."""
    if conversation := world.conversations.get(conversation_id(body) or ""):
        conversation.object = PRESUMED


def _stored(world: World, response: Json, own: Sequence[Json], before: Sequence[Json]) -> None:
    """A response as it is now; one that has not ended is under way, and may end at any time unseen."""
    world.store(response, own, before)
    if response.get("status") in ("queued", "in_progress"):
        world.pending[response["id"]] = Run(response, (), {}, own, before)
    else:
        world.pending.pop(response["id"], None)


def _presume(world: World, body: Json) -> None:
    """What an accepted request shows to be there: its prompt, and its conversation, whose earlier items stay unknown."""
    if (prompt := body.get("prompt")) and prompt["id"] not in world.account.prompts:
        world.organization(prompts=world.account.prompts | {prompt["id"]})
    if id := conversation_id(body):
        world.conversations.setdefault(id, Conversation(PRESUMED))


def _typed(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("type"), str) and isinstance(item.get("id", ""), str)


def _retrieved(world: World, request: Request, answer: Json) -> None:
    """A background response as it stands now; one that the tape never made is left alone, its input is not known."""
    known, output = world.responses.get(request.params["response_id"]), answer.get("output")
    if known is None or not isinstance(output, list):
        return
    before = len(known.transcript) - len(known.input) - len(known.response["output"])
    now = {**answer, "id": known.response["id"], "output": [item for item in output if _typed(item)]}
    _stored(world, now, known.input, known.transcript[:before])
    if known.events:
        world.record(known.response["id"], known.events)


def _deleted(world: World, request: Request, answer: Json) -> None:
    world.responses.pop(request.params["response_id"], None)
    world.pending.pop(request.params["response_id"], None)


def _conversation(world: World, request: Request, answer: Json) -> None:
    if isinstance(id := answer.get("id"), str):
        items = listed_input({"input": given(request.body or {}).get("items") or []})
        world.conversations[id] = Conversation(answer, items)


def _conversation_deleted(world: World, request: Request, answer: Json) -> None:
    world.conversations.pop(request.params["conversation_id"], None)


def _items_added(world: World, request: Request, answer: Json) -> None:
    conversation, added = world.conversations.get(request.params["conversation_id"]), answer.get("data")
    if conversation and isinstance(added, list):
        items = [item for item in added if _typed(item)]
        conversation.items += items
        world.items.update((item["id"], item) for item in items if "id" in item)


def _item_deleted(world: World, request: Request, answer: Json) -> None:
    if conversation := world.conversations.get(request.params["conversation_id"]):
        gone = request.params["item_id"]
        conversation.items = [item for item in conversation.items if item.get("id") != gone]
        world.items.pop(gone, None)


_LEARN: Mapping[str, Recall] = {
    "POST /responses": _created,
    "GET /responses/{response_id}": _retrieved,
    "POST /responses/{response_id}/cancel": _retrieved,
    "DELETE /responses/{response_id}": _deleted,
    "POST /conversations": _conversation,
    "DELETE /conversations/{conversation_id}": _conversation_deleted,
    "POST /conversations/{conversation_id}/items": _items_added,
    "DELETE /conversations/{conversation_id}/items/{item_id}": _item_deleted,
    **LEARNED,
}


def _forget(world: World) -> None:
    """Drop the oldest of what is remembered, once there is twice as much as is kept."""
    for table in (world.responses, world.pending, world.conversations, world.assistants, world.threads):
        _halve(table, KEPT)
    for links in (world.items, world.reasoning_of, world.follower_of, world.uploads.files, world.uploads.stores):
        _halve(links, 8 * KEPT)


def _halve(table: dict[str, Any], kept: int) -> None:
    if len(table) > 2 * kept:
        for key in list(islice(table, len(table) - kept)):
            del table[key]
