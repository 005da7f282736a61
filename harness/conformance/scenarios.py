"""Stories of several requests: what a server must say, stream, remember and forget. Each tells claims, true or not."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema_rs

from harness.conformance.scenario import (
    Claim,
    Server,
    Story,
    answered,
    equal,
    got,
    id_of,
    items_of,
    refuses,
    scenario,
    short,
    spoke,
    text_of,
    user,
    why,
)
from harness.exchange import Json

QUESTION = "What is the capital of France? Answer in one word."
CITY: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER: Json = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": CITY,
    "strict": True,
}
CALLING: Json = {"input": "What is the weather in Paris?", "tools": [WEATHER], "tool_choice": "required"}
FORMAT: Json = {"text": {"format": {"type": "json_schema", "name": "city", "schema": CITY, "strict": True}}}
BALLAST = "Remember this list of words: " + " ".join(f"{word} {n}" for n in range(100) for word in ("apple", "river"))
TURNS = (BALLAST + ". Answer with ok.", "How many lists did I give you? One word.", "Which word was first? One word.")
TWICE = 1.4
"""A history that costs so many times the tokens of the same one sent again has parts of it twice."""
PART = 0.6
"""One that costs less than this part lacks some of it."""
POLL = 0.2
"""Seconds between two looks at a response in the background."""


@scenario
def text(server: Server) -> Story:
    """A question, an answer, and what it cost."""
    response = yield from answered(server, {"input": QUESTION})
    yield from spoke(response)
    usage = response.get("usage") or {}
    sums = usage.get("input_tokens", 0) + usage.get("output_tokens", 0) if usage else None
    yield (
        equal("its usage adds up", usage.get("total_tokens"), sums) if usage else Claim("it has usage", "it has none")
    )


@scenario
def stream(server: Server) -> Story:
    """The same as a stream: its deltas are the text of the response that it ends with."""
    yield from _streamed(server, {"input": QUESTION}, "response.output_text.delta", text_of)


@scenario
def tools_streamed(server: Server) -> Story:
    """A call as a stream: its deltas are the arguments."""
    yield from _streamed(server, CALLING, "response.function_call_arguments.delta", _arguments)


def _arguments(response: Json) -> str:
    return "".join(str(call.get("arguments")) for call in items_of(response, "function_call"))


def _streamed(server: Server, body: Json, delta: str, said: Callable[[Json], str]) -> Story:
    reply = server.ask("POST /responses", {**body, "stream": True})
    events = reply.recorded.events
    yield Claim("it is answered by a stream", "" if events and reply.taken else why(reply))
    if not events or not reply.taken:
        return
    ended = events[-1]
    yield equal("the last event is the end", ended.get("type"), "response.completed")
    final = reply.body if isinstance(reply.body, dict) else {}
    pieces = [str(event.get("delta")) for event in events if event.get("type") == delta]
    yield Claim("it has deltas", "" if pieces else f"it has no {delta}")
    yield equal("the deltas are what the response says", "".join(pieces), said(final))


@scenario
def tools(server: Server) -> Story:
    """A call that is required, answered by chain and by replay; one that is not answered is refused."""
    response = yield from answered(server, CALLING)
    calls = items_of(response, "function_call")
    yield Claim(
        "it calls the tool", "" if calls else f"its output is {[one.get('type') for one in response['output']]}"
    )
    if not calls:
        return
    call = calls[0]
    yield equal("the call names the tool", call.get("name"), WEATHER["name"])
    yield _fits("the arguments keep to the schema of the tool", call.get("arguments"))
    outputs = [{"type": "function_call_output", "call_id": one.get("call_id"), "output": "18 degrees"} for one in calls]
    asked = {"tools": [WEATHER]}
    chained = yield from answered(
        server, {**asked, "previous_response_id": id_of(response), "input": outputs}, "its output is taken by chain"
    )
    yield from spoke(chained)
    replayed = [user(CALLING["input"]), *response["output"], *outputs]
    yield from spoke((yield from answered(server, {**asked, "input": replayed}, "its output is taken by replay")))
    reply = server.ask("POST /responses", {**asked, "previous_response_id": id_of(response), "input": "Well?"})
    yield refuses("a chain that leaves it unanswered is refused", reply)


def _fits(claim: str, written: Any) -> Claim:
    try:
        jsonschema_rs.validate(CITY, json.loads(written))
    except (TypeError, ValueError) as problem:
        return Claim(claim, f"{short(written)}: {str(problem).partition(chr(10))[0]}")
    return Claim(claim)


@scenario
def structured_output(server: Server) -> Story:
    """An answer in a schema is JSON that keeps to it."""
    response = yield from answered(server, {"input": "The capital of France, as JSON.", **FORMAT})
    yield from spoke(response)
    yield _fits("the text keeps to the schema", text_of(response))


@scenario
def chain(server: Server) -> Story:
    """A response goes on from another one: it reads all that was said, once, and inherits no instructions."""
    first = yield from answered(server, {"input": QUESTION, "instructions": "Be brief."})
    second = yield from answered(
        server, {"input": "And of Spain?", "previous_response_id": id_of(first)}, "a chain is answered"
    )
    yield equal("it names what it goes on from", second.get("previous_response_id"), id_of(first))
    yield equal("instructions are not inherited", second.get("instructions"), None)
    yield Claim("it has an id of its own", "" if id_of(second) != id_of(first) else "both are the same")


@scenario
def history(server: Server) -> Story:
    """The third turn costs the same by chain as by replay: no part of the history is there twice, none is missing."""
    alone = yield from answered(server, {"input": "hi"})
    replayed, items, previous, chained = {}, list[Json](), None, {}
    for turn in TURNS:
        items.append(user(turn))
        replayed = yield from answered(server, {"input": items}, "the history is taken as items")
        items += replayed.get("output") or []
    for turn in TURNS:
        chained = yield from answered(
            server, {"input": turn, "previous_response_id": previous}, "the history is chained"
        )
        previous = id_of(chained)
    yield from _compared(*((each.get("usage") or {}).get("input_tokens") for each in (alone, chained, replayed)))


def _compared(alone: Any, chained: Any, replayed: Any) -> Iterator[Claim]:
    """What the tokens of three responses say of the history; nothing where a server counts none."""
    if not all(isinstance(cost, int) for cost in (alone, chained, replayed)) or replayed <= alone:
        return
    times = (chained - alone) / (replayed - alone)
    cost = f"its third turn reads {chained} tokens by chain, {replayed} by replay, {alone} are read by a turn alone"
    yield Claim("no part of a chained history is there twice", cost if times > TWICE else "")
    yield Claim("no part of a chained history is missing", cost if times < PART else "")


@scenario
def retrieve_and_delete(server: Server) -> Story:
    """A response can be read as it was made, until it is deleted."""
    made = yield from answered(server, {"input": QUESTION})
    on = f"/responses/{id_of(made)}"
    read = yield from got(server, f"GET {on}")
    for member in ("id", "status", "output", "model", "created_at"):
        yield equal(f"`{member}` is as it was", read.get(member), made.get(member))
    gone = yield from got(server, f"DELETE {on}")
    yield equal("it is deleted", (gone.get("id"), gone.get("deleted")), (id_of(made), True))
    yield equal("it cannot be read any more", server.ask(f"GET {on}").status, 404)
    chained = server.ask("POST /responses", {"input": "And?", "previous_response_id": id_of(made)})
    yield refuses("it cannot be chained to any more", chained)


@scenario
def not_stored(server: Server) -> Story:
    """A response that is not stored cannot be read, nor chained to."""
    made = yield from answered(server, {"input": QUESTION, "store": False})
    yield equal("it says that it is not stored", made.get("store"), False)
    yield equal("it cannot be read", server.ask(f"GET /responses/{id_of(made)}").status, 404)
    reply = server.ask("POST /responses", {"input": "And?", "previous_response_id": id_of(made)})
    yield refuses("it cannot be chained to", reply)


@scenario
def input_items_of_a_response(server: Server) -> Story:
    """What a response was asked is listed once, newest first unless it is asked otherwise."""
    texts = ["One.", "Two.", "Three."]
    made = yield from answered(server, {"input": [user(each) for each in texts]})
    on = f"GET /responses/{id_of(made)}/input_items"
    yield equal("newest first", _texts((yield from got(server, on))), texts[::-1])
    yield equal("in order", _texts((yield from got(server, f"{on}?order=asc"))), texts)
    page = yield from got(server, f"{on}?order=asc&limit=2")
    yield equal("a page has what it may", (_texts(page), page.get("has_more")), (texts[:2], True))
    rest = yield from got(server, f"{on}?order=asc&after={page.get('last_id')}")
    yield equal("the next page has the rest", (_texts(rest), rest.get("has_more")), (texts[2:], False))


def _texts(page: Json) -> list[str]:
    """The texts of a list of messages."""
    return [text_of({"output": [item]}) for item in items_of({"output": page.get("data")}, "message")]


@scenario
def conversation(server: Server) -> Story:
    """Where there are conversations: each holds what was said in it, once and in order."""
    if server.lacks("/conversations"):
        return
    made = yield from got(server, "POST /conversations", {}, "a conversation is made")
    said: list[str] = []
    for turn in (QUESTION, "And of Spain?"):
        response = yield from answered(server, {"input": turn, "conversation": id_of(made)}, "it is spoken in")
        yield equal("the response names it", response.get("conversation"), {"id": id_of(made)})
        said += [turn, text_of(response)]
    page = yield from got(server, f"GET /conversations/{id_of(made)}/items?order=asc")
    yield equal("its items are what was said", _texts(page), said)
    yield from got(server, f"DELETE /conversations/{id_of(made)}")
    yield equal("it is gone", server.ask(f"GET /conversations/{id_of(made)}").status, 404)


@scenario
def background(server: Server) -> Story:
    """A response in the background is there at once, and comes to its end."""
    made = yield from answered(server, {"input": QUESTION, "background": True})
    yield equal("it says so", made.get("background"), True)
    until = time.monotonic() + server.timeout
    while made.get("status") in ("queued", "in_progress") and time.monotonic() < until:
        time.sleep(POLL)
        made = server.ask(f"GET /responses/{id_of(made)}").body or {}
    yield from spoke(made)
