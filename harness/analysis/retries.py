"""Finds the requests in a journal that were sent again after a failure, and how long after it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from harness.answers.writer import ResponseEvents
from harness.api.statuses import END_EVENTS
from harness.core.edge import EdgeTimes
from harness.core.exchange import Exchange, Json, Request
from harness.core.loose_json import as_object

MOST_LATE = 0.02
"""Tolerance in seconds: a retry may arrive before the end of the failed answer has been recorded."""
ERROR_EVENT = "error"
"""The event that ends a stream because something went wrong."""
_COUNT_HEADER = "x-stainless-retry-count"
"""The header in which OpenAI's SDKs count the retries of a request."""
VOLATILE_HEADERS = frozenset(
    {
        _COUNT_HEADER,
        "connection",
        "date",
        "traceparent",
        "tracestate",
        "x-client-request-id",
        "x-ms-client-request-id",
        "x-request-id",
    }
)
"""Headers that may differ between a request and its retry."""
RequestKey = tuple[str, str, bytes, frozenset[tuple[str, str]]]


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


def find_retries(exchanges: Sequence[Exchange], edge: Mapping[int, EdgeTimes]) -> list[Retry]:
    """List the retries in a journal, oldest first: a request that equals an earlier, failed one."""
    failed: dict[RequestKey, list[Exchange]] = {}
    retries = []
    for exchange in exchanges:
        if exchange.is_routed or exchange.number not in edge:
            continue
        has_failed = failure_of(exchange, edge[exchange.number])
        if not (failed or has_failed):
            continue
        waiting, arrived = failed.setdefault(request_key(exchange.request), []), edge[exchange.number].arrived
        # A failure that has not reached the client yet cannot be the reason for a retry.
        ended = [before for before in waiting if end_of(edge[before.number]) <= arrived + MOST_LATE]
        if ended:
            waiting.remove(of := ended[-1])
            after, reason = max(0.0, arrived - end_of(edge[of.number])), failure_of(of, edge[of.number])
            retries.append(Retry(exchange.number, of.number, after, reason, asked_delay(of.answer.headers)))
        if has_failed:
            waiting.append(exchange)
    return retries


def request_key(request: Request) -> RequestKey:
    """Return what a request and its retry have in common: all but the headers that count, trace or name attempts."""
    query = "&".join(f"{name}={value}" for name, value in sorted(request.query.items()))
    headers = frozenset(item for item in request.headers.items() if item[0] not in VOLATILE_HEADERS)
    return request.method, f"{request.root}{request.path}?{query}", request.raw, headers


def end_of(times: EdgeTimes) -> float:
    """Return the time at which an exchange ended for its client, as far as the edge knows."""
    if times.left is not None:
        return times.arrived + times.left
    return times.arrived if times.last_byte is None else times.last_byte


def failure_of(exchange: Exchange, times: EdgeTimes) -> str:
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
