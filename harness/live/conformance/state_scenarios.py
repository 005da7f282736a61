"""Stories of what a server must remember and forget: chains, conversations, what runs in the background."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from harness.core.exchange import Json
from harness.live.client.http import Reply
from harness.live.conformance.scenario import (
    QUESTION,
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
    spoke,
    text_of,
    user,
    why,
)

BALLAST = "Remember this list of words: " + " ".join(f"{word} {n}" for n in range(100) for word in ("apple", "river"))
TURNS = (BALLAST + ". Answer with ok.", "How many lists did I give you? One word.", "Which word was first? One word.")
TWICE = 1.4
"""A history that costs so many times the tokens of the same one sent again has parts of it twice."""
PART = 0.6
"""One that costs less than this part lacks some of it."""
POLL = 0.2
"""Seconds between two looks at a response in the background."""
UNDER_WAY = ("queued", "in_progress")
DONE = ("cancelled", "completed")


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
    yield from _listed_once(server.ask(f"GET /responses/{previous}/input_items?order=asc&limit=100"))
    yield from _compared(*((each.get("usage") or {}).get("input_tokens") for each in (alone, chained, replayed)))


def _listed_once(reply: Reply) -> Iterator[Claim]:
    """What its input items say of the history; nothing where a server lists none."""
    if reply.taken and isinstance(reply.body, dict):
        asked = [text for text in _texts(reply.body, "user") if text in TURNS]
        yield equal("no part of it is listed twice", asked, list(dict.fromkeys(asked)))


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
    yield Claim("it does not say that it is stored", "it does" if made.get("store") is True else "")
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


def _texts(page: Json, *roles: str) -> list[str]:
    """The texts of a list of messages, of these roles or of all."""
    messages = items_of({"output": page.get("data")}, "message")
    return [text_of({"output": [item]}) for item in messages if not roles or item.get("role") in roles]


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
    while made.get("status") in UNDER_WAY and time.monotonic() < until:
        time.sleep(POLL)
        made = server.ask(f"GET /responses/{id_of(made)}").body or {}
    yield from spoke(made)


@scenario
def background_cancelled(server: Server) -> Story:
    """A response in the background can be cancelled until it is done."""
    made = yield from answered(server, {"input": QUESTION, "background": True})
    reply = server.ask(f"POST /responses/{id_of(made)}/cancel")
    ended = reply.body.get("status") in DONE if reply.taken and isinstance(reply.body, dict) else reply.status == 400
    yield Claim("it is cancelled, or was done before", "" if ended else why(reply))
    read = yield from got(server, f"GET /responses/{id_of(made)}")
    yield Claim("it has ended", "" if read.get("status") in DONE else f"it is {read.get('status')}")


@scenario
def background_streamed(server: Server) -> Story:
    """The stream of a response in the background can be read again, from where it broke off."""
    reply = server.ask("POST /responses", {"input": QUESTION, "background": True, "stream": True})
    events = reply.recorded.events
    yield Claim("it is answered by a stream", "" if events and reply.taken else why(reply))
    if not events or not reply.taken:
        return
    seen = len(events) // 2
    on = (
        f"GET /responses/{id_of(reply.body or {})}?stream=true&starting_after={events[seen - 1].get('sequence_number')}"
    )
    resumed = server.ask(on)
    rest = [event.get("type") for event in resumed.recorded.events or ()]
    yield equal("it goes on after the number that the client has", rest, [event.get("type") for event in events[seen:]])
