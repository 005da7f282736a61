"""What a receiver of webhooks did wrong, seen in its deliveries and in its requests meanwhile.

A mistake is a generator function of the deliveries and the journal that yields facts; `@receiver_mistake` adds the message,
the fix, the source and examples. The function's name with hyphens is its id.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import orjson

from harness.core.errors import RegistrationError
from harness.core.exchange import Answer, Exchange, Request
from harness.core.registry import Registry
from harness.core.text.shorten import shorten_repr
from harness.core.webhooks import LOOP_ENDED, Signature, WebhookDelivery

MistakeFacts = Mapping[str, Any]
"""`number`: the place of the delivery, from 1 on, and the fields of the message."""
MistakeCheck = Callable[[Sequence[WebhookDelivery], Sequence[Exchange]], Iterator[MistakeFacts]]
Example = tuple[Sequence[WebhookDelivery], Sequence[Exchange]]
"""Deliveries, and the journal."""


@dataclass(frozen=True, slots=True)
class FoundMistake:
    """A mistake that was found: the id of the `mistake`, the number of the `delivery`, what is wrong, and how to fix it."""

    mistake: str
    delivery: int
    message: str
    fix: str
    source: str


@dataclass(frozen=True, slots=True)
class ReceiverMistake:
    """One kind of mistake: its message with `{fact}` fields, fix, source, examples that show it and some that lack it."""

    id: str
    doc: str
    message: str
    fix: str
    source: str
    shows: tuple[Example, ...]
    lacks: tuple[Example, ...]
    check: MistakeCheck

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.splitlines()[0]

    def find(self, deliveries: Sequence[WebhookDelivery], exchanges: Sequence[Exchange]) -> Iterator[FoundMistake]:
        """Find where a receiver made it."""
        for facts in self.check(deliveries, exchanges):
            yield FoundMistake(self.id, facts["number"], self.message.format_map(facts), self.fix, self.source)


RECEIVER_MISTAKES: Registry[ReceiverMistake] = Registry("mistake of a receiver")
"""Every mistake by id."""


class MistakeDeclaration(TypedDict):
    """Declarations beside the function of a mistake."""

    message: str
    fix: str
    source: str
    shows: Sequence[Example]
    lacks: Sequence[Example]


def receiver_mistake(**words: Unpack[MistakeDeclaration]) -> Callable[[MistakeCheck], MistakeCheck]:
    """Register a generator of the deliveries and the journal that yields the facts of each mistake."""

    def register(check: MistakeCheck) -> MistakeCheck:
        made = ReceiverMistake(
            id=check.__name__.replace("_", "-"),
            doc=inspect.getdoc(check) or "",
            message=words["message"],
            fix=words["fix"],
            source=words["source"],
            shows=tuple(words["shows"]),
            lacks=tuple(words["lacks"]),
            check=check,
        )
        if not (made.doc and made.shows and made.lacks):
            raise RegistrationError(f"mistake {made.id} needs a docstring, and examples that show it and that lack it")
        RECEIVER_MISTAKES.add(made.id, made, check.__module__)
        return check

    return register


def mistakes_of(deliveries: Sequence[WebhookDelivery], exchanges: Sequence[Exchange] = ()) -> list[FoundMistake]:
    """List what receivers did wrong, in the order of the deliveries."""
    found = [mistake for kind in RECEIVER_MISTAKES.values() for mistake in kind.find(deliveries, exchanges)]
    return sorted(found, key=lambda mistake: mistake.delivery)


def _made(status: int | None = 200, signature: Signature = "valid", **members: Any) -> WebhookDelivery:
    told = {"event": "response.completed", "response": "resp_1", "id": "wh_1", "url": "http://localhost/hook"}
    return WebhookDelivery(**{**told, "attempt": 1, "at": 0, "signature": signature, "status": status, **members})


def _asked(number: int, method: str, path: str, body: Any = None) -> Exchange:
    return Exchange(number, Request(method, path, body=body), Answer(200, {}))


_SPEC = "Standard Webhooks 1.0.0"
_SDK = "`client.webhooks.unwrap` of the SDK"
_FORGERIES = {"wrong": "it was signed with another secret", "missing": "it was not signed"}


@receiver_mistake(
    message="the receiver took delivery {number} of {event} with {status}, although {why}",
    fix="Verify before anything else: `client.webhooks.unwrap(body, headers)` with the raw body; answer 400 when it raises.",
    source=f"{_SPEC}, “Verifying signatures”; {_SDK} raises InvalidWebhookSignatureError, or ValueError without the headers",
    shows=[([_made(204, "wrong")], ()), ([_made(200, "missing")], ())],
    lacks=[([_made(400, "wrong"), _made(401, "missing"), _made()], ()), ([_made(500, "wrong")], ())],
)
def webhook_unverified(deliveries: Sequence[WebhookDelivery], exchanges: Sequence[Exchange]) -> Iterator[MistakeFacts]:
    """A receiver accepts what anybody may have sent: a delivery with a wrong signature, or with none."""
    for number, delivery in enumerate(deliveries, 1):
        if delivery.is_accepted and delivery.signature in _FORGERIES:
            yield _facts(number, delivery, why=_FORGERIES[delivery.signature])


@receiver_mistake(
    message="the receiver took delivery {number} of {event} with {status}, although it was signed ten minutes ago",
    fix="Compare `webhook-timestamp` with the clock, as `client.webhooks.unwrap` does, and refuse what is older.",
    source=f"{_SPEC}, “Verifying signatures”; {_SDK} allows 300 seconds",
    shows=[([_made(200, "stale")], ())],
    lacks=[([_made(400, "stale")], ()), ([_made()], ())],
)
def webhook_replayed(deliveries: Sequence[WebhookDelivery], exchanges: Sequence[Exchange]) -> Iterator[MistakeFacts]:
    """A receiver accepts a delivery with an old timestamp, so that whoever has seen one can send it again."""
    for number, delivery in enumerate(deliveries, 1):
        if delivery.is_accepted and delivery.signature == "stale":
            yield _facts(number, delivery)


@receiver_mistake(
    message="the receiver answered delivery {number} of {event} after {seconds:.1f} s; the sender waits {limit:g} s",
    fix="Store the event and answer 2xx at once; do what takes long afterwards, in a task or a queue.",
    source=f"{_SPEC}, “Request timeouts”: senders wait 15 to 30 seconds",
    shows=[([_made(None, seconds=15.1)], ()), ([_made(None, seconds=2.5, limit=2.0)], ())],
    lacks=[([_made(seconds=14.9)], ()), ([_made(None, error="connection refused", seconds=0.1)], ())],
)
def webhook_late(deliveries: Sequence[WebhookDelivery], exchanges: Sequence[Exchange]) -> Iterator[MistakeFacts]:
    """A receiver answers so late that the sender has given up, and sends the event again."""
    for number, delivery in enumerate(deliveries, 1):
        if delivery.seconds >= delivery.limit:
            yield _facts(number, delivery, seconds=delivery.seconds, limit=delivery.limit)


@receiver_mistake(
    message="the receiver did its work again when {event} came again (delivery {number}): {what}",
    fix="Remember the `webhook-id` of what was done, with the work in one transaction, and answer 2xx to what comes again.",
    source=f"{_SPEC}, “Verifying signatures”: `webhook-id` is an idempotency key",
    shows=[
        ([_made(effect=(0, 1)), _made(effect=(1, 2))], ()),
        (
            [_made(exchanges=(1, 2)), _made(exchanges=(2, 3))],
            [_asked(2, "POST", "/responses", {"input": "x"}), _asked(3, "POST", "/responses", {"input": "x"})],
        ),
    ],
    lacks=[
        ([_made(effect=(0, 1)), _made(effect=(1, 1))], ()),
        ([_made(500, effect=(0, 1)), _made(effect=(1, 2), attempt=2)], ()),
        ([_made(effect=(0, 1)), _made(effect=(1, 2), id="wh_2")], ()),
        (
            [_made(exchanges=(1, 2)), _made(exchanges=(2, 3))],
            [_asked(2, "GET", "/responses/resp_1"), _asked(3, "GET", "/responses/resp_1")],
        ),
        (
            [_made(exchanges=(1, 2)), _made(exchanges=(2, 3))],
            [_asked(2, "POST", "/responses", {"input": "x"}), _asked(3, "POST", "/responses", {"input": "y"})],
        ),
    ],
)
def webhook_not_idempotent(
    deliveries: Sequence[WebhookDelivery], exchanges: Sequence[Exchange]
) -> Iterator[MistakeFacts]:
    """An event that was taken before has a second effect: the test's `effects` change, or the same is asked again.

    Of the work itself only these two are seen. A retrieve is no effect, and an attempt that failed may be made up for.
    """
    taken: dict[str, list[WebhookDelivery]] = {}
    for number, delivery in enumerate(deliveries, 1):
        if not delivery.is_accepted or delivery.signature != "valid":
            continue
        earlier = taken.setdefault(delivery.id, [])
        if earlier and (what := _second_effect(earlier, delivery, exchanges)):
            yield _facts(number, delivery, what=what)
        earlier.append(delivery)


@receiver_mistake(
    message="the receiver took no attempt to deliver {event}; the last one got {answer}",
    fix="Answer 2xx. A 400 may come of another secret: the receiver has to know `hook.secret`, in OPENAI_WEBHOOK_SECRET.",
    source="OpenAI retries for up to 72 hours what is not answered 2xx, and then gives up",
    shows=[([_made(500)], ()), ([_made(None, error="refused")], ()), ([_made(500), _made(404, attempt=2)], ())],
    lacks=[
        ([_made(500), _made(204, attempt=2)], ()),
        ([_made(400, "wrong")], ()),
        ([_made(None, error=LOOP_ENDED)], ()),
        ([_made(None, seconds=15.1)], ()),
    ],
)
def webhook_never_taken(deliveries: Sequence[WebhookDelivery], exchanges: Sequence[Exchange]) -> Iterator[MistakeFacts]:
    """A receiver has refused each attempt to deliver an event, so that it never hears of it."""
    last = {delivery.id: (number, delivery) for number, delivery in enumerate(deliveries, 1)}
    taken = {delivery.id for delivery in deliveries if delivery.is_accepted}
    for number, delivery in last.values():
        own = delivery.signature == "valid" and delivery.error != LOOP_ENDED and delivery.seconds < delivery.limit
        if own and delivery.id not in taken:
            answer = "; ".join(filter(None, [str(delivery.status or ""), delivery.error.partition("\n")[0]]))
            yield _facts(number, delivery, answer=answer)


def _facts(number: int, delivery: WebhookDelivery, **facts: Any) -> MistakeFacts:
    return {"number": number, "event": delivery.event, "status": delivery.status, **facts}


def _second_effect(earlier: Sequence[WebhookDelivery], delivery: WebhookDelivery, exchanges: Sequence[Exchange]) -> str:
    """Describe the effect of a delivery that was taken before; empty when none is seen."""
    if delivery.effect and delivery.effect[0] != delivery.effect[1]:
        before, after = (shorten_repr(value, 60) for value in delivery.effect)
        return f"`effects` went from {before} to {after}"
    again = _writes(delivery, exchanges)
    for before_that in earlier:
        for written in _writes(before_that, exchanges):
            if written in again:
                return f"it sent {written[0]} {written[1]} with the same body once more"
    return ""


def _writes(delivery: WebhookDelivery, exchanges: Sequence[Exchange]) -> list[tuple[str, str, bytes]]:
    """List what changed something while a delivery was answered, by method, path and body."""
    first, last = delivery.exchanges
    return [
        (request.method, request.path, orjson.dumps(request.body, default=str))
        for number, request, _ in exchanges
        if first < number <= last and request.method != "GET"
    ]
