"""Mistakes of a client while it waits for a stream, and after a stream broke off or was left early."""

from collections.abc import Iterator
from typing import Any

from harness.analysis.client_mistake import (
    OK,
    MistakeFacts,
    SeenClient,
    Sending,
    client_mistake,
    seen,
    stalled,
    streamed,
)
from harness.analysis.find_retries import end_of, failure_of
from harness.core.exchange import Exchange
from harness.core.json_values import as_object
from harness.core.text import pluralize

_STREAM = {"stream": True}
_WHOLE, _CUT = (Sending(0, streamed(cut=cut), body=_STREAM) for cut in (False, True))
_LEFT = _WHOLE._replace(sent=2, left=0.5)
_NEXT = Sending(1, OK, body={"previous_response_id": "resp_1"})
_RETRIEVED = Sending(2, OK, path="/responses/resp_1")


def _resumed(at: float, after: int, answer: Any = None) -> Sending:
    query = {"stream": True, "starting_after": after}
    return Sending(at, answer or streamed(5, first=min(after + 1, 3)), path="/responses/resp_1", query=query)


def _later(exchange: Exchange, client: SeenClient) -> Iterator[Exchange]:
    """Yield the exchanges that began after this one had ended."""
    over = end_of(client.times[exchange.number])
    for later, times in client.timed:
        if later.number > exchange.number and times.arrived >= over:
            yield later


def _response_id(exchange: Exchange) -> str | None:
    id = exchange.request.params.get("response_id") or as_object(exchange.answer.body).get("id")
    return id if isinstance(id, str) else None


@client_mistake(
    message="request {number} continues {response}, whose stream (request {of}) broke off after {events} events",
    fix="A stream ends with `response.completed`, `incomplete` or `failed`; without one it broke off, even if the "
    "connection was closed properly. Retry, or retrieve the response, before continuing.",
    source="The last event of each stream of a response says how it ended, such as `response.completed`",
    shows=[seen(_CUT._replace(sent=3), _NEXT), seen(Sending(0, streamed(ended=False), body=_STREAM), _NEXT)],
    lacks=[
        seen(_WHOLE, _NEXT),
        seen(_CUT, Sending(1, OK, path="/responses/resp_1"), Sending(2, OK, body={"previous_response_id": "resp_1"})),
        seen(_CUT, Sending(1, OK, body={"previous_response_id": "resp_0"})),
        seen(_CUT, Sending(1, streamed(), body=_STREAM)),
    ],
)
def truncated_stream_accepted(client: SeenClient) -> Iterator[MistakeFacts]:
    """Clients continue a response whose stream broke off, as if it were complete.

    If the text or a call of such a stream is sent back as history, that is the loss `partial-taken`.
    """
    for exchange, times in client.timed:
        id = _response_id(exchange)
        if id is None or failure_of(exchange, times) != "cut off" or exchange.answer.events is None:
            continue
        for later in _later(exchange, client):
            if later.request.params.get("response_id") == id:
                break
            if as_object(later.request.body).get("previous_response_id") == id:
                yield {"number": later.number, "response": id, "of": exchange.number, "events": times.events}
                break


@client_mistake(
    message="the client left request {number} after {events} of its stream{how}",
    fix="Read a stream to its end. To stop the model, cancel a `background` response; closing the connection stops only "
    "other responses.",
    source="`POST /responses/{response_id}/cancel`, and `GET` with `starting_after` to resume",
    shows=[
        seen(_LEFT),
        seen(_LEFT, Sending(1, OK, body={"input": "else"})),
        seen(_WHOLE._replace(read=0)),
        seen(_WHOLE._replace(read=1)),
    ],
    lacks=[
        seen(_WHOLE),
        seen(_LEFT._replace(sent=0)),
        seen(_LEFT, Sending(1, OK, path="/responses/resp_1/cancel")),
        seen(_LEFT, _resumed(1, 1)),
        seen(_LEFT, Sending(1, streamed(), body=_STREAM)),
        seen(_CUT._replace(sent=2)),
        seen(Sending(0, OK, left=0.5)),
        seen(_WHOLE._replace(read=1), Sending(1, OK, path="/responses/resp_1/cancel")),
    ],
)
def abandoned_stream(client: SeenClient) -> Iterator[MistakeFacts]:
    """Clients leave a stream, and neither cancel nor resume it, nor retry the request.

    A stream that is sent faster than it is left is known to be left only in the process of the test, and of the
    `openai` package.
    """
    retried = {retry.of for retry in client.retries}
    for exchange, times in client.timed:
        left = times.left is not None and bool(times.events)
        read = client.unread.get(exchange.number)
        if not (left or read is not None) or exchange.number in retried:
            continue
        id = _response_id(exchange)
        if any(id and later.request.params.get("response_id") == id for later in _later(exchange, client)):
            continue
        events = times.events if left else read
        how = f" ({times.left:.1f} s), and the model continued with no reader" if left else ", which was sent whole"
        yield {"number": exchange.number, "events": pluralize(events or 0, "event"), "how": how}


@client_mistake(
    certain=True,
    message="request {number} resumes after event {after} of {response}, but only events up to {last} were sent: "
    "{missing} will never arrive",
    fix="Resume with `starting_after` set to the `sequence_number` of the last event that was handled.",
    source="`GET /responses/{response_id}?stream=true&starting_after=N` sends the events with greater numbers",
    shows=[
        seen(_CUT._replace(sent=2), _resumed(1, 2)),
        seen(_LEFT, _resumed(1, 3)),
        seen(_LEFT._replace(sent=0), _resumed(1, 0)),
    ],
    lacks=[
        seen(_CUT._replace(sent=2), _resumed(1, 1)),
        seen(_CUT._replace(sent=2), _resumed(1, 0)),
        seen(_CUT._replace(sent=2), _RETRIEVED),
        seen(_WHOLE, _resumed(1, 4, OK)),
        seen(OK, _resumed(1, 3)),
        seen(
            _CUT._replace(sent=2),
            _resumed(1, 1)._replace(answer=streamed(5, first=2, cut=True), sent=2),
            _resumed(2, 3),
        ),
    ],
)
def resumed_from_the_wrong_event(client: SeenClient) -> Iterator[MistakeFacts]:
    """Streams are resumed after an event that was never sent, so that the events in between are lost."""
    # Few clients resume a stream, so the events are read only for the responses that were resumed.
    resumed = {_response_id(exchange) for exchange, _ in client.timed if _starting_after(exchange) is not None}
    last: dict[str, int] = {}
    whole: set[str] = set()
    for exchange, times in client.timed if resumed else ():
        id, after = _response_id(exchange), _starting_after(exchange)
        if id is None or id not in resumed:
            continue
        if after is not None and id in last and after > last[id] and id not in whole:
            missing = f"event {after}" if after == last[id] + 1 else f"events {last[id] + 1} to {after}"
            facts = {"after": after, "response": id, "last": last[id] if last[id] >= 0 else "none", "missing": missing}
            yield {"number": exchange.number, **facts, "certain": True}
        if exchange.answer.events is not None:
            numbers = [event.get("sequence_number") for event in exchange.answer.events[: times.events]]
            last[id] = max([last.get(id, -1), *(number for number in numbers if isinstance(number, int))])
            if not failure_of(exchange, times):
                whole.add(id)


def _starting_after(exchange: Exchange) -> int | None:
    after = exchange.request.query.get("starting_after")
    return after if isinstance(after, int) else None


@client_mistake(
    area="waiting",
    message="the client waited {waited:.1f} s for request {number} without receiving a byte; the limit is {patience:g} s",
    fix="Give the client a read timeout: `OpenAI(timeout=httpx.Timeout(60, read=20))`; the default of OpenAI's SDKs "
    "is ten minutes.",
    source="OpenAI's SDKs wait 600 s by default; `patience` sets the limit",
    shows=[
        seen(Sending(0, stalled(90), lasts=90)),
        seen(Sending(0, stalled(2), lasts=2.1), patience=2),
        seen(Sending(0, stalled(90, streamed()), lasts=91)),
    ],
    lacks=[
        seen(Sending(0, stalled(90), left=20)),
        seen(Sending(0, stalled(30), lasts=30)),
        seen(Sending(0, stalled(2), lasts=2), Sending(3, OK), patience=5),
    ],
)
def no_timeout(client: SeenClient) -> Iterator[MistakeFacts]:
    """Clients wait longer than `patience` for an answer, and would wait forever if it never came."""
    for exchange, times in client.timed:
        pauses = exchange.answer.delivery.pauses if exchange.answer.delivery else ()
        sent = times.events if exchange.answer.events is not None else int(times.whole)
        # Within a stream each silence counts by itself: a client may time out between events.
        silent = (pause.seconds for pause in pauses if (pause.after or 0) < (sent or 0))
        waited = max([(times.first_byte or times.arrived) - times.arrived, *silent])
        if waited > client.patience and times.left is None:
            yield {"number": exchange.number, "waited": waited, "patience": client.patience}
