"""Retries that were pointless, too early or too frequent, and retries that are missing."""

from collections.abc import Iterator

from harness.analysis.client_mistake import (
    OK,
    MistakeFacts,
    SeenClient,
    Sending,
    client_mistake,
    refused,
    seen,
    streamed,
)
from harness.analysis.find_retries import (
    RETRYABLE,
    RequestKey,
    Retry,
    asked_delay,
    counted_retries,
    failure_of,
    request_key,
)
from harness.core.exchange import Answer, Exchange, Json, answer_error
from harness.core.json_values import as_object

Headers = frozenset[tuple[str, str]]
VOLATILE_HEADERS = frozenset(
    {
        *("connection", "date", "traceparent", "tracestate", "x-client-request-id", "x-ms-client-request-id"),
        *("x-request-id", "x-stainless-retry-count"),
    }
)
"""Headers that may differ between a request and its duplicate."""
CONFLICT = 409
"""The status after which a retry helps only sometimes."""
UNANSWERED = 418
"""The status with which the harness reports that it has no answer."""
FINAL_ERRORS = ("insufficient_quota", "billing_hard_limit_reached")
"""What the `type` or the `code` of a 429 is if waiting does not cure it; another code then says which limit it is."""
TOLERANCE = 0.05
"""Seconds by which a client may retry too early, because clocks and timers are no more precise."""
MOST_RETRIES = 5
"""The maximum number of retries of one request."""
IMMEDIATE = 0.05
"""Pauses shorter than this, in seconds, count as no pause."""
LEAST_GROWTH = 1.25
"""The factor by which a pause must exceed the first one to count as longer; less may be jitter."""

_SDK = "OpenAI's SDKs retry 408, 409, 429, 5xx and lost connections, twice, after 0.5 s or more (`max_retries`)"
_COUNTED = {"x-stainless-retry-count": "1"}


def _is_final(exchange: Exchange) -> bool:
    """Return whether a retry would be refused in the same way."""
    status = exchange.status
    is_of_the_request = 400 <= status < 500 and status not in RETRYABLE
    return _forbids_retry(exchange) or is_of_the_request or (status == 429 and is_out_of_quota(answer_error(exchange)))


def is_out_of_quota(error: Json) -> bool:
    """Return whether an error says that credit or a spending limit is used up."""
    return any(error.get(name) in FINAL_ERRORS for name in ("type", "code"))


def _forbids_retry(exchange: Exchange) -> bool:
    return exchange.answer.headers.get("x-should-retry") == "false"


@client_mistake(
    certain=True,
    message="request {number} repeats request {of}, which was refused with {status}{code} and will be every time",
    fix="Retry only after 408, 409, 429, 5xx and lost connections, never after `x-should-retry: false`; for any other "
    "status, change the request or give up.",
    source=_SDK,
    shows=[
        seen(refused(400), refused(400)),
        seen(refused(401), Sending(0.5, refused(401), headers=_COUNTED)),
        seen(refused(429, "insufficient_quota"), refused(429, "insufficient_quota")),
        seen(*[refused(429, "project_spend_limit_exceeded", type="insufficient_quota")] * 2),
        seen(refused(500, x_should_retry="false"), OK),
        seen(refused(400), refused(400), Sending(3, refused(400))),
        seen(refused(401), Sending(1, refused(401), body={"client_metadata": {"attempt": "2"}})),
        seen(refused(400, param="tools[0]"), Sending(1, OK, body={"metadata": {"attempt": "2"}})),
    ],
    lacks=[
        seen(refused(400), Sending(1, OK, body={"temperature": 1})),
        seen(refused(400), Sending(1, OK, body={"metadata": {"a": "b"}})),
        seen(refused(400, param="metadata.a"), Sending(1, OK, body={"metadata": {"a": "b"}})),
        seen(refused(401), Sending(1, OK, headers={"authorization": "Bearer sk-new"})),
        seen(refused(429), OK),
        seen(refused(500), OK),
        seen(refused(409), OK),
        seen(refused(400), Sending(1, OK, path="/responses/resp_1")),
        seen(refused(418), refused(418)),
        seen(refused(404), Sending(1, OK, body={"input": "first"}), OK),
        seen(
            Sending(0, refused(400), headers={"user-agent": "a"}), Sending(1, refused(400), headers={"user-agent": "b"})
        ),
        seen(OK, OK),
    ],
)
def retried_non_retryable(client: SeenClient) -> Iterator[MistakeFacts]:
    """Requests are sent again unchanged after a refusal that is about the request itself, and nothing else was changed.

    The mistake is certain if the client counts its retries in `x-stainless-retry-count`; otherwise a test may have
    asked twice. It is not certain after a 429: OpenAI's SDKs do not read its code and retry an exhausted quota, too.
    """
    for retry in client.retries:
        before, again = client.by_number[retry.of], client.by_number[retry.exchange]
        # Only the SDK's own count says for sure that it was a retry, not a second try of the test.
        certain = counted_retries(again.request) > 0 and (before.status != 429 or _forbids_retry(before))
        if before.status == UNANSWERED or not retry.reason.isdigit() or not _is_final(before):
            continue
        if certain or not _has_changed(client, retry):
            code = answer_error(before).get("code")
            facts = {"status": before.status, "code": f" ({code})" if code else ""}
            yield {"number": retry.exchange, "of": retry.of, **facts, "certain": certain}


def _has_changed(client: SeenClient, retry: Retry) -> bool:
    """Return whether another request between the two may have changed the answer to the retry."""
    between = (client.by_number.get(number) for number in range(retry.of + 1, retry.exchange))
    return any(exchange and exchange.request.method != "GET" and exchange.status < 400 for exchange in between)


@client_mistake(
    message="request {number} did not wait the {asked:g} s that the {status} to request {of} asked for",
    fix="Wait as long as `retry-after` (or `retry-after-ms`) says before the next attempt, also where the client has a "
    "back-off of its own.",
    source="RFC 9110, 10.2.3; OpenAI's SDKs obey `retry-after` up to one minute",
    shows=[
        seen(refused(429, retry_after="2"), Sending(0.5, OK)),
        seen(refused(503, retry_after_ms="900", retry_after="9"), Sending(0.5, OK)),
    ],
    lacks=[
        seen(refused(429, retry_after="2"), Sending(2.01, OK)),
        seen(refused(429, retry_after="2"), Sending(1.99, OK)),
        seen(refused(429), Sending(0.5, OK)),
        seen(refused(429, retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), Sending(0.5, OK)),
        seen(refused(429, retry_after="2"), Sending(0.5, OK, body={"input": "ho"})),
    ],
)
def retry_after_ignored(client: SeenClient) -> Iterator[MistakeFacts]:
    """Requests are sent again sooner than the refusal asked for."""
    for retry in client.retries:
        if retry.retry_after is not None and retry.after < retry.retry_after - TOLERANCE:
            facts = {"asked": retry.retry_after, "status": client.by_number[retry.of].status}
            yield {"number": retry.exchange, "of": retry.of, "came": f"after {retry.after:.2f} s", **facts}


def _attempts(status: int, *times: float) -> SeenClient:
    return seen(*(Sending(time, refused(status)) for time in times))


@client_mistake(
    message="request {of} was sent {count} more times, up to request {number}, after {reasons}",
    fix="Limit the attempts to two or three across all layers: a loop around a client that retries by itself multiplies "
    "them (`max_retries=0` leaves retries to the loop).",
    source=_SDK,
    shows=[_attempts(503, 0, 1, 3, 7, 15, 31, 63), _attempts(429, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)],
    lacks=[_attempts(503, 0, 1, 3), _attempts(503, 0, 1, 3, 7, 15, 31)],
)
def retry_storm(client: SeenClient) -> Iterator[MistakeFacts]:
    """Requests are retried more than five times."""
    for chain in client.chains:
        if len(chain) > MOST_RETRIES:
            reasons = ", ".join(dict.fromkeys(retry.reason for retry in chain))
            yield {"number": chain[-1].exchange, "of": chain[0].of, "count": len(chain), "reasons": reasons}


@client_mistake(
    message="request {of} was sent {count} more times without longer pauses",
    fix="Double the pause before each retry, and add jitter: 0.5 s, 1 s, 2 s.",
    source=_SDK,
    shows=[_attempts(500, 0, 0.02, 0.04), _attempts(429, 0, 1, 2, 3), _attempts(500, 0, 2.01, 3.02, 3.53)],
    lacks=[
        _attempts(500, 0, 0.5, 1.5),
        _attempts(500, 0, 0.02),
        _attempts(429, 0, 1, 2),
        seen(*(Sending(time, refused(429, retry_after="1")) for time in (0, 1.02, 2.04, 3.06))),
    ],
)
def no_backoff(client: SeenClient) -> Iterator[MistakeFacts]:
    """Requests are retried twice or more without a pause, or three times or more after pauses that do not grow."""
    for chain in client.chains:
        # Where the server named the pause, its length is not the client's choice.
        free = [retry for retry in chain if retry.retry_after is None]
        pauses = [retry.after for retry in free]
        at_once = len(pauses) > 1 and max(pauses) < IMMEDIATE
        if at_once or (len(pauses) > 2 and max(pauses[1:]) < pauses[0] * LEAST_GROWTH):
            listed = ", ".join(f"{pause:.2f} s" for pause in pauses[:5])
            yield {"number": free[-1].exchange, "of": free[0].of, "count": len(free), "came": f"after {listed}"}


@client_mistake(
    message="request {number} got {reason}, and the client did not retry",
    fix="Retry after 429, 5xx and lost connections, as OpenAI's SDKs do unless `max_retries=0`. If a stream has already "
    "begun, request it again, or resume it after its last event (`starting_after`).",
    source=_SDK,
    shows=[
        seen(refused(429, retry_after="1")),
        seen(refused(503), Sending(1, OK, body={"input": "else"})),
        seen(Answer(0)),
        seen(Sending(0, streamed(cut=True), body={"stream": True})),
    ],
    lacks=[
        seen(refused(500), OK),
        seen(refused(400)),
        seen(refused(429, "insufficient_quota")),
        seen(refused(503, x_should_retry="false")),
        seen(refused(409)),
        _attempts(500, 0, 0.5, 1.5),
        seen(refused(429, retry_after="3600")),
        seen(
            Sending(0, streamed(cut=True), body={"stream": True}),
            Sending(1, OK, path="/responses/resp_1", query={"starting_after": 3, "stream": True}),
        ),
    ],
)
def gave_up_early(client: SeenClient) -> Iterator[MistakeFacts]:
    """Clients give up after a temporary failure, without a single retry."""
    retried = {number for retry in client.retries for number in (retry.of, retry.exchange)}
    for exchange, times in client.timed:
        reason = failure_of(exchange, times)
        if exchange.number in retried or reason in ("", "timeout", "failed") or exchange.status == UNANSWERED:
            continue
        # A conflict may be settled by another request than the same one.
        is_final = exchange.status == CONFLICT or _is_final(exchange)
        asks_for_long = (asked_delay(exchange.answer.headers) or 0) > client.patience
        if not (is_final or asks_for_long or _goes_on(exchange, client)):
            yield {"number": exchange.number, "reason": reason}


def _goes_on(exchange: Exchange, client: SeenClient) -> bool:
    """Return whether a later request concerns the same response."""
    id = as_object(exchange.answer.body).get("id")
    return isinstance(id, str) and client.last_about.get(id, 0) > exchange.number


@client_mistake(
    message="request {number} repeats request {of}, and both took a turn of the model; the first answer {how}",
    fix="Send a request once. After a timeout the model may have answered, called its tools and been billed: give it more "
    "time, or set `background: true` and retrieve the response.",
    source="The Responses API has no idempotency key that would merge two equal requests",
    shows=[
        seen(OK, OK),
        seen(Sending(0, OK, left=0.5), OK),
        seen(Sending(0, OK, left=0.5), Sending(1, OK, body={"metadata": {"attempt": "2"}})),
        seen(streamed(), Sending(0.001, streamed())),
    ],
    lacks=[
        seen(OK, Sending(1, OK, body={"input": "ho"})),
        seen(refused(429), OK),
        seen(Answer(0), OK),
        seen(streamed(cut=True), streamed()),
        seen(OK, Sending(1, refused(400), turn=False)),
        seen(OK, Sending(1, OK, body={"metadata": {"run": "2"}})),
        seen(OK, Sending(1, OK, headers={"session-id": "2"})),
    ],
)
def duplicate_create(client: SeenClient) -> Iterator[MistakeFacts]:
    """Requests are retried although the client merely left, or sent twice although the first answer was complete."""
    left = {retry.exchange: retry.of for retry in client.retries if retry.reason == "timeout"}
    answered: dict[tuple[RequestKey, bytes, Headers], int] = {}
    for exchange, times in client.timed:
        number, request, failure = exchange.number, exchange.request, failure_of(exchange, times)
        if number not in client.turns or request.method != "POST" or failure not in ("", "timeout"):
            continue
        headers = frozenset(item for item in request.headers.items() if item[0] not in VOLATILE_HEADERS)
        sent = request_key(request), request.raw, headers
        if left.get(number) in client.turns:
            waited = client.times[left[number]].left
            yield {
                "number": number,
                "of": left[number],
                "how": f"was not awaited: the client left after {waited:.1f} s",
            }
        elif sent in answered:
            yield {"number": number, "of": answered[sent], "how": "was complete"}
        if not failure:
            answered[sent] = number
