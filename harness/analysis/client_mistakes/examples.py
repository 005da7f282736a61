"""Building blocks of the examples: what a client sent and received, and when; times count from 100 s."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from harness.analysis.client_mistake import SeenClient
from harness.core.delivery import DISCONNECT_AT_END, Delivery, Pause, SendTimes
from harness.core.exchange import Answer, Exchange, Json, Request

BEGIN = 100.0
_RESPONSE = {"id": "resp_1", "object": "response", "status": "in_progress"}


class Sending(NamedTuple):
    """A request that arrived `at` seconds after `BEGIN`, its answer, and how much of the answer was sent."""

    at: float
    answer: Answer
    body: Json | None = None
    path: str = "/responses"
    query: Json | None = None
    headers: Json | None = None
    lasts: float = 0.01
    sent: int | None = None
    left: float | None = None
    read: int | None = None
    turn: bool = True


OK = Answer(200, {"id": "resp_1", "object": "response", "status": "completed"})


def refused(status: int, code: str | None = None, param: str | None = None, **headers: str) -> Answer:
    """Build a refusal; `retry_after="2"` sets the header `retry-after`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"error": {"message": "No.", "code": code, "param": param}}, named)


def streamed(count: int = 5, *, cut: bool = False, ended: bool = True, first: int = 0) -> Answer:
    """Build a stream of `count` events, sent from number `first` on; `cut` by the server, or not `ended` properly."""
    kinds = ["response.created"] + ["response.output_text.delta"] * (count - 2) + ["response.completed"]
    events: list[Json] = [
        {"type": kind, "sequence_number": number, "response": _RESPONSE} for number, kind in enumerate(kinds)
    ][first:]
    kept = events if ended and not cut else events[:-1]
    return Answer(200, _RESPONSE, events=kept, delivery=DISCONNECT_AT_END if cut else None)


def stalled(seconds: float, answer: Answer = OK) -> Answer:
    """Build an answer that begins after a delay of `seconds`."""
    return answer._replace(delivery=Delivery([Pause(seconds, after=0)]))


def seen(*rows: Sending, patience: float = 60.0) -> SeenClient:
    """Build the evidence of a client that sent these requests."""
    exchanges = [_exchange(number, row) for number, row in enumerate(rows, 1)]
    edge = {number: _times(row) for number, row in enumerate(rows, 1)}
    turns = frozenset(number for number, row in enumerate(rows, 1) if row.turn and row.path == "/responses")
    unread = {number: row.read for number, row in enumerate(rows, 1) if row.read is not None}
    return SeenClient(exchanges, edge, turns, patience, unread)


def _exchange(number: int, row: Sending) -> Exchange:
    parts: Sequence[str] = row.path.strip("/").split("/")
    params = {"response_id": parts[1]} if len(parts) > 1 else {}
    method = "GET" if len(parts) == 2 else "POST"
    body: Any = {"model": "gpt-4.1", "input": "hi"} | (row.body or {}) if row.path == "/responses" else row.body
    raw = orjson.dumps(body) if method == "POST" else b""
    template = row.path.replace(parts[1], "{response_id}") if params else row.path
    request = Request(method, row.path, row.headers or {}, row.query or {}, body, raw, params, f"{method} {template}")
    return Exchange(number, request, row.answer)


def _times(row: Sending) -> SendTimes:
    arrived, answer = BEGIN + row.at, row.answer
    last = arrived + (row.lasts if row.left is None else row.left)
    count = None if answer.events is None else len(answer.events)
    events = count if row.sent is None else row.sent
    whole = row.left is None and not answer.disconnection
    begun = answer.status > 0 and events != 0
    return SendTimes(
        arrived, last if begun else None, last if begun else None, events, 0, row.left, 1, whole=whole, ended=True
    )
