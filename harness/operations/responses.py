"""`/responses`: create, retrieve, delete, and list the input items."""

from __future__ import annotations

from collections.abc import Sequence

from harness.contract import given
from harness.exchange import Answer, Json, Request
from harness.item import Item, finish
from harness.operation import operation
from harness.paging import page
from harness.response import finish_with, listed_input, skeleton
from harness.stream import events
from harness.transcript import conversation_id
from harness.usage import TOKENS_A_TOOL, tokens, usage
from harness.world import World


@operation("POST", "/responses", body="CreateResponse", answer="Response")
def create(request: Request, world: World) -> Answer:
    """Run the model once: the next turn of the script, as one JSON object or as a stream of events."""
    body = given(request.body)
    turn = world.turns.next(request)
    transcript = world.transcript(body)
    conversation = conversation_id(body)
    now = world.tick()
    id = world.ids.response(now, body.get("previous_response_id"))
    started = skeleton(body, id, now, conversation=conversation)
    output = [finish(item, world.ids, id, now) for item in turn]
    response = finish_with(started, output, usage(_input_tokens(body, transcript.items), output), now + 1)
    if not body.get("stream"):
        response["billing"] = {"payer": "developer"}  # recorded: in JSON only, never in a stream
    own = world.identified(listed_input({"input": transcript.added}), id, now)
    if response["store"] is not False and not world.account.zdr:
        world.store(response, own, transcript.items[: transcript.start])
    if conversation:
        world.conversations[conversation].items += [*own, *output]
    return _answer(response, body, turn)


def _answer(response: Json, body: Json, turn: Sequence[Item]) -> Answer:
    if not body.get("stream"):
        return Answer(200, response)
    options = body.get("stream_options") or {}
    return Answer(
        200, response, events=events(response, items=turn, obfuscate=options.get("include_obfuscation", True))
    )


def _input_tokens(body: Json, items: Sequence[Json]) -> int:
    instructions, tools = body.get("instructions"), body.get("tools") or ()
    own = tokens([{"text": instructions}]) if instructions else 0
    return own + tokens(items) + TOKENS_A_TOOL * len(tools)


@operation("GET", "/responses/{response_id}", query="RetrieveResponse", answer="Response")
def retrieve(request: Request, world: World) -> Answer:
    """A stored response as it stands."""
    return Answer(200, world.responses[request.params["response_id"]].response)


@operation("DELETE", "/responses/{response_id}")
def delete(request: Request, world: World) -> Answer:
    """Forget a response; nothing can be chained to it any more."""
    id = request.params["response_id"]
    del world.responses[id]
    return Answer(200, {"id": id, "object": "response.deleted", "deleted": True})


@operation("GET", "/responses/{response_id}/input_items", query="ListInputItems", answer="ResponseItemList")
def input_items(request: Request, world: World) -> Answer:
    """The items that were the input of a stored response, newest first unless `order=asc`."""
    stored = world.responses[request.params["response_id"]]
    return Answer(200, page(stored.input, request.query))
