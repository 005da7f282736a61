"""Why the API refused a request, in two lines: its own words, and what the client did to earn them.

The second line follows the ids that the error names through the journal: who said the call, what answers it, what is gone.
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
    """What the API says of a request, and where and why; `losses` may explain it, `exchanges` are the whole journal."""
    said = f"Request {exchange.number} was refused ({exchange.status}): {_error_message(exchange)}"
    refused = _RefusedRequest(
        exchange, str(answer_error(exchange).get("param") or ""), _ID.findall(_error_message(exchange))
    )
    past = _history_before(exchange, exchanges)
    found = [lost for lost in losses if lost.exchange == exchange.number]
    if lost := next((lost for lost in found if refused.has_id_of(lost)), None):
        return said, f"{lost.at or refused.param or 'input'}: {_loss_line(lost)}"
    where = refused.trace_ids(past) or refused.describe_place(past, exchanges)
    if lost := next((lost for lost in found if refused.is_at_item_of(lost)), None):
        return said, f"{where}; {_loss_line(lost)}"
    return said, f"{where}{refused.rule_note}"


def _loss_line(lost: Lost) -> str:
    return f"{' '.join(lost.message.split())} (loss {lost.loss})"


def _error_message(exchange: Exchange) -> str:
    rule = RULES.get(exchange.answer.rule or "")
    message = answer_error(exchange).get("message") or (rule.summary if rule else "no reason given")
    return shorten(" ".join(str(message).split()), 400)


class _RefusedRequest(NamedTuple):
    """A refused request, the `param` of its error, the words of it that may be ids."""

    exchange: Exchange
    param: str
    ids: Sequence[str]

    @property
    def rule_note(self) -> str:
        """What the rule says, unless what was traced says it."""
        rule = RULES.get(self.exchange.answer.rule or "")
        return f"; {rule.summary}" if rule and rule.id not in (*_UNANSWERED_RULES, *_ORPHAN_RULES) else ""

    def has_id_of(self, lost: Lost) -> bool:
        """Whether it names an id that a loss is about."""
        return any(id in _ID.findall(lost.message) for id in self.ids if "_" in id)

    def is_at_item_of(self, lost: Lost) -> bool:
        """Whether it is about the item in which a loss shows."""
        here, there = _INPUT_ITEM.match(self.param), _INPUT_ITEM.match(lost.at)
        return bool(here and there and here[0] == there[0])

    def trace_ids(self, past: History) -> str:
        """What became of the first id that this request or an earlier answer knows; empty without one."""
        for id in self.ids:
            origin = past.by_id.get(id) or next(iter(past.by_call.get(id, ())), None)
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

    def describe_place(self, past: History, exchanges: Sequence[Exchange]) -> str:
        """The place that an error points to, and what stands there."""
        body = self.exchange.request.body
        place = _INPUT_ITEM.match(self.param)
        _, item, gone = resolve_path(body, place[0]) if place else ("", None, "input")
        if gone or not isinstance(item, dict):
            made = next(
                (f", the answer of exchange {one.number}" for one in exchanges if _response_id(one) in self.ids), ""
            )
            return f"{describe_sent_part(self.exchange.request, self.param)}{made}"
        _, value, missing = resolve_path(body, self.param)
        what = (
            f"no {missing.strip('.')}" if missing else as_string(as_object(value).get("type")) or shorten_json(value, 1)
        )
        part = "" if value is item and not missing else f"{what} in "
        origin = next(_find_origins(past, item), None)
        heard = f" that exchange {origin.number} said as {describe_item(origin.item)}" if origin else ""
        return f"{self.param}: {part}{_describe_item(item)}{heard}"

    def _input_objects(self) -> Iterator[tuple[str, Json]]:
        items = as_object(self.exchange.request.body).get("input")
        for place, item in enumerate(items if isinstance(items, list) else []):
            if isinstance(item, dict):
                yield f"input[{place}]", item


def _history_before(exchange: Exchange, exchanges: Sequence[Exchange]) -> History:
    """What was said before an exchange."""
    past = History()
    for earlier in exchanges:
        if earlier.number < exchange.number:
            past.add_exchange(earlier, past.read_request(earlier))
    return past


def _find_origins(past: History, item: Json) -> Iterator[OutputItem]:
    """What the model said that an item is made of: the item itself, or the text of one of its parts."""
    yield from past.find_originals(item)
    for part in objects_in(item.get("content")):
        yield from past.by_text.get(as_string(part.get("text")).strip() or "-", ())


def _describe_item(item: Json) -> str:
    role = as_string(item.get("role"))
    article = "an" if role.startswith("a") else "a"
    return f"{article} {role} message" if role and item_type(item) == "message" else describe_item(item) or "an item"


def _response_id(exchange: Exchange) -> str:
    return as_string(as_object(exchange.answer.body).get("id")) or "-"
