"""What a client did to have a request refused: the place, where the ids there come from, the part that it sent.

The ids in the message are traced through the journal: the exchange with the call, the item that answers it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from harness.analysis.history.history import History
from harness.analysis.history.items import answered_id, client_call_id, describe_item, item_type
from harness.analysis.history.request import OutputItem
from harness.analysis.loss import Lost
from harness.contract.rule import RULES, Rule
from harness.core.exchange import Exchange, Json
from harness.core.loose_json import as_object, as_string, objects_in
from harness.core.text.shorten import answer_error, shorten, shorten_json
from harness.explain.model import Cause
from harness.explain.pairs import APPROVAL_TYPES, PlacedItem, find_origin, find_pairs
from harness.explain.sent_part import describe_sent_part, resolve_path

_INPUT_ITEM = re.compile(r"input\[\d+]")
_ID = re.compile(r"\w[\w.:|/+=-]*\w")
_IS_ID = re.compile(r"[_\d-]")
_QUOTED = re.compile(r"'([^']+)'")
_ID_MEMBERS = ("id", "call_id", "approval_request_id")
_UNANSWERED_RULES = ("call_needs_output", "approval_request_unanswered")
_ORPHAN_RULES = ("output_needs_call", "approval_without_request")
_APPROVAL_RULES = ("approval_request_unanswered", "approval_without_request")


def explain_request(
    exchange: Exchange, exchanges: Sequence[Exchange], losses: Sequence[Lost], rules: Mapping[str, Rule] = RULES
) -> Cause:
    """Say in the API's words that a request was refused, where, what the client did there, and which part it sent.

    `exchanges` are the whole journal, one of the `losses` may be the cause.
    """
    refused = _RefusedRequest(
        exchange, str(answer_error(exchange).get("param") or ""), _ID.findall(_error_message(exchange)), rules
    )
    history = _history_before(exchange, exchanges)
    return Cause(
        describe_refusal(exchange),
        exchange.number,
        where=_find_cause(refused, history, exchanges, losses),
        sent=describe_sent_part(exchange.request, refused.param, refused.list_names(history)),
    )


def describe_refusal(exchange: Exchange) -> str:
    """Say that a request was refused, in the API's words."""
    return f"Request {exchange.number} was refused ({exchange.status}): {_error_message(exchange)}"


def _find_cause(
    refused: _RefusedRequest, history: History, exchanges: Sequence[Exchange], losses: Sequence[Lost]
) -> str:
    """The place in the request, and what the client did there."""
    own_losses = [lost for lost in losses if lost.exchange == refused.exchange.number]
    lost = next((lost for lost in own_losses if refused.has_id_of(lost)), None)
    unpaired = refused.find_unpaired(history)
    if lost and len(unpaired) < 2 and not any(each.other_kind for each in unpaired):
        return f"{lost.at or refused.param or 'input'}: {_loss_line(lost)}"
    where = refused.trace_ids(history) or refused.describe_place(history, exchanges)
    if lost := next((lost for lost in own_losses if refused.is_at_item_of(lost)), None):
        return f"{where}; {_loss_line(lost)}"
    return f"{where}{refused.rule_note}"


def _loss_line(lost: Lost) -> str:
    return f"{' '.join(lost.message.split())} (loss {lost.loss})"


def _error_message(exchange: Exchange) -> str:
    rule = RULES.get(exchange.answer.rule or "")
    message = answer_error(exchange).get("message") or (rule.summary if rule else "no reason given")
    return shorten(" ".join(str(message).split()), 400)


class _RefusedRequest(NamedTuple):
    """A refused request, the `param` of its error, and words of its message that may be ids; the World's rules."""

    exchange: Exchange
    param: str
    ids: Sequence[str]
    rules: Mapping[str, Rule]

    @property
    def rule_note(self) -> str:
        """The summary of the rule; empty when the trace of the ids says the same."""
        rule = self.rules.get(self.exchange.answer.rule or "")
        return f"; {rule.summary}" if rule and rule.id not in (*_UNANSWERED_RULES, *_ORPHAN_RULES) else ""

    def has_id_of(self, lost: Lost) -> bool:
        """Whether the error names an id in the message of a loss."""
        return any(id in _ID.findall(lost.message) for id in self.ids if "_" in id)

    def is_at_item_of(self, lost: Lost) -> bool:
        """Whether the error points to the same input item as a loss."""
        here, there = _INPUT_ITEM.match(self.param), _INPUT_ITEM.match(lost.at)
        return bool(here and there and here[0] == there[0])

    def list_names(self, history: History) -> frozenset[str]:
        """The ids that this is about, and the members that the error names in quotes."""
        ids = [id for id in self.ids if _IS_ID.search(id) and id not in _ID_MEMBERS]
        unpaired = [client_call_id(each.item) or answered_id(each.item) for each in self.find_unpaired(history)]
        return frozenset([*ids, *unpaired, *_QUOTED.findall(_error_message(self.exchange))])

    def find_unpaired(self, history: History) -> Sequence[PlacedItem]:
        """The calls without output, or outputs without call, that this is refused for; none when it is about others."""
        rule = self.exchange.answer.rule
        if rule not in (*_UNANSWERED_RULES, *_ORPHAN_RULES):
            return []
        pairs = find_pairs(history, history.read_request(self.exchange))
        items = pairs.open_calls if rule in _UNANSWERED_RULES else pairs.orphans
        return [each for each in items if (item_type(each.item) in APPROVAL_TYPES) == (rule in _APPROVAL_RULES)]

    def trace_ids(self, history: History) -> str:
        """Where the ids that the error names come from; empty when no answer and no item of this request has them."""
        if unpaired := self.find_unpaired(history):
            is_call = self.exchange.answer.rule in _UNANSWERED_RULES
            return _describe_open_calls(unpaired) if is_call else _describe_orphans(unpaired)
        for id in self.ids:
            origin = find_origin(history, id)
            found = [(place, item) for place, item in self._input_objects() if id in map(item.get, _ID_MEMBERS)]
            if origin or found:
                return self._describe_trace(origin, found)
        return ""

    def _describe_trace(self, origin: OutputItem | None, found: Sequence[tuple[str, Json]]) -> str:
        place, item = found[0] if found else (self.param or "input", {})
        places = ", ".join(place for place, _ in found) or f"{place}, not among its items"
        return f"{places}: {describe_item(origin.item if origin else item)}, {_describe_origin(origin)}"

    def describe_place(self, history: History, exchanges: Sequence[Exchange]) -> str:
        """The place to which the error points, and the value there."""
        body = self.exchange.request.body
        place = _INPUT_ITEM.match(self.param)
        _, item, missing_step = resolve_path(body, place[0]) if place else ("", None, "input")
        if missing_step or not isinstance(item, dict):
            answer_note = next(
                (f", the answer of exchange {each.number}" for each in exchanges if _response_id(each) in self.ids), ""
            )
            request = self.exchange.request
            head = "" if self.param or request.fault or request.body is None else f"{request.method} {request.path}: "
            return f"{head}{describe_sent_part(request, self.param)}{answer_note}"
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


def _describe_open_calls(calls: Sequence[PlacedItem]) -> str:
    """Every call without an output: its place, its name, the exchange that said it."""
    if len(calls) == 1:
        (call,) = calls
        origin = _describe_origin(call.origin)
        return f"{call.place}: {describe_item(call.item)}, {origin}, is answered nowhere in this request"
    told = "; ".join(
        f"{', '.join(describe_item(call.item) for call in group)}, {origin}"
        for origin, group in _group_by(calls, lambda call: _describe_origin(call.origin))
    )
    noun = "approval requests" if item_type(calls[0].item) in APPROVAL_TYPES else "calls"
    return f"{_join_places(calls)}: {len(calls)} {noun} are answered nowhere in this request: {told}"


def _describe_orphans(outputs: Sequence[PlacedItem]) -> str:
    """Every output without its call: its place, and what it answers."""
    return "; ".join(
        f"{output.place}: {describe_item(output.item)} answers {_describe_missing_call(output)}" for output in outputs
    )


def _describe_missing_call(output: PlacedItem) -> str:
    if output.other_kind:
        return f"the {output.other_kind} of that `call_id`, which takes an output of its own kind"
    if output.origin:
        return f"{describe_item(output.origin.item)}, {_describe_origin(output.origin)}, which this request leaves out"
    member = "approval_request_id" if item_type(output.item) in APPROVAL_TYPES else "call_id"
    return f"a `{member}` that nobody asked for: no exchange of this test has said it"


def _describe_origin(origin: OutputItem | None) -> str:
    return f"said in exchange {origin.number}" if origin else "which no exchange of this test has said"


def _join_places(items: Sequence[PlacedItem]) -> str:
    return ", ".join(dict.fromkeys(each.place for each in items))


def _group_by(items: Sequence[PlacedItem], key: Callable[[PlacedItem], str]) -> Iterator[tuple[str, list[PlacedItem]]]:
    groups: dict[str, list[PlacedItem]] = {}
    for each in items:
        groups.setdefault(key(each), []).append(each)
    yield from groups.items()


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
        if said := history.by_text.get(as_string(part.get("text")).strip()):
            yield from said.originals


def _describe_item(item: Json) -> str:
    role = as_string(item.get("role"))
    article = "an" if role.startswith("a") else "a"
    return f"{article} {role} message" if role and item_type(item) == "message" else describe_item(item) or "an item"


def _response_id(exchange: Exchange) -> str:
    return as_string(as_object(exchange.answer.body).get("id")) or "-"
