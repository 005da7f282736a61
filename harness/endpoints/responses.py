"""`/responses`: create, retrieve, cancel, delete, list the input items, compact and count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harness.analysis.approval_ledger import concerns_approvals
from harness.answers.parameters import apply_day, items_of_day
from harness.answers.response import PROMPT_TEMPLATE_MODEL, add_billing, build_initial_response, render_input_items
from harness.answers.stream import render_events
from harness.api.encrypted_content import ContentOwner, make_encrypted_content
from harness.api.include import filter_page, filter_stored_items
from harness.api.multi_agent import enables_agents
from harness.api.operations import ITEM_LIST, Cursors, operation
from harness.api.paging import page
from harness.api.resources.containers import CODE_CALL
from harness.api.tokens import TOKENS_PER_TOOL, estimate_tokens, make_usage
from harness.api.tools import declared_tools, namespace_of
from harness.contract.check import drop_nulls
from harness.contract.rules.request.limits import WINDOW_EXCEEDED, exceeds_window
from harness.core.delivery import Fault
from harness.core.exchange import Answer, Json, Request
from harness.ending import Ending, TurnLine, failed, incomplete, split_ending, to_api_error
from harness.endpoints import output_limits
from harness.faults import ends_early
from harness.faults.broken_off import apply_faults
from harness.items.agents import ROOT_AGENT, by_agent
from harness.items.history.transcript import Transcript, conversation_id
from harness.items.kind import Item, render_item
from harness.world.store import PendingResponse
from harness.world.world import World

MAX_TOKENS_MEMBERS = incomplete("max_output_tokens").members
"""What a response says that had to stop at `max_output_tokens`."""


@operation("POST", "/responses", body="CreateResponse", answer="Response")
def create(request: Request, world: World) -> Answer:
    """Run the model once: the next turn of the script, as one JSON object or as a stream of events.

    In the background the object is queued; a stream is rendered to its end at once, background or not.
    """
    body = drop_nulls(request.body)
    if body.get("stream") and exceeds_window(request, world):
        ending = failed("context_length_exceeded", WINDOW_EXCEEDED)
        return _build_answer(_run_model(body, [], ending, world), body, [], world)
    lines, held = _next_turn(request, body, world)
    items, ending = split_ending(lines)
    world.script.check_turn(body, items, ending, lambda: world.store.transcript(body).items)
    run = _run_model(body, items, ending, world)
    _record_approvals(run, held, world)
    if lines and isinstance(lines[-1], Fault):
        return apply_faults(_build_answer(_discard_if_cut(run, lines), body, items, world), lines, world.gate)
    return _build_answer(run, body, items, world)


def _build_answer(run: PendingResponse, body: Json, items: Sequence[Item], world: World) -> Answer:
    """The complete answer with a response, which is stored unless the request forbids it."""
    ending, streams, background = run.ending, body.get("stream"), body.get("background")
    if ending.status == "failed" and not streams and not background:
        error = to_api_error(ending.members["error"])
        return Answer(error.status, error.body())
    if background and not streams:
        return Answer(200, world.enqueue(run))
    response = world.finish(run)
    return _stream_answer(response, body, items, world) if streams else Answer(200, add_billing(response, world.as_of))


def _discard_if_cut(run: PendingResponse, lines: Sequence[TurnLine]) -> PendingResponse:
    """A run whose answer may be cut: it counts as ended by who hangs up, unless it is made in the background (assumed)."""
    goes_on = not ends_early(lines) or run.initial_response.get("background")
    return run if goes_on else run._replace(is_stored=False, conversation=None)


def _next_turn(request: Request, body: Json, world: World) -> tuple[Sequence[TurnLine], Sequence[TurnLine]]:
    """The next turn of the script, with what the scripted MCP servers make of it, and what they hold back."""
    asked = Request(*request[:-1], world)  # as `_replace` does, in a third of the time
    if not world.mcp_servers:
        return world.script.next(asked), ()
    return world.mcp_servers.plan_turn(body, world.store.transcript(body).items, lambda: world.script.next(asked))


def _record_approvals(run: PendingResponse, held: Sequence[TurnLine], world: World) -> None:
    """Write approvals and their calls into the ledger; the exchange is the next of the journal."""
    if held:
        world.mcp_servers.hold_for_approval(run.output, held)
    if concerns_approvals(run.own_input, run.output):
        world.approval_ledger.add_exchange(world.exchange_count + 1, run.previous, run.own_input, run.output)


def _run_model(body: Json, turn: Sequence[Item], ending: Ending, world: World) -> PendingResponse:
    transcript = world.store.transcript(body)
    conversation = conversation_id(body)
    searched = transcript.items_from_first("tool_search_output")
    now = world.tick()
    id = world.ids.response(now, body.get("previous_response_id"))
    started = build_initial_response(body, id, now, conversation=conversation, items=searched, models=world.models)
    family = world.models.defaults(body.get("model") or PROMPT_TEMPLATE_MODEL)
    apply_day(started, body, family, world.as_of)
    limit = body.get("max_output_tokens")
    is_text = not (enables_agents(body) or [True for item in turn if not item.is_text])
    placed = turn if is_text else _place_calls(_name_agents(turn, body), body, transcript, world)
    output_items = [render_item(item, world.ids, id, now) for item in placed]
    if not is_text:
        output_items = [_add_namespace(item, body, searched) for item in output_items]
    if limit is not None:
        output_items, ending = output_limits.limit_output(output_items, ending, limit)
    if ending.status != "completed":
        output_items[-1:] = [_mark_incomplete(item) for item in output_items[-1:]]
    output = output_items if is_text else _complete_output(output_items, body, family.encrypts, now, world)
    is_stored = bool(started.get("background")) or not (started["store"] is False or world.account.zdr)
    spent = limit if ending.members == MAX_TOKENS_MEMBERS else None
    return PendingResponse(
        started,
        items_of_day(output, world.as_of),
        _make_usage(body, transcript, output, spent, started, world),
        world.add_item_ids(render_input_items({"input": transcript.added}), id, now),
        transcript.stored,
        conversation,
        is_stored,
        ending,
    )


def _complete_output(items: Sequence[Json], body: Json, encrypts: bool, now: int, world: World) -> list[Json]:
    """Output with its encrypted content, as the request includes it; its containers are made."""
    include = body.get("include") or ()
    encrypted = "reasoning.encrypted_content" in include or encrypts
    output = world.apply_include(world.add_encrypted_content(items, encrypted, now), include)
    _note_containers(body, output, world)
    return output


def _name_agents(turn: Sequence[Item], body: Json) -> Sequence[Item]:
    """The items of a response with agents: each has its agent, a message its phase (assumed: that of a final answer)."""
    if not enables_agents(body):
        return turn
    named = [item if "agent" in item.members else by_agent(ROOT_AGENT, item) for item in turn]
    return [
        replace(item, members={**item.members, "phase": "final_answer"})
        if item.type == "message" and "phase" not in item.members
        else item
        for item in named
    ]


def _place_calls(turn: Sequence[Item], body: Json, transcript: Transcript, world: World) -> list[Item]:
    """The items with the container in which their code runs: one for all calls of a response that name none."""
    if not [True for item in turn if item.type == CODE_CALL and item.members["container_id"] is None]:
        return list(turn)
    id = world.containers.of_next_call(body.get("tools") or (), transcript.items_from_first(CODE_CALL))
    return [
        replace(item, members={**item.members, "container_id": id})
        if item.type == CODE_CALL and item.members["container_id"] is None
        else item
        for item in turn
    ]


def _note_containers(body: Json, output: Sequence[Json], world: World) -> None:
    """Make the containers and files that the output names, with copies of the files that the tool brings along."""
    declared = [tool.get("container") for tool in body.get("tools") or () if tool["type"] == "code_interpreter"]
    settings: Json = next((each for each in declared if isinstance(each, dict)), {}) if declared else {}
    for id in world.containers.note_output(output, settings):
        for file in [file for id in settings.get("file_ids") or () if (file := world.uploads.file(id))]:
            world.copy_to_container(id, file)


def _make_usage(
    body: Json, transcript: Transcript, output: Sequence[Json], spent: int | None, started: Json, world: World
) -> Json:
    """The usage of a response; without a script also what the model has reasoned and found in its cache."""
    tokens = _count_input_tokens(body, transcript)
    if world.script.is_scripted:
        return make_usage(tokens, output, spent)
    previous = world.store.responses.get(body.get("previous_response_id") or "")
    cached = world.prompt_cache.read(body, tokens, previous and previous.response)
    effort = transcript.effort or started["reasoning"]["effort"]
    if spent is not None or body.get("max_output_tokens") is not None:
        effort = None
    return make_usage(tokens, output, spent, cached=cached, effort=effort)


def _mark_incomplete(item: Json) -> Json:
    """The last item of a response that did not complete; marked where its kind has a status."""
    return {**item, "status": "incomplete"} if item.get("status") == "completed" else item


def _add_namespace(item: Json, body: Json, read: Sequence[Json]) -> Json:
    """A call as the model makes it: in the namespace of its function, whether the script names that or not."""
    if item["type"] != "function_call" or "namespace" in item:
        return item
    space = namespace_of(item["name"], declared_tools(body), read)
    return {**item, "namespace": space} if space else item


def _stream_answer(response: Json, body: Json, turn: Sequence[Item], world: World) -> Answer:
    padded = (body.get("stream_options") or {}).get("include_obfuscation", True)
    background = bool(response.get("background"))
    events: Sequence[Json] = render_events(response, items=turn, obfuscate=padded, background=background)
    events = items_of_day(events, world.as_of)
    if background:
        world.store.put_events(response["id"], events)
    return Answer(200, response, events=events)


def _count_input_tokens(body: Json, transcript: Transcript) -> int:
    instructions, tools = body.get("instructions"), body.get("tools") or ()
    own = estimate_tokens([{"text": instructions}]) if instructions else 0
    return own + transcript.tokens + TOKENS_PER_TOOL * len(tools)


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
        "usage": make_usage(_count_input_tokens(body, transcript), [rest]),
    }
    return Answer(200, made)


@operation("POST", "/responses/input_tokens", body="InputTokenCount", answer="InputTokenCountResponse")
def count_input_tokens(request: Request, world: World) -> Answer:
    """How many tokens the model would read, as the same estimate that `usage` gives."""
    body = drop_nulls(request.body)
    count = _count_input_tokens(body, world.store.transcript(body))
    return Answer(200, {"object": "response.input_tokens", "input_tokens": count})
