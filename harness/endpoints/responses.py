"""`/responses`: create, retrieve, cancel, delete, list the input items, compact and count."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.approval_ledger import concerns_approvals
from harness.answers.parameters import items_of_day
from harness.answers.response import add_billing, render_input_items
from harness.answers.stream import render_events
from harness.api.encrypted_content import ContentOwner, make_encrypted_content
from harness.api.include import filter_page, filter_stored_items
from harness.api.operations import ITEM_LIST, Cursors, operation
from harness.api.paging import page
from harness.api.tokens import make_usage
from harness.contract.check import drop_nulls
from harness.contract.rules.request.limits import exceeds_window
from harness.core.exchange import Answer, Json, Request
from harness.ending import TurnLine, failed, to_api_error
from harness.endpoints.create.model_run import read_turn, run_model
from harness.endpoints.create.prompt import Prompt, estimate_input_tokens, read_prompt
from harness.faults import ends_early
from harness.faults.broken_off import apply_faults
from harness.items.kind import Item
from harness.world.store import PendingResponse
from harness.world.world import World


@operation("POST", "/responses", body="CreateResponse", answer="Response")
def create(request: Request, world: World) -> Answer:
    """Run the model once: the next turn of the script, as one JSON object or as a stream of events.

    In the background the object is queued; a stream is rendered to its end at once, background or not.
    """
    body = drop_nulls(request.body)
    if body.get("stream") and exceeds_window(request, world):
        prompt = _read_prompt(request, body, world)
        said = read_turn(prompt, [failed("context_length_exceeded")], world)
        return _build_answer(run_model(prompt, said, world), prompt, (), world)
    lines, held = _next_turn(request, body, world)
    prompt = _read_prompt(request, body, world)
    said = read_turn(prompt, lines, world)
    run = run_model(prompt, said, world)
    if held:
        world.mcp_servers.hold_for_approval(run.output, held)
    if prompt.answers_approvals or (said.draft is None and concerns_approvals(run.output)):
        number = world.exchange_count + 1
        world.approval_ledger.add_exchange(number, run.previous, run.own_input, run.output)
    if said.has_faults:
        return apply_faults(_build_answer(_discard_if_cut(run, lines), prompt, said.items, world), lines, world.gate)
    return _build_answer(run, prompt, said.items, world)


def _build_answer(run: PendingResponse, prompt: Prompt, items: Sequence[Item], world: World) -> Answer:
    """The complete answer with a response, which is stored unless the request forbids it."""
    body = prompt.body
    ending, streams, background = run.ending, body.get("stream"), body.get("background")
    if ending.status == "failed" and not streams and not background:
        error = to_api_error(ending.members["error"])
        return Answer(error.status, error.body())
    if background and not streams:
        return Answer(200, world.enqueue(run))
    response = world.finish(run)
    if not streams:
        return Answer(200, add_billing(response, world.as_of))
    return _stream_answer(response, prompt, items, world)


def _discard_if_cut(run: PendingResponse, lines: Sequence[TurnLine]) -> PendingResponse:
    """A run whose answer may be cut: it counts as ended by who hangs up, unless it is made in the background (assumed)."""
    goes_on = not ends_early(lines) or run.initial_response.get("background")
    return run if goes_on else run._replace(is_stored=False, conversation=None)


def _next_turn(request: Request, body: Json, world: World) -> tuple[Sequence[TurnLine], Sequence[TurnLine]]:
    """The next turn of the script, with what the scripted MCP servers make of it, and what they hold back."""
    if not world.mcp_servers:
        return world.script.next(request, world), ()
    read = world.store.transcript(body).items
    return world.mcp_servers.plan_turn(body, read, lambda: world.script.next(request, world))


def _read_prompt(request: Request, body: Json, world: World) -> Prompt:
    """What the request asks, made once for a request that comes again and again."""
    if request.kept is None:
        return read_prompt(body, world)
    prompt: Prompt | None = request.kept.get("prompt")
    if prompt is None or not prompt.settings.hold_in(world):
        prompt = request.kept["prompt"] = read_prompt(body, world)
    return prompt


def _stream_answer(response: Json, prompt: Prompt, turn: Sequence[Item], world: World) -> Answer:
    padded = (prompt.body.get("stream_options") or {}).get("include_obfuscation", True)
    background = bool(response.get("background"))
    events: Sequence[Json] = render_events(response, items=turn, obfuscate=padded, background=background)
    events = items_of_day(events, world.as_of)
    if background:
        world.store.put_events(response["id"], events)
    return Answer(200, response, events=events)


@operation("GET", "/responses/{response_id}", query="RetrieveResponse", answer="Response")
def retrieve(request: Request, world: World) -> Answer:
    """A stored response as it stands, or its stream again: the events after the number `starting_after`.

    Reading a background response moves it on by one step first, unless the World is not `automatic`. A stream asked for
    past its end is empty.
    """
    id = request.params["response_id"]
    stored = world.store.responses[id]
    if request.query.get("stream"):
        events = stored.events or ()
        return Answer(200, stored.response, events=events[max(0, request.query.get("starting_after", -1) + 1) :])
    if world.automatic and id in world.store.pending:
        world.advance(id)
    return Answer(200, add_billing(_reveal_included(world.store.responses[id].response, request, world), world.as_of))


def _reveal_included(response: Json, request: Request, world: World) -> Json:
    """A response with what its output hid until it was included in this request."""
    include = request.query.get("include")
    return (
        {**response, "output": filter_stored_items(response["output"], include, world.store.unfiltered_items)}
        if include
        else response
    )


@operation("POST", "/responses/{response_id}/cancel", answer="Response")
def cancel(request: Request, world: World) -> Answer:
    """End a background response that is under way."""
    return Answer(200, world.cancel(request.params["response_id"]))


@operation("DELETE", "/responses/{response_id}", answer="ResponseDeleted")
def delete(request: Request, world: World) -> Answer:
    """Forget a response; nothing can be chained to it any more."""
    id = request.params["response_id"]
    del world.store.responses[id]
    return Answer(200, {"id": id, "object": "response.deleted", "deleted": True})


def _input_item_ids(request: Request, world: World) -> list[str | None]:
    return [item.get("id") for item in world.store.responses[request.params["response_id"]].input]


@operation(
    "GET",
    "/responses/{response_id}/input_items",
    query="ListInputItems",
    answer="ResponseItemList",
    cursors=Cursors("item", _input_item_ids, ITEM_LIST),
)
def list_input_items(request: Request, world: World) -> Answer:
    """The items that were the input of a stored response, newest first unless `order=asc`."""
    stored = world.store.responses[request.params["response_id"]]
    return Answer(
        200,
        filter_page(page(stored.input, request.query), request.query.get("include", ()), world.store.unfiltered_items),
    )


@operation("POST", "/responses/compact", body="CompactResponse", answer="CompactedResponse")
def compact(request: Request, world: World) -> Answer:
    """A transcript made short: its user messages as they are, and all the rest in one item that nobody can read.

    The result is not stored: it is sent back as `input`, never named as `previous_response_id`.
    """
    body = drop_nulls(request.body)
    transcript = world.store.transcript(body)
    now = world.tick()
    id = world.ids.response(now, body.get("previous_response_id"))
    users = [item for item in render_input_items({"input": transcript.items}) if item.get("role") == "user"]
    cmp_id = world.ids.item("cmp", id, now)
    rest = {
        "id": cmp_id,
        "type": "compaction",
        "encrypted_content": make_encrypted_content(ContentOwner(world.account.name, cmp_id), now),
    }
    made = {
        "id": id,
        "object": "response.compaction",
        "created_at": now,
        "output": [*world.add_item_ids(users, id, now), rest],
        "usage": make_usage(estimate_input_tokens(body, transcript), [rest]),
    }
    return Answer(200, made)


@operation("POST", "/responses/input_tokens", body="InputTokenCount", answer="InputTokenCountResponse")
def count_input_tokens(request: Request, world: World) -> Answer:
    """How many tokens the model would read, as the same estimate that `usage` gives."""
    body = drop_nulls(request.body)
    count = estimate_input_tokens(body, world.store.transcript(body))
    return Answer(200, {"object": "response.input_tokens", "input_tokens": count})
