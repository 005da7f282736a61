"""Finds the requests in a journal that were sent again after a failure, and how long after it.

A retry is what the API would take for one: the same operation, by the same client, of which the model reads the same.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from harness.analysis.lanes import INSTRUCTION_ROLES, asks_model
from harness.answers.writer import ResponseEvents
from harness.api.responses import CREATE_EVENT, END_EVENTS
from harness.core.delivery import SendTimes
from harness.core.exchange import Exchange, Json, Request, answer_error
from harness.core.json_values import as_object, as_string, omit

MOST_LATE = 0.02
"""Tolerance in seconds: a retry may arrive before the end of the failed answer has been recorded."""
ERROR_EVENT = "error"
"""The event that ends a stream because something went wrong."""
_COUNT_HEADER = "x-stainless-retry-count"
"""The header in which OpenAI's SDKs count the retries of a request."""
RETRYABLE = (408, 409, 425, 429)
"""The 4xx statuses that OpenAI's SDKs retry, or that HTTP says to retry; all others blame the request itself."""
_CREDENTIALS = ("authorization", "api-key", "openai-organization", "openai-project")
"""The headers that a 401 and a 403 blame."""
_UNREAD_MEMBERS = frozenset(
    {
        *("metadata", "client_metadata", "user", "safety_identifier", "stream_id"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "service_tier"),
        *("background", "include", "store", "stream", "stream_options"),
    }
)
"""The members of a request that label it, or say how it is served and answered; no model reads them."""
_TIME_OF_DAY = re.compile(r"\b\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?")
RequestKey = tuple[str, str, str, bytes | str]
"""What a request and its retry have in common: the client, the method, the URL, and what is read of the body."""


@dataclass(frozen=True, slots=True)
class Retry:
    """A request that was sent again: `exchange` repeats `of`, `after` seconds later, for a `reason`.

    The reason is the status of the answer (`429`), or `no answer`, `cut off`, `failed` (the response failed, or its
    stream has an `error`), `timeout` (the client disconnected first). `retry_after` is the delay in seconds that the
    answer asked for.
    """

    exchange: int
    of: int
    after: float
    reason: str
    retry_after: float | None = None


def find_retries(exchanges: Sequence[Exchange], edge: Mapping[int, SendTimes]) -> list[Retry]:
    """List the retries in a journal, oldest first: a request that repeats an earlier, failed one."""
    failed: dict[RequestKey, list[Exchange]] = {}
    retries = []
    for exchange in exchanges:
        if exchange.is_routed or exchange.number not in edge:
            continue
        has_failed = failure_of(exchange, edge[exchange.number])
        if not (failed or has_failed):
            continue
        key, arrived = request_key(exchange.request), edge[exchange.number].arrived
        if waiting := _find_repeated(exchange.request, key, failed):
            # A failure that has not reached the client yet cannot be the reason for a retry.
            ended = [before for before in waiting if end_of(edge[before.number]) <= arrived + MOST_LATE]
            ended = [before for before in ended if _repeats(exchange.request, before)]
            if ended:
                waiting.remove(of := ended[-1])
                after, reason = max(0.0, arrived - end_of(edge[of.number])), failure_of(of, edge[of.number])
                retries.append(Retry(exchange.number, of.number, after, reason, asked_delay(of.answer.headers)))
        if has_failed:
            failed.setdefault(key, []).append(exchange)
    return retries


def _find_repeated(request: Request, key: RequestKey, failed: Mapping[RequestKey, list[Exchange]]) -> list[Exchange]:
    """Find the failed requests that a request may repeat; one that is counted as a retry may have another body."""
    if (waiting := failed.get(key)) or not (count := counted_retries(request)):
        return waiting or []
    others = (waiting for failed_key, waiting in failed.items() if failed_key[:3] == key[:3])
    counted = [waiting for waiting in others if waiting and counted_retries(waiting[-1].request) == count - 1]
    return counted[-1] if counted else []


def _repeats(request: Request, before: Exchange) -> bool:
    """Return whether a request leaves unchanged what an earlier one was refused for; True for any other failure."""
    status, sent = before.status, before.request
    if not 400 <= status < 500 or status in RETRYABLE:
        return True
    if status in (401, 403):
        return all(request.headers.get(name) == sent.headers.get(name) for name in _CREDENTIALS)
    blamed = re.split(r"[.\[]", as_string(answer_error(before).get("param")))[0]
    now, then = as_object(request.body), as_object(sent.body)
    return now.get(blamed) == then.get(blamed) if blamed else now == then


def request_key(request: Request) -> RequestKey:
    """Return what a request and its retry have in common; labels, ids and trace headers may differ."""
    query = "&".join(f"{name}={value}" for name, value in sorted(request.query.items()))
    method = "POST" if request.method == "WS" else request.method  # a client may fall back from one to the other
    return request.headers.get("user-agent", ""), method, f"{request.root}{request.path}?{query}", read_body(request)


def read_body(request: Request) -> bytes | str:
    """Return the part of a body that the model reads, or all of a body that is not for a model, for comparison."""
    body = request.body
    if body is None or request.fault:
        return request.raw
    if isinstance(body, dict) and asks_model(request):
        body = {
            name: _read_member(name, body[name]) for name in body.keys() - _UNREAD_MEMBERS if body[name] is not None
        }
        if body.get("type") == CREATE_EVENT:
            del body["type"]
    return json.dumps(body, sort_keys=True, default=str)


def _read_member(name: str, value: Any) -> Any:
    if name == "instructions":
        return _TIME_OF_DAY.sub("~", as_string(value)) or value
    if name != "input":
        return value
    items = [{"role": "user", "content": value}] if isinstance(value, str) else value
    return [_read_item(item) for item in items] if isinstance(items, list) else items


def _read_item(item: Any) -> Any:
    """Return a message without its id, instructions without the time in them, and other items unchanged."""
    if not isinstance(item, dict) or "role" not in item:
        return item
    read = omit(item, "id", "status", "type")
    if item["role"] in INSTRUCTION_ROLES:
        read["content"] = _TIME_OF_DAY.sub("~", json.dumps(read.get("content"), sort_keys=True))
    return read


def end_of(times: SendTimes) -> float:
    """Return the time at which an exchange ended for its client, as far as the edge knows."""
    if times.left is not None:
        return times.arrived + times.left
    return times.arrived if times.last_byte is None else times.last_byte


def failure_of(exchange: Exchange, times: SendTimes) -> str:
    """Return the `Retry.reason` for which a client may retry; empty if the answer is complete and not an error."""
    if times.left is not None:
        return "timeout"
    if exchange.status == 0:
        return "no answer"
    if exchange.status >= 400:
        return str(exchange.status)
    if exchange.answer.disconnection:
        return "cut off"
    events = exchange.answer.events
    if events and not isinstance(events, ResponseEvents):  # those are complete, and reading would render them
        return _failure_of_stream(exchange, events)
    return "failed" if as_object(exchange.answer.body).get("status") == "failed" else ""


def _failure_of_stream(exchange: Exchange, events: Sequence[Json]) -> str:
    """Return how an altered stream failed; empty over a WebSocket, where a response may stay open."""
    if exchange.request.method == "WS" or not str(events[0].get("type")).startswith("response."):
        return ""
    ending = events[-1].get("type")
    if ending in (ERROR_EVENT, "response.failed"):
        return "failed"
    return "" if ending in END_EVENTS or ending == "response.cancelled" else "cut off"


def asked_delay(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds an answer asks the client to wait; None if it does not ask, or names a date."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if isfinite(seconds) and seconds >= 0:
            return seconds
    return None


def counted_retries(request: Request) -> int:
    """Return how many retries the client itself counts in a header; 0 without the header."""
    text = request.headers.get(_COUNT_HEADER, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0


def chains_of(retries: Iterable[Retry]) -> list[list[Retry]]:
    """Group retries into chains; each chain holds the successive retries of one request."""
    by_last: dict[int, list[Retry]] = {}
    for retry in retries:
        by_last[retry.exchange] = [*by_last.pop(retry.of, []), retry]
    return list(by_last.values())
