"""Mistakes of webhook receivers, found in the deliveries and in the requests that were sent meanwhile."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from harness.analysis.client_mistake import MistakeFacts, MistakeKind, mistake
from harness.analysis.find_retries import read_body
from harness.core.exchange import Answer, Exchange, Request
from harness.core.registry import Registry
from harness.core.text import show
from harness.core.webhooks import LOOP_ENDED, Signature, WebhookDelivery


class SeenReceiver(NamedTuple):
    """What can be observed of a receiver: the deliveries to it, and the journal."""

    deliveries: Sequence[WebhookDelivery]
    exchanges: Sequence[Exchange] = ()


@dataclass(frozen=True, slots=True)
class FoundMistake:
    """A mistake that was found: the id of the `mistake`, the number of the `delivery`, what is wrong, how to fix it."""

    mistake: str
    delivery: int
    message: str
    fix: str
    source: str


RECEIVER_MISTAKES: Registry[MistakeKind[SeenReceiver]] = Registry("mistake of a receiver")
receiver_mistake = partial(mistake, RECEIVER_MISTAKES, area="webhooks")


def mistakes_of(deliveries: Sequence[WebhookDelivery], exchanges: Sequence[Exchange] = ()) -> list[FoundMistake]:
    """List the mistakes of receivers, in the order of the deliveries."""
    seen = SeenReceiver(deliveries, exchanges)
    found = [
        FoundMistake(kind.id, facts["number"], message, kind.fix, kind.source)
        for kind in RECEIVER_MISTAKES.values()
        for facts, message in kind.find(seen)
    ]
    return sorted(found, key=lambda one: one.delivery)


def _post(status: int | None = 200, signature: Signature = "valid", **members: Any) -> WebhookDelivery:
    defaults = {"event": "response.completed", "response": "resp_1", "id": "wh_1", "url": "http://localhost/hook"}
    return WebhookDelivery(**{**defaults, "attempt": 1, "at": 0, "signature": signature, "status": status, **members})


def _receiver(*deliveries: WebhookDelivery) -> SeenReceiver:
    return SeenReceiver(deliveries)


def _asking(method: str, path: str, *bodies: Any) -> SeenReceiver:
    """Build an example in which each of two deliveries leads to a request, with these bodies."""
    requests = [Request(method, path, body=body) for body in bodies]
    exchanges = [Exchange(number, request, Answer(200, {})) for number, request in enumerate(requests, 2)]
    return SeenReceiver([_post(exchanges=(1, 2)), _post(exchanges=(2, 3))], exchanges)


_SPEC = "Standard Webhooks 1.0.0"
_SDK = "`client.webhooks.unwrap` of the SDK"
_FORGERIES = {"wrong": "it was signed with another secret", "missing": "it was not signed"}


@receiver_mistake(
    message="the receiver accepted delivery {number} of {event} with {status}, although {why}",
    fix="Verify before anything else: `client.webhooks.unwrap(body, headers)` with the raw body; answer 400 if it raises.",
    source=f"{_SPEC}, “Verifying signatures”; {_SDK} raises InvalidWebhookSignatureError, or ValueError without the headers",
    shows=[_receiver(_post(204, "wrong")), _receiver(_post(200, "missing"))],
    lacks=[_receiver(_post(400, "wrong"), _post(401, "missing"), _post()), _receiver(_post(500, "wrong"))],
)
def webhook_unverified(seen: SeenReceiver) -> Iterator[MistakeFacts]:
    """Receivers accept a delivery that anyone may have sent: its signature is wrong or missing."""
    for number, delivery in enumerate(seen.deliveries, 1):
        if delivery.is_accepted and delivery.signature in _FORGERIES:
            yield _facts(number, delivery, why=_FORGERIES[delivery.signature])


@receiver_mistake(
    message="the receiver accepted delivery {number} of {event} with {status}, although it was signed ten minutes ago",
    fix="Compare `webhook-timestamp` with the clock, as `client.webhooks.unwrap` does, and reject old deliveries.",
    source=f"{_SPEC}, “Verifying signatures”; {_SDK} allows 300 seconds",
    shows=[_receiver(_post(200, "stale"))],
    lacks=[_receiver(_post(400, "stale")), _receiver(_post())],
)
def webhook_replayed(seen: SeenReceiver) -> Iterator[MistakeFacts]:
    """Receivers accept a delivery with an old timestamp, so that anyone who has seen it can replay it."""
    for number, delivery in enumerate(seen.deliveries, 1):
        if delivery.is_accepted and delivery.signature == "stale":
            yield _facts(number, delivery)


@receiver_mistake(
    message="the receiver took {seconds:.1f} s for delivery {number} of {event}; the sender waits {limit:g} s",
    fix="Store the event and answer 2xx at once; do slow work afterwards, in a task or a queue.",
    source=f"{_SPEC}, “Request timeouts”: senders wait 15 to 30 seconds",
    shows=[_receiver(_post(None, seconds=15.1)), _receiver(_post(None, seconds=2.5, limit=2.0))],
    lacks=[_receiver(_post(seconds=14.9)), _receiver(_post(None, error="connection refused", seconds=0.1))],
)
def webhook_late(seen: SeenReceiver) -> Iterator[MistakeFacts]:
    """Receivers answer after the sender has given up, so that the event is sent again."""
    for number, delivery in enumerate(seen.deliveries, 1):
        if delivery.seconds >= delivery.limit:
            yield _facts(number, delivery, seconds=delivery.seconds, limit=delivery.limit)


@receiver_mistake(
    message="the receiver repeated its work when {event} was redelivered (delivery {number}): {what}",
    fix="Store the `webhook-id` of each handled event, in one transaction with the work, and answer 2xx to redeliveries.",
    source=f"{_SPEC}, “Verifying signatures”: `webhook-id` is an idempotency key",
    shows=[
        _receiver(_post(effect=(0, 1)), _post(effect=(1, 2))),
        _asking("POST", "/responses", {"input": "x"}, {"input": "x", "metadata": {"attempt": "2"}}),
    ],
    lacks=[
        _receiver(_post(effect=(0, 1)), _post(effect=(1, 1))),
        _receiver(_post(500, effect=(0, 1)), _post(effect=(1, 2), attempt=2)),
        _receiver(_post(effect=(0, 1)), _post(effect=(1, 2), id="wh_2")),
        _asking("GET", "/responses/resp_1", None, None),
        _asking("POST", "/responses", {"input": "x"}, {"input": "y"}),
    ],
)
def webhook_not_idempotent(seen: SeenReceiver) -> Iterator[MistakeFacts]:
    """Events that were accepted before have a second effect: the test's `effects` change, or a request is sent again.

    No other effects are visible. A retrieve has none, and work may be done again after an attempt that failed.
    """
    taken: dict[str, list[WebhookDelivery]] = {}
    for number, delivery in enumerate(seen.deliveries, 1):
        if not delivery.is_accepted or delivery.signature != "valid":
            continue
        earlier = taken.setdefault(delivery.id, [])
        if earlier and (what := _second_effect(earlier, delivery, seen.exchanges)):
            yield _facts(number, delivery, what=what)
        earlier.append(delivery)


@receiver_mistake(
    message="the receiver accepted no attempt to deliver {event}; the last one got {answer}",
    fix="Answer 2xx. A 400 may mean another secret: the receiver needs `hook.secret`, in OPENAI_WEBHOOK_SECRET.",
    source="OpenAI retries deliveries that are not answered with 2xx for up to 72 hours, and then gives up",
    shows=[
        _receiver(_post(500)),
        _receiver(_post(None, error="refused")),
        _receiver(_post(500), _post(404, attempt=2)),
    ],
    lacks=[
        _receiver(_post(500), _post(204, attempt=2)),
        _receiver(_post(400, "wrong")),
        _receiver(_post(None, error=LOOP_ENDED)),
        _receiver(_post(None, seconds=15.1)),
    ],
)
def webhook_never_taken(seen: SeenReceiver) -> Iterator[MistakeFacts]:
    """Receivers refuse every attempt to deliver an event, and so never learn of it."""
    last = {delivery.id: (number, delivery) for number, delivery in enumerate(seen.deliveries, 1)}
    taken = {delivery.id for delivery in seen.deliveries if delivery.is_accepted}
    for number, delivery in last.values():
        # A forged delivery should be refused, a timeout is `webhook-late`, and an ended loop is the test's doing.
        own = delivery.signature == "valid" and delivery.error != LOOP_ENDED and delivery.seconds < delivery.limit
        if own and delivery.id not in taken:
            answer = "; ".join(filter(None, [str(delivery.status or ""), delivery.error.partition("\n")[0]]))
            yield _facts(number, delivery, answer=answer)


def _facts(number: int, delivery: WebhookDelivery, **facts: Any) -> MistakeFacts:
    return {"number": number, "event": delivery.event, "status": delivery.status, **facts}


def _second_effect(earlier: Sequence[WebhookDelivery], delivery: WebhookDelivery, exchanges: Sequence[Exchange]) -> str:
    """Describe the second effect of an event that was accepted before; empty if none is visible."""
    if delivery.effect and delivery.effect[0] != delivery.effect[1]:
        before, after = (show(value, 60) for value in delivery.effect)
        return f"`effects` went from {before} to {after}"
    again = _writes(delivery, exchanges)
    for before_that in earlier:
        for written in _writes(before_that, exchanges):
            if written in again:
                return f"it sent {written[0]} {written[1]} with the same content again"
    return ""


def _writes(delivery: WebhookDelivery, exchanges: Sequence[Exchange]) -> list[tuple[str, str, bytes | str]]:
    """List the requests other than GET that were sent while a delivery was being handled: method, path and content."""
    first, last = delivery.exchanges
    return [
        (request.method, request.path, read_body(request))
        for number, request, _ in exchanges
        if first < number <= last and request.method != "GET"
    ]
