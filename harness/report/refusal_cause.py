"""Explains a refused request in two lines: the API's message, and what the client did to cause it.

The second line traces the ids in the message through the journal: the exchange with the call, the item that answers it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.analysis.history import History, OutputItem, describe_item, item_type
from harness.analysis.loss import Lost
from harness.contract.rule import RULES
from harness.core.exchange import Exchange, Json
from harness.core.loose_json import as_object, as_string, objects_in
from harness.core.shorten import answer_error, shorten, shorten_json
from harness.report.refusal import describe_sent_part, resolve_path

_INPUT_ITEM = re.compile(r"input\[\d+]")
_ID = re.compile(r"\w[\w.:|/+=-]*\w")
_ID_MEMBERS = ("id", "call_id", "approval_request_id")
_UNANSWERED_RULES = ("call_needs_output", "approval_request_unanswered")
_ORPHAN_RULES = ("output_needs_call", "approval_without_request")


def explain_refusal(exchange: Exchange, exchanges: Sequence[Exchange], losses: Sequence[Lost]) -> tuple[str, str]:
    """The API's message; place and cause. `exchanges` are the whole journal, one of the `losses` may be the cause."""
    headline = f"Request {exchange.number} was refused ({exchange.status}): {_error_message(exchange)}"
    refused_request = _RefusedRequest(
        exchange, str(answer_error(exchange).get("param") or ""), _ID.findall(_error_message(exchange))
    )
    history = _history_before(exchange, exchanges)
    own_losses = [lost for lost in losses if lost.exchange == exchange.number]
    if lost := next((lost for lost in own_losses if refused_request.has_id_of(lost)), None):
        return headline, f"{lost.at or refused_request.param or 'input'}: {_loss_line(lost)}"
    where = refused_request.trace_ids(history) or refused_request.describe_place(history, exchanges)
    if lost := next((lost for lost in own_losses if refused_request.is_at_item_of(lost)), None):
        return headline, f"{where}; {_loss_line(lost)}"
    return headline, f"{where}{refused_request.rule_note}"


def _loss_line(lost: Lost) -> str:
    return f"{' '.join(lost.message.split())} (loss {lost.loss})"


def _error_message(exchange: Exchange) -> str:
    rule = RULES.get(exchange.answer.rule or "")
    message = answer_error(exchange).get("message") or (rule.summary if rule else "no reason given")
    return shorten(" ".join(str(message).split()), 400)


class _RefusedRequest(NamedTuple):
    """A refused request, the `param` of its error, and words of its message that may be ids."""

    exchange: Exchange
    param: str
    ids: Sequence[str]

    @property
    def rule_note(self) -> str:
        """The summary of the rule; empty when the trace of the ids says the same."""
        rule = RULES.get(self.exchange.answer.rule or "")
        return f"; {rule.summary}" if rule and rule.id not in (*_UNANSWERED_RULES, *_ORPHAN_RULES) else ""

    def has_id_of(self, lost: Lost) -> bool:
        """Whether the error names an id in the message of a loss."""
        return any(id in _ID.findall(lost.message) for id in self.ids if "_" in id)

    def is_at_item_of(self, lost: Lost) -> bool:
        """Whether the error points to the same input item as a loss."""
        here, there = _INPUT_ITEM.match(self.param), _INPUT_ITEM.match(lost.at)
        return bool(here and there and here[0] == there[0])

    def trace_ids(self, history: History) -> str:
        """The trace of the first id that occurs in this request or an earlier answer; empty when none does."""
        for id in self.ids:
            origin = history.by_id.get(id) or next(iter(history.by_call.get(id, ())), None)
            found = [(place, item) for place, item in self._input_objects() if id in map(item.get, _ID_MEMBERS)]
            if origin or found:
                return self._describe_trace(origin, found)
        return ""

    def _describe_trace(self, origin: OutputItem | None, found: Sequence[tuple[str, Json]]) -> str:
        place, item = found[0] if found else (self.param or "input", {})
        thing = describe_item(origin.item if origin else item)
        thing += f", said in exchange {origin.number}" if origin else ", which no exchange of this test has said"
        if self.exchange.answer.rule in _UNANSWERED_RULES:
            return f"{place}: {thing}, is answered nowhere in this request"
        if self.exchange.answer.rule in _ORPHAN_RULES:
            call = (
                f"{thing}, which this request leaves out" if origin else "a call that no exchange of this test has said"
            )
            return f"{place}: {describe_item(item)} answers {call}"
        places = ", ".join(place for place, _ in found) or f"{place}, not among its items"
        return f"{places}: {thing}"

    def describe_place(self, history: History, exchanges: Sequence[Exchange]) -> str:
        """The place to which the error points, and the value there."""
        body = self.exchange.request.body
        place = _INPUT_ITEM.match(self.param)
        _, item, missing_step = resolve_path(body, place[0]) if place else ("", None, "input")
        if missing_step or not isinstance(item, dict):
            answer_note = next(
                (f", the answer of exchange {each.number}" for each in exchanges if _response_id(each) in self.ids), ""
            )
            return f"{describe_sent_part(self.exchange.request, self.param)}{answer_note}"
        _, value, missing = resolve_path(body, self.param)
        what = (
            f"no {missing.strip('.')}" if missing else as_string(as_object(value).get("type")) or shorten_json(value, 1)
        )
        part = "" if value is item and not missing else f"{what} in "
        origin = next(_find_origins(history, item), None)
        origin_note = f" that exchange {origin.number} said as {describe_item(origin.item)}" if origin else ""
        return f"{self.param}: {part}{_describe_item(item)}{origin_note}"

    def _input_objects(self) -> Iterator[tuple[str, Json]]:
        items = as_object(self.exchange.request.body).get("input")
        for place, item in enumerate(items if isinstance(items, list) else []):
            if isinstance(item, dict):
                yield f"input[{place}]", item


def _history_before(exchange: Exchange, exchanges: Sequence[Exchange]) -> History:
    """The history before an exchange."""
    history = History()
    for earlier in exchanges:
        if earlier.number < exchange.number:
            history.add_exchange(earlier, history.read_request(earlier))
    return history


def _find_origins(history: History, item: Json) -> Iterator[OutputItem]:
    """The output that an item repeats, or whose text is one of its parts."""
    yield from history.find_originals(item)
    for part in objects_in(item.get("content")):
        yield from history.by_text.get(as_string(part.get("text")).strip() or "-", ())


def _describe_item(item: Json) -> str:
    role = as_string(item.get("role"))
    article = "an" if role.startswith("a") else "a"
    return f"{article} {role} message" if role and item_type(item) == "message" else describe_item(item) or "an item"


def _response_id(exchange: Exchange) -> str:
    return as_string(as_object(exchange.answer.body).get("id")) or "-"
