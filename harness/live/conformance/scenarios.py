"""Scenarios about a server: its answers and streams, then what it stores and deletes (chains, conversations, background)."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from harness.api.responses import PENDING_STATUSES, SOCKET
from harness.contract.compile_schema import compile_schema
from harness.core.advice_wording import render_json
from harness.core.exchange import Json
from harness.core.json_values import as_object
from harness.live.conformance.scenario import (
    QUESTION,
    Claim,
    ScenarioClaims,
    ScenarioStep,
    ServerUnderTest,
    claim_completed_text,
    claim_equal,
    claim_refused,
    explain_failure,
    id_of,
    items_of,
    require_answer,
    require_response,
    scenario,
    text_of,
    user_message,
)
from harness.live.http import ServerReply

CITY_SCHEMA: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER_TOOL: Json = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": CITY_SCHEMA,
    "strict": True,
}
WEATHER_REQUEST: Json = {"input": "What is the weather in Paris?", "tools": [WEATHER_TOOL], "tool_choice": "required"}
CITY_FORMAT: Json = {"text": {"format": {"type": "json_schema", "name": "city", "schema": CITY_SCHEMA, "strict": True}}}
RUN_TOOL: Json = {"type": "custom", "name": "run", "description": "Runs a command."}
RUN_REQUEST: Json = {"input": "Run make.", "tools": [RUN_TOOL], "tool_choice": {"type": "custom", "name": "run"}}


@scenario
def text(server: ServerUnderTest) -> ScenarioClaims:
    """Check that a request is answered with text and usage."""
    response = yield from require_response(server, {"input": QUESTION})
    yield from claim_completed_text(response)
    usage = response.get("usage") or {}
    sums = usage.get("input_tokens", 0) + usage.get("output_tokens", 0) if usage else None
    has_none = Claim("it has usage", "it has none")
    yield claim_equal("its usage adds up", usage.get("total_tokens"), sums) if usage else has_none


@scenario
def stream(server: ServerUnderTest) -> ScenarioClaims:
    """Check that the deltas of a stream add up to the text of the response in its last event."""
    yield from _claim_streamed(server, {"input": QUESTION}, "response.output_text.delta", text_of)


@scenario
def tools_streamed(server: ServerUnderTest) -> ScenarioClaims:
    """Check that the deltas of a streamed function call add up to its arguments."""
    yield from _claim_streamed(
        server, WEATHER_REQUEST, "response.function_call_arguments.delta", _call_text_reader("function", "arguments")
    )


@scenario
def custom_tool_streamed(server: ServerUnderTest) -> ScenarioClaims:
    """Check that the deltas of a streamed custom tool call add up to its input."""
    yield from _claim_streamed(
        server, RUN_REQUEST, "response.custom_tool_call_input.delta", _call_text_reader("custom_tool", "input")
    )


def _call_text_reader(kind: str, member: str) -> Callable[[Json], str]:
    return lambda response: "".join(str(call.get(member)) for call in items_of(response, f"{kind}_call"))


def _claim_streamed(server: ServerUnderTest, body: Json, delta: str, text_in: Callable[[Json], str]) -> ScenarioClaims:
    yield from _claim_deltas(server.send("POST /responses", {**body, "stream": True}), delta, text_in)


def _claim_deltas(reply: ServerReply, delta: str, text_in: Callable[[Json], str]) -> ScenarioClaims:
    events = reply.recorded.events
    yield Claim("it is answered by a stream", "" if events and reply.is_accepted else explain_failure(reply))
    if not events or not reply.is_accepted:
        return
    ended = events[-1]
    yield claim_equal("the last event ends the response", ended.get("type"), "response.completed")
    final = as_object(reply.body)
    pieces = [str(event.get("delta")) for event in events if event.get("type") == delta]
    yield Claim("it has deltas", "" if pieces else f"it has no {delta}")
    yield claim_equal("the deltas add up to the response", "".join(pieces), text_in(final))


@scenario
def tools(server: ServerUnderTest) -> ScenarioClaims:
    """Check that a required call is made, its output accepted by chain and by replay, and a chain without it refused."""
    response, calls = yield from _require_calls(server, WEATHER_REQUEST, "function_call", WEATHER_TOOL["name"])
    for call in calls[:1]:
        yield _claim_matches_schema("the arguments keep to the schema of the tool", call.get("arguments"))
        yield from _claim_outputs_accepted(server, WEATHER_REQUEST, response, "18 degrees")


@scenario
def custom_tool(server: ServerUnderTest) -> ScenarioClaims:
    """Check that a required custom tool call is made, and its output accepted by chain and by replay."""
    response, calls = yield from _require_calls(server, RUN_REQUEST, "custom_tool_call", RUN_TOOL["name"])
    for call in calls[:1]:
        yield Claim(
            "its input is a text", "" if isinstance(call.get("input"), str) else render_json(call.get("input"), 120)
        )
        yield from _claim_outputs_accepted(server, RUN_REQUEST, response, "ok")


def _require_calls(server: ServerUnderTest, request: Json, kind: str, name: str) -> ScenarioStep:
    """Send a request that requires calls; yield the claims about the response, and return it with its calls."""
    response = yield from require_response(server, request)
    calls = items_of(response, kind)
    output_types = [item.get("type") for item in response["output"]]
    yield Claim("it calls the tool", "" if calls else f"its output is {output_types}")
    for call in calls[:1]:
        yield claim_equal("the call names the tool", call.get("name"), name)
    return response, calls


def _claim_outputs_accepted(server: ServerUnderTest, request: Json, response: Json, output: str) -> ScenarioClaims:
    calls = [item for item in response["output"] if str(item.get("type")).endswith("_call")]
    outputs = [{"type": f"{call['type']}_output", "call_id": call.get("call_id"), "output": output} for call in calls]
    again, chained = {"tools": request["tools"]}, {"previous_response_id": id_of(response)}
    reply = yield from require_response(
        server, {**again, **chained, "input": outputs}, "its output is accepted in a chain"
    )
    yield from claim_completed_text(reply)
    replayed = [user_message(request["input"]), *response["output"], *outputs]
    reply = yield from require_response(server, {**again, "input": replayed}, "its output is accepted in a replay")
    yield from claim_completed_text(reply)
    unanswered = server.send("POST /responses", {**again, **chained, "input": "Well?"})
    yield claim_refused("a chain that leaves it unanswered is refused", unanswered)


def _claim_matches_schema(claim: str, written: Any) -> Claim:
    try:
        compile_schema(CITY_SCHEMA).validate(json.loads(written))
    except (TypeError, ValueError) as problem:
        return Claim(claim, f"{render_json(written, 120)}: {str(problem).partition(chr(10))[0]}")
    return Claim(claim)


@scenario
def structured_output(server: ServerUnderTest) -> ScenarioClaims:
    """Check that the text of a structured output is JSON that matches its schema."""
    response = yield from require_response(server, {"input": "The capital of France, as JSON.", **CITY_FORMAT})
    yield from claim_completed_text(response)
    yield _claim_matches_schema("the text keeps to the schema", text_of(response))


@scenario
def websocket(server: ServerUnderTest) -> ScenarioClaims:
    """WebSocket mode, if the server has it: a connection continues its last response, stored or not."""
    if server.lacks(SOCKET):
        return
    alone = {"input": QUESTION, "store": False}
    with server.connected() as send:
        first = send(alone)
        yield from _claim_deltas(first, "response.output_text.delta", text_of)
        yield claim_refused("a request is refused as over HTTP", send({"input": QUESTION, "temperature": 9}))
        goes_on = {**alone, "previous_response_id": id_of(first.body or {})}
        with server.connected() as elsewhere:
            yield claim_refused("what is not stored is not known to another connection", elsewhere(goes_on))
        second = send(goes_on)
        yield Claim("after a refusal the connection can go on", "" if second.is_accepted else explain_failure(second))


LONG_TEXT = "Remember this list of words: " + " ".join(f"{word} {n}" for n in range(100) for word in ("apple", "river"))
HISTORY_TURNS = (
    LONG_TEXT + ". Answer with ok.",
    "How many lists did I give you? One word.",
    "Which word was first? One word.",
)
DUPLICATE_RATIO = 1.4
"""A chained history that costs more than this multiple of the replayed one's tokens contains parts twice."""
MISSING_RATIO = 0.6
"""A chained history that costs less than this share of the replayed one's tokens lacks parts."""
POLL_SECONDS = 0.2
"""Seconds between two polls of a background response."""
AFTER_CANCEL = ("cancelled", "completed")


@scenario
def chain(server: ServerUnderTest) -> ScenarioClaims:
    """Check that `previous_response_id` continues a response, with a new id and without the instructions of the first."""
    first = yield from require_response(server, {"input": QUESTION, "instructions": "Be brief."})
    second = yield from require_response(
        server, {"input": "And of Spain?", "previous_response_id": id_of(first)}, "a chain is answered"
    )
    yield claim_equal("it names the response that it continues", second.get("previous_response_id"), id_of(first))
    yield claim_equal("instructions are not inherited", second.get("instructions"), None)
    yield Claim("it has an id of its own", "" if id_of(second) != id_of(first) else "both are the same")


@scenario
def history(server: ServerUnderTest) -> ScenarioClaims:
    """Check that the third turn costs as much by chain as by replay, so no part of the history is duplicated or missing."""
    alone = yield from require_response(server, {"input": "hi"})
    replayed, items, previous, chained = {}, list[Json](), None, {}
    for turn in HISTORY_TURNS:
        items.append(user_message(turn))
        replayed = yield from require_response(server, {"input": items}, "the history is accepted as items")
        items += replayed.get("output") or []
    for turn in HISTORY_TURNS:
        chained = yield from require_response(
            server, {"input": turn, "previous_response_id": previous}, "the history is chained"
        )
        previous = id_of(chained)
    yield from _claim_listed_once(server.send(f"GET /responses/{previous}/input_items?order=asc&limit=100"))
    costs = ((answer.get("usage") or {}).get("input_tokens") for answer in (alone, chained, replayed))
    yield from _claim_token_costs(*costs)


def _claim_listed_once(reply: ServerReply) -> Iterator[Claim]:
    """Claim that the input items of a chain are listed once; no claim if the server lists no items."""
    if reply.is_accepted and isinstance(reply.body, dict):
        turns = [text for text in _message_texts(reply.body, "user") if text in HISTORY_TURNS]
        yield claim_equal("no part of it is listed twice", turns, list(dict.fromkeys(turns)))


def _claim_token_costs(alone: Any, chained: Any, replayed: Any) -> Iterator[Claim]:
    """Compare the input tokens of three responses; no claim if the server counts no tokens."""
    if not all(isinstance(cost, int) for cost in (alone, chained, replayed)) or replayed <= alone:
        return
    times = (chained - alone) / (replayed - alone)
    cost = f"its third turn reads {chained} tokens by chain, {replayed} by replay, {alone} are read by a turn alone"
    yield Claim("no part of a chained history is duplicated", cost if times > DUPLICATE_RATIO else "")
    yield Claim("no part of a chained history is missing", cost if times < MISSING_RATIO else "")


@scenario
def retrieve_and_delete(server: ServerUnderTest) -> ScenarioClaims:
    """Check that a response can be retrieved unchanged until it is deleted."""
    made = yield from require_response(server, {"input": QUESTION})
    on = f"/responses/{id_of(made)}"
    read = yield from require_answer(server, f"GET {on}")
    for member in ("id", "status", "output", "model", "created_at"):
        yield claim_equal(f"`{member}` is as it was", read.get(member), made.get(member))
    gone = yield from require_answer(server, f"DELETE {on}")
    yield claim_equal("it is deleted", (gone.get("id"), gone.get("deleted")), (id_of(made), True))
    yield claim_equal("it cannot be read any more", server.send(f"GET {on}").status, 404)
    chained = server.send("POST /responses", {"input": "And?", "previous_response_id": id_of(made)})
    yield claim_refused("it cannot be chained to any more", chained)


@scenario
def not_stored(server: ServerUnderTest) -> ScenarioClaims:
    """Check that a response that is not stored can be neither retrieved nor continued."""
    made = yield from require_response(server, {"input": QUESTION, "store": False})
    yield Claim("it does not say that it is stored", "it does" if made.get("store") is True else "")
    yield claim_equal("it cannot be read", server.send(f"GET /responses/{id_of(made)}").status, 404)
    reply = server.send("POST /responses", {"input": "And?", "previous_response_id": id_of(made)})
    yield claim_refused("it cannot be chained to", reply)


@scenario
def input_items_of_a_response(server: ServerUnderTest) -> ScenarioClaims:
    """Check that the input items of a response are listed once each, newest first by default, in pages."""
    texts = ["One.", "Two.", "Three."]
    made = yield from require_response(server, {"input": [user_message(text) for text in texts]})
    on = f"GET /responses/{id_of(made)}/input_items"
    yield claim_equal("newest first", _message_texts((yield from require_answer(server, on))), texts[::-1])
    yield claim_equal("in order", _message_texts((yield from require_answer(server, f"{on}?order=asc"))), texts)
    page = yield from require_answer(server, f"{on}?order=asc&limit=2")
    yield claim_equal(
        "a page has no more than its limit", (_message_texts(page), page.get("has_more")), (texts[:2], True)
    )
    rest = yield from require_answer(server, f"{on}?order=asc&after={page.get('last_id')}")
    yield claim_equal("the next page has the rest", (_message_texts(rest), rest.get("has_more")), (texts[2:], False))


def _message_texts(page: Json, *roles: str) -> list[str]:
    """List the texts of the listed messages with these roles, or with any."""
    messages = items_of({"output": page.get("data")}, "message")
    return [text_of({"output": [item]}) for item in messages if not roles or item.get("role") in roles]


@scenario
def conversation(server: ServerUnderTest) -> ScenarioClaims:
    """Check that a conversation, if the server has them, contains all messages once and in order, until it is deleted."""
    if server.lacks("/conversations"):
        return
    made = yield from require_answer(server, "POST /conversations", {}, "a conversation is made")
    texts: list[str] = []
    for turn in (QUESTION, "And of Spain?"):
        response = yield from require_response(server, {"input": turn, "conversation": id_of(made)}, "it is spoken in")
        yield claim_equal("the response names it", response.get("conversation"), {"id": id_of(made)})
        texts += [turn, text_of(response)]
    page = yield from require_answer(server, f"GET /conversations/{id_of(made)}/items?order=asc")
    yield claim_equal("its items are those of the conversation", _message_texts(page), texts)
    yield from require_answer(server, f"DELETE /conversations/{id_of(made)}")
    yield claim_equal("it is gone", server.send(f"GET /conversations/{id_of(made)}").status, 404)


@scenario
def background(server: ServerUnderTest) -> ScenarioClaims:
    """Check that a background response exists immediately and is completed later."""
    made = yield from require_response(server, {"input": QUESTION, "background": True})
    yield claim_equal("it says so", made.get("background"), True)
    until = time.monotonic() + server.timeout
    while made.get("status") in PENDING_STATUSES and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
        made = server.send(f"GET /responses/{id_of(made)}").body or {}
    yield from claim_completed_text(made)


@scenario
def background_cancelled(server: ServerUnderTest) -> ScenarioClaims:
    """Check that a background response can be cancelled until it has ended."""
    made = yield from require_response(server, {"input": QUESTION, "background": True})
    reply = server.send(f"POST /responses/{id_of(made)}/cancel")
    is_cancelled = reply.is_accepted and as_object(reply.body).get("status") in AFTER_CANCEL
    has_ended = is_cancelled or reply.status == 400
    yield Claim("it is cancelled, or was done before", "" if has_ended else explain_failure(reply))
    read = yield from require_answer(server, f"GET /responses/{id_of(made)}")
    yield Claim("it has ended", "" if read.get("status") in AFTER_CANCEL else f"it is {read.get('status')}")


@scenario
def background_streamed(server: ServerUnderTest) -> ScenarioClaims:
    """Check that the stream of a background response can be resumed after any event."""
    reply = server.send("POST /responses", {"input": QUESTION, "background": True, "stream": True})
    events = reply.recorded.events
    yield Claim("it is answered by a stream", "" if events and reply.is_accepted else explain_failure(reply))
    if not events or not reply.is_accepted:
        return
    seen = len(events) // 2
    number = events[seen - 1].get("sequence_number")
    resumed = server.send(f"GET /responses/{id_of(reply.body or {})}?stream=true&starting_after={number}")
    rest, due = ([event.get("type") for event in sent] for sent in (resumed.recorded.events or (), events[seen:]))
    yield claim_equal("it resumes after the number that the client has", rest, due)
