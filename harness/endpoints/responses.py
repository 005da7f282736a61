"""`/responses`: create, retrieve, cancel, delete, list the input items, compact and count tokens."""

from collections.abc import Sequence

from harness.answers.parameters import items_of_day
from harness.answers.prompt import Prompt
from harness.answers.response import render_input_items, with_billing
from harness.answers.writer import render_events
from harness.api.encrypted_content import ContentOwner, make_encrypted_content
from harness.api.http.dialects import FOUNDRY
from harness.api.operations import ITEM_LIST, Cursors, operation
from harness.api.pages import page
from harness.api.responses import filter_page, filter_stored_items
from harness.api.tokens import estimate_settings_tokens, make_usage
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import omit
from harness.ending import TurnLine, to_api_error
from harness.endpoints.model_run import ModelTurn, note_approvals, run_model, take_turn
from harness.faults import ends_early
from harness.faults.transmission import apply_faults
from harness.items.kind import Item
from harness.world.api_call import ApiCall
from harness.world.background import advance_pending, cancel_response, enqueue_response
from harness.world.store import PendingResponse
from harness.world.world import World


@operation("POST", "/responses", body="CreateResponse", answer="Response")
def create(call: ApiCall) -> Answer:
    """Run the model once: the next turn of the script, as one JSON object or as a stream of events."""
    prompt = call.prompt
    quotas = call.world.quotas
    if quotas is not None:  # before a turn is taken, so that a refused request leaves the script unchanged
        quotas.take(prompt, call.request.dialect, call.world.account.name, call.world.skipped_seconds)
    turn = take_turn(prompt, call)
    pending = run_model(prompt, turn, call.world, call.agent)
    note_approvals(prompt, turn, pending, call.world)
    answer = _build_answer(pending, prompt, turn, call.world)
    if quotas is not None:
        answer = answer._replace(headers={**answer.headers, **quotas.headers(prompt, call.request.dialect)})
    return answer


def _build_answer(pending: PendingResponse, prompt: Prompt, turn: ModelTurn, world: World) -> Answer:
    """Build the answer with a response, which is stored unless the request forbids it.

    A background response is queued; a stream is rendered to its end at once, background or not.
    """
    lines, has_faults = turn.played.lines, turn.played.has_faults
    if has_faults:
        pending = _discard_if_cut(pending, lines)
    answer = _build_whole(pending, prompt, turn.items, world)
    return apply_faults(answer, lines, world.gate) if has_faults else answer


def _build_whole(pending: PendingResponse, prompt: Prompt, items: Sequence[Item], world: World) -> Answer:
    ending, streams, background = pending.ending, prompt.body.get("stream"), prompt.body.get("background")
    # A client that waits for the whole response gets its failure as an error, not as a response; nothing is stored.
    if ending.status == "failed" and not streams and not background:
        error = to_api_error(ending.members["error"])
        return Answer(error.status, error.body(), expected=True)
    if background and not streams:
        return Answer(200, enqueue_response(world, pending))
    response = world.finish(pending)
    if streams:
        return _stream(response, prompt.body, items, world)
    return Answer(200, response)


def _stream(response: Json, body: Json, items: Sequence[Item], world: World) -> Answer:
    padded = (body.get("stream_options") or {}).get("include_obfuscation", True)
    background = bool(response.get("background"))
    events: Sequence[Json] = render_events(response, items=items, obfuscate=padded, background=background)
    events = items_of_day(events, world.as_of)
    if background:
        world.store.put_events(response["id"], events)
    return Answer(200, response, events=events)


def _discard_if_cut(pending: PendingResponse, lines: Sequence[TurnLine]) -> PendingResponse:
    """Discard a response whose answer may be cut: it ends with the connection, unless in the background (assumed)."""
    goes_on = not ends_early(lines) or pending.initial_response.get("background")
    return pending if goes_on else pending._replace(is_stored=False, conversation=None)


@operation("GET", "/responses/{response_id}", query="RetrieveResponse", answer="Response")
def retrieve(call: ApiCall) -> Answer:
    """Retrieve a stored response, or its stream again: the events after the number `starting_after`.

    A background response is advanced by one step first, unless the World is not `automatic`. Past its end a stream is
    empty.
    """
    id = call.params["response_id"]
    stored = call.store.responses[id]
    if call.query.get("stream"):
        events = stored.events or ()
        return Answer(200, stored.response, events=events[max(0, call.query.get("starting_after", -1) + 1) :])
    if call.world.automatic and id in call.store.pending:
        advance_pending(call.world, id)
    response = _reveal_included(call.store.responses[id].response, call.request, call.world)
    return Answer(200, with_billing(response, call.world.as_of))


def _reveal_included(response: Json, request: Request, world: World) -> Json:
    """Show a response with the hidden parts of its output that this request includes."""
    include = request.query.get("include")
    return (
        {**response, "output": filter_stored_items(response["output"], include, world.store.unfiltered_items)}
        if include
        else response
    )


@operation("POST", "/responses/{response_id}/cancel", answer="Response")
def cancel(call: ApiCall) -> Answer:
    """Cancel a background response in progress."""
    return Answer(200, cancel_response(call.world, call.params["response_id"]))


@operation("DELETE", "/responses/{response_id}", answer="ResponseDeleted")
def delete(call: ApiCall) -> Answer:
    """Delete a response; nothing can be chained to it any more."""
    id = call.params["response_id"]
    del call.store.responses[id]
    return Answer(200, {"id": id, "object": "response.deleted", "deleted": True})


@operation(
    "GET",
    "/responses/{response_id}/input_items",
    query="ListInputItems",
    answer="ResponseItemList",
    cursors=Cursors(
        "item",
        lambda request, world: [item.get("id") for item in world.store.responses[request.params["response_id"]].input],
        ITEM_LIST,
    ),
)
def list_input_items(call: ApiCall) -> Answer:
    """List the input items of a stored response, newest first unless `order=asc`."""
    stored = call.store.responses[call.params["response_id"]]
    return Answer(
        200, filter_page(page(stored.input, call.query), call.query.get("include", ()), call.store.unfiltered_items)
    )


@operation("POST", "/responses/compact", body="CompactResponse", answer="CompactedResponse")
def compact(call: ApiCall) -> Answer:
    """Compact a transcript: its user messages stay, everything else becomes one encrypted item.

    Recorded 2026-06-19: in a Foundry project system messages stay, too, unlike OpenAI's. The result is not stored: it
    is sent back as `input`, never named as `previous_response_id`, and another compaction gives its messages new ids.
    """
    body, transcript = call.members, call.transcript
    now = call.world.tick()
    id = call.world.ids.response(now, body.get("previous_response_id"))
    roles = ("system", "user") if call.request.dialect == FOUNDRY else ("user",)
    kept = [item for item in render_input_items(transcript.items) if item.get("role") in roles]
    unnamed = [item if item.get("id") in call.store.items else omit(item, "id") for item in kept]
    cmp_id = call.world.ids.item("cmp", id, now)
    rest = {
        "id": cmp_id,
        "type": "compaction",
        "encrypted_content": make_encrypted_content(ContentOwner(call.world.account.name, cmp_id), now),
    }
    made = {
        "id": id,
        "object": "response.compaction",
        "created_at": now,
        "output": [*call.world.add_item_ids(unnamed, id, now), rest],
        "usage": make_usage(estimate_settings_tokens(body) + transcript.tokens, [rest]),
    }
    return Answer(200, made)


@operation("POST", "/responses/input_tokens", body="InputTokenCount", answer="InputTokenCountResponse")
def count_input_tokens(call: ApiCall) -> Answer:
    """Count the tokens that the model would read, by the same estimate as for `usage`."""
    count = estimate_settings_tokens(call.members) + call.transcript.tokens
    return Answer(200, {"object": "response.input_tokens", "input_tokens": count})
