"""Explains why a request was refused: the place, where the ids there come from, what was sent there.

The ids in the error message are traced through the journal: the exchange with the call, the item that answers it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.analysis.history.history import History
from harness.analysis.history.items import describe_item, item_type
from harness.analysis.history.request import OutputItem
from harness.analysis.loss import Lost
from harness.contract.rule import RULES, Rule
from harness.core.exchange import Exchange, Json, answer_error
from harness.core.json_values import as_object, as_string, objects_in
from harness.core.text import shorten, shorten_json
from harness.explain.model import Cause
from harness.explain.sent_part import describe_sent_part, resolve_path
from harness.explain.unpaired import (
    PAIRING_RULES,
    PlacedItem,
    describe_origin,
    describe_unpaired,
    find_origin,
    find_unpaired,
)

_INPUT_ITEM = re.compile(r"input\[\d+]")
_ID = re.compile(r"\w[\w.:|/+=-]*\w")
_IS_ID = re.compile(r"[_\d-]")
_QUOTED = re.compile(r"'([^']+)'")
_ID_MEMBERS = ("id", "call_id", "approval_request_id")


def explain_request(
    exchange: Exchange, exchanges: Sequence[Exchange], losses: Sequence[Lost], rules: Mapping[str, Rule] = RULES
) -> Cause:
    """Explain a refusal: the API's error, its place, and what the client sent there.

    `exchanges` are the whole journal; one of the `losses` may be the cause.
    """
    refused = _RefusedRequest(exchange, exchanges, [lost for lost in losses if lost.exchange == exchange.number], rules)
    sent = describe_sent_part(exchange.request, refused.param, refused.names)
    rule = exchange.answer.rule or ""
    return Cause(
        describe_refusal(exchange),
        exchange.number,
        "refusal",
        rule,
        refused.param,
        describe_refusal_in_general(exchange),
        where=refused.describe_cause(),
        sent=sent,
    )


def describe_refusal(exchange: Exchange) -> str:
    """Report that a request was refused, with the API's message."""
    return f"Request {exchange.number} was refused ({exchange.status}): {_error_message(exchange)}"


def describe_refusal_in_general(exchange: Exchange) -> str:
    """Report a refusal with the API's message, without the number of the request."""
    return f"Refused ({exchange.status}): {_error_message(exchange)}"


def _error_message(exchange: Exchange) -> str:
    rule = RULES.get(exchange.answer.rule or "")
    message = answer_error(exchange).get("message") or (rule.summary if rule else "no reason given")
    return shorten(" ".join(str(message).split()), 400)


@dataclass(frozen=True)
class _RefusedRequest:
    """A refused request with its journal, its losses and the rules of its World."""

    exchange: Exchange
    exchanges: Sequence[Exchange]
    losses: Sequence[Lost]
    rules: Mapping[str, Rule]

    @cached_property
    def param(self) -> str:
        """The `param` of the error."""
        return str(answer_error(self.exchange).get("param") or "")

    @cached_property
    def ids(self) -> Sequence[str]:
        """The words of the error message that may be ids."""
        return _ID.findall(_error_message(self.exchange))

    @cached_property
    def history(self) -> History:
        """The history before the request."""
        history = History()
        for earlier in self.exchanges:
            if earlier.number < self.exchange.number:
                history.add_exchange(earlier, history.read_request(earlier))
        return history

    @cached_property
    def unpaired(self) -> Sequence[PlacedItem]:
        """The calls without output, or outputs without call, that caused the refusal; empty for other rules."""
        return find_unpaired(self.exchange.answer.rule, self.history, self.exchange)

    @property
    def names(self) -> frozenset[str]:
        """The ids concerned, and the members that the error message names in quotes."""
        ids = [id for id in self.ids if _IS_ID.search(id) and id not in _ID_MEMBERS]
        unpaired = [item.call_id for item in self.unpaired if item.call_id]
        return frozenset([*ids, *unpaired, *_QUOTED.findall(_error_message(self.exchange))])

    def describe_cause(self) -> str:
        """Name the place in the request, and what the client did there."""
        ids = [id for id in self.ids if "_" in id]
        named = next((lost for lost in self.losses if not set(_ID.findall(lost.message)).isdisjoint(ids)), None)
        # A loss concerns one item, so it cannot explain several unpaired ones.
        if named and len(self.unpaired) < 2 and not any(item.other_kind for item in self.unpaired):
            return f"{named.at or self.param or 'input'}: {_loss_line(named)}"
        where = self._trace_ids() or self._describe_place()
        if lost := next((lost for lost in self.losses if self._is_at_item_of(lost)), None):
            return f"{where}; {_loss_line(lost)}"
        rule = self.rules.get(self.exchange.answer.rule or "")
        return f"{where}; {rule.summary}" if rule and rule.id not in PAIRING_RULES else where

    def _is_at_item_of(self, lost: Lost) -> bool:
        """Return whether the error points to the same input item as a loss."""
        here, there = _INPUT_ITEM.match(self.param), _INPUT_ITEM.match(lost.at)
        return bool(here and there and here[0] == there[0])

    def _trace_ids(self) -> str:
        """Describe where the ids in the error come from; empty if no answer and no item of this request has them."""
        if self.unpaired:
            return describe_unpaired(self.exchange.answer.rule, self.unpaired)
        for id in self.ids:
            origin = find_origin(self.history, id)
            holders = [(place, item) for place, item in self._input_objects() if id in map(item.get, _ID_MEMBERS)]
            if origin or holders:
                _, item = holders[0] if holders else ("", {})
                places = ", ".join(place for place, _ in holders) or f"{self.param or 'input'}, not among its items"
                return f"{places}: {describe_item(origin.item if origin else item)}{describe_origin(origin)}"
        return ""

    def _input_objects(self) -> Iterator[tuple[str, Json]]:
        items = as_object(self.exchange.request.body).get("input")
        for place, item in enumerate(items if isinstance(items, list) else []):
            if isinstance(item, dict):
                yield f"input[{place}]", item

    def _describe_place(self) -> str:
        """Describe the place that the error points to, and the value there."""
        body = self.exchange.request.body
        place = _INPUT_ITEM.match(self.param)
        _, item, missing = resolve_path(body, place[0]) if place else ("", None, "input")
        if missing or not isinstance(item, dict):
            return self._describe_outer_place()
        _, value, missing = resolve_path(body, self.param)
        what = (
            f"no {missing.strip('.')}" if missing else as_string(as_object(value).get("type")) or shorten_json(value, 1)
        )
        part = "" if value is item and not missing else f"{what} in "
        origin = next(_find_origins(self.history, item), None)
        said = f" that exchange {origin.number} returned as {describe_item(origin.item)}" if origin else ""
        return f"{self.param}: {part}{_describe_item(item)}{said}"

    def _describe_outer_place(self) -> str:
        """Describe what was sent outside the items, and the exchange whose answer it continues."""
        request = self.exchange.request
        head = "" if self.param or request.fault or request.body is None else f"{request.method} {request.path}: "
        known = ((exchange.number, as_object(exchange.answer.body).get("id")) for exchange in self.exchanges)
        answers = (number for number, id in known if id and id in self.ids)
        continued = next((f", the answer of exchange {number}" for number in answers), "")
        return f"{head}{describe_sent_part(request, self.param)}{continued}"


def _loss_line(lost: Lost) -> str:
    return f"{' '.join(lost.message.split())} (loss {lost.loss})"


def _find_origins(history: History, item: Json) -> Iterator[OutputItem]:
    """Find the output that an item repeats, as a whole or in the text of a part."""
    yield from history.find_originals(item)
    for part in objects_in(item.get("content")):
        if said := history.by_text.get(as_string(part.get("text")).strip()):
            yield from said.originals


def _describe_item(item: Json) -> str:
    role = as_string(item.get("role"))
    article = "an" if role.startswith("a") else "a"
    return f"{article} {role} message" if role and item_type(item) == "message" else describe_item(item) or "an item"
