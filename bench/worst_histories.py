"""Histories made to be expensive: chains, conversations, lists, and journals whose losses a failing test reads."""

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

from bench.worst_bodies import HEADERS, KEY, Build, Load, open_api, send, tool
from harness.core.exchange import Json, ReceivedRequest, Request
from harness.items import function_call, message, url_citation
from harness.items.kind import Item
from harness.report.judge_world import judge_world
from harness.server.mock_api import MockApi

Turn = Callable[[int], list[Item]]
TURN_BYTES = 400
"""The approximate number of bytes of a turn in a request."""


def numbered(turn: Turn) -> Callable[[Request], list[Item]]:
    numbers = count()
    return lambda request: turn(next(numbers))


def same(number: int) -> list[Item]:
    return [message("Hello. This is small talk.")]


def unique(number: int) -> list[Item]:
    return [message(f"Answer {number} is that {number * 7919} comes before {number * 104729}.")]


def cited(number: int) -> list[Item]:
    text = f"As source {number} says, it rains."
    return [message(text, annotations=[url_citation(f"https://e.x/{number}", "t", 0, 5)])]


def called(number: int) -> list[Item]:
    return [function_call("tool_0", {"n": number})] if number % 2 == 0 else unique(number)


def follow(api: MockApi, turns: int) -> Iterator[Json]:
    """Yield the bodies of a chain, each continuing the previous response; the caller must send them."""
    previous: Json = {}
    for number in range(turns):
        body = {"model": "gpt-4.1", "input": f"question {number}"} | previous
        yield body
        previous = {"previous_response_id": _last(api)["id"]}


def _last(api: MockApi) -> Any:
    return api.worlds[KEY].exchanges[-1].answer.body


def chain(size: int) -> Load:
    """Build the last turn of a chain, for which the client sends few bytes; `size` is the size of the chain."""
    api = open_api()
    for body in follow(api, size // TURN_BYTES):
        send(api, body)
    last = {"model": "gpt-4.1", "input": "and?", "previous_response_id": _last(api)["id"]}
    return Load(size, lambda: send(api, last))


def conversation(size: int) -> Load:
    """Build a turn of a conversation with many items."""
    api = open_api()
    _, made = send(api, {}, "/v1/conversations")
    for _ in range(size // TURN_BYTES // 10):
        items = [{"type": "message", "role": "user", "content": f"question {i}"} for i in range(20)]
        send(api, {"items": items}, f"/v1/conversations/{made.body['id']}/items")
    path = f"/v1/conversations/{made.body['id']}/items"
    return Load(
        size,
        lambda: (
            send(api, {"model": "gpt-4.1", "input": "and?", "conversation": made.body["id"]}),
            api.handle(ReceivedRequest("GET", path, HEADERS, {"limit": "100"})),
        ),
    )


def input_list(size: int) -> Load:
    """Build a request for a page of a response's input items."""
    api = open_api()
    sent, made = send(api, {"model": "gpt-4.1", "input": [{"role": "user", "content": "x"}] * (size // 35)})
    path = f"/v1/responses/{made.body['id']}/input_items"
    return Load(sent, lambda: api.handle(ReceivedRequest("GET", path, HEADERS, {"limit": "100"})))


def replay(turn: Turn, *, judge: bool = False, echo: bool = True) -> Build:
    """Compute the losses of a journal whose requests replay everything; with `echo` False, only the user messages."""

    def build(size: int) -> Load:
        turns = max(4, int((2 * size / TURN_BYTES) ** 0.5))
        api, history, sent = open_api(numbered(turn)), list[Json](), 0
        for number in range(turns):
            history.append({"role": "user", "content": f"question {number}"})
            taken, answer = send(api, {"model": "gpt-4.1", "input": history, "tools": [tool(0)]})
            sent += taken
            output = answer.body["output"]
            history += output if echo else []
            history += [
                {"type": "function_call_output", "call_id": item["call_id"], "output": f"result {number}"}
                for item in output
                if item["type"] == "function_call"
            ]
        mock = api.open(KEY)
        return Load(sent, (lambda: judge_world(mock)) if judge else (lambda: mock.losses))

    return build


def chained(turn: Turn, *, judge: bool = False) -> Build:
    """Compute the losses of a journal that is one chain."""

    def build(size: int) -> Load:
        api, sent = open_api(numbered(turn)), 0
        for body in follow(api, size // TURN_BYTES):
            sent += send(api, body)[0]
        mock = api.open(KEY)
        return Load(sent, (lambda: judge_world(mock)) if judge else (lambda: mock.losses))

    return build


def forked(size: int) -> Load:
    """Compute the losses of a journal with a chain, and as many requests that each continue its last response."""
    api, sent = open_api(numbered(unique)), 0
    for body in follow(api, size // TURN_BYTES // 2):
        sent += send(api, body)[0]
    last = _last(api)["id"]
    for number in range(size // TURN_BYTES // 2):
        sent += send(api, {"model": "gpt-4.1", "input": f"branch {number}", "previous_response_id": last})[0]
    mock = api.open(KEY)
    return Load(sent, lambda: mock.losses)


def separate(turn: Turn) -> Build:
    """Compute the losses of a journal of unrelated questions."""

    def build(size: int) -> Load:
        api, sent = open_api(numbered(turn)), 0
        for number in range(size // TURN_BYTES):
            sent += send(api, {"model": "gpt-4.1", "input": f"question {number}"})[0]
        mock = api.open(KEY)
        return Load(sent, lambda: mock.losses)

    return build


HISTORIES: Mapping[str, Build] = {
    "chain, its last turn": chain,
    "conversation, its last turn": conversation,
    "list of input items": input_list,
    "losses: replayed small talk": replay(same),
    "losses: replayed answers": replay(unique),
    "losses: replayed citations": replay(cited),
    "losses: replayed calls": replay(called),
    "losses: answers that are gone": replay(unique, echo=False),
    "losses: a chain": chained(unique),
    "losses: branches of a chain": forked,
    "losses: separate questions": separate(unique),
    "losses: separate small talk": separate(same),
    "a failing test: replayed": replay(unique, judge=True),
    "a failing test: a chain": chained(unique, judge=True),
}
