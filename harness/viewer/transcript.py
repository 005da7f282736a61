"""The transcript before each answer, as the model saw it: where each item came from, and what the client changed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from hashlib import blake2b
from typing import Any

import orjson

from harness.analysis.history.history import History
from harness.analysis.history.items import answered_id, client_call_id, item_key, item_type, message_text
from harness.analysis.history.request import HistoryRequest
from harness.analysis.surfaced import is_similar
from harness.core.exchange import Exchange, Json
from harness.core.json_values import as_object, objects_in
from harness.explain.cause import ReportFinding
from harness.explain.missing_outputs import find_unpaired
from harness.viewer.page_data import TranscriptItem
from harness.viewer.pool import Pool

_PLACE = re.compile(r"input(?:\[\d+\])?")
Marked = tuple[int, ReportFinding, int]
"""A finding with its index in the case, and the number of the exchange that said what was lost, 0 for none."""
_MEMBERS = tuple(member.name for member in fields(TranscriptItem))


class TranscriptReader:
    """Reads the requests of a journal in order, and builds the transcript of each.

    Each exchange is first read, then shown if wanted, then recorded.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._history = History()
        self._identities: dict[int, tuple[Any, bytes]] = {}
        self._said: dict[bytes, int] = {}
        self._items_of: dict[int, list[Json]] = {}
        self._shown: dict[tuple[int, str, int, str], Any] = {}
        self._instructions: dict[str, Json] = {}

    def read(self, exchange: Exchange) -> HistoryRequest | None:
        """Read what a request sends to a model; None for other requests."""
        return self._history.read_request(exchange)

    def show(
        self, exchange: Exchange, request: HistoryRequest, new: Sequence[Json], marked: Sequence[Marked]
    ) -> tuple[Any, int]:
        """Build the transcript of a request with the items that are `new`; also return how many items are not new."""
        elements = [*self._elements(request, new)]
        before = sum(element.origin not in ("input", "instructions") for element in elements)
        for number, finding, origin in marked:
            elements = self._mark(elements, exchange, number, finding, origin)
        return self._pool.put_list(list(map(self._show_element, elements))), before

    def _show_element(self, element: TranscriptItem) -> Any:
        """Store an element; one without a mark only once, as the requests that follow repeat it."""
        key = id(element.item), element.origin, element.said, element.at
        if element.mark or (shown := self._shown.get(key)) is None:
            shown = self._pool.put({name: getattr(element, name) for name in _MEMBERS})
            if not element.mark:
                self._shown[key] = shown
        return shown

    def record(self, exchange: Exchange, request: HistoryRequest | None) -> None:
        """Record an exchange that later ones may repeat."""
        output = objects_in(as_object(exchange.answer.body).get("output"))
        if request:
            items = [*(item for _, item in request.placed_items), *output]
            self._items_of[exchange.number] = items
            for item in items:
                self._said.setdefault(self._identity(item), exchange.number)
        self._history.add_exchange(exchange, request)

    def _elements(self, request: HistoryRequest, new: Sequence[Json]) -> Iterator[TranscriptItem]:
        instructions = request.body.get("instructions")
        if isinstance(instructions, str) and instructions:
            item = {"type": "message", "role": "system", "content": instructions}
            yield TranscriptItem(self._instructions.setdefault(instructions, item), "instructions")
        elif isinstance(instructions, list):
            yield from (TranscriptItem(item, "instructions") for item in instructions)
        chained = "chain" if isinstance(request.body.get("previous_response_id"), str) else "conversation"
        for item in request.previous.items:
            yield TranscriptItem(item, chained, self._said_in(item))
        is_text = isinstance(request.body.get("input"), str)
        added = set(map(id, new))
        for place, item in request.placed_items:
            is_new = is_text or id(item) in added
            yield TranscriptItem(item, *(("input", 0) if is_new else ("resent", self._said_in(item))), at=place)

    def _said_in(self, item: Json) -> int:
        """Return the exchange that said an item first, even if the client has changed the item since."""
        identity = self._identity(item)
        if (known := self._said.get(identity)) is None:
            originals = self._history.find_originals(item)
            known = self._said[identity] = originals[0].number if originals else 0
        return known

    def _identity(self, value: Any) -> bytes:
        """Hash the JSON of a value, once per object; the value must not change."""
        if known := self._identities.get(id(value)):
            return known[1]
        try:
            encoded = orjson.dumps(value, default=str)
        except (orjson.JSONEncodeError, RecursionError):
            encoded = repr(value).encode("utf-8", "surrogatepass")
        identity = blake2b(encoded, digest_size=16).digest()
        self._identities[id(value)] = (value, identity)
        return identity

    def _mark(
        self, elements: list[TranscriptItem], exchange: Exchange, number: int, finding: ReportFinding, said: int
    ) -> list[TranscriptItem]:
        place = match[0] if (match := _PLACE.match(finding.at)) else ""
        target = next((index for index, element in enumerate(elements) if place and element.at == place), None)
        if finding.kind == "refusal":
            return self._mark_refused(elements, exchange, number, target)
        if finding.kind != "loss":
            return elements
        candidates = self._items_of.get(said, ())
        lost = self._lost_items(elements, candidates, number, finding)
        if target is None or any(_is_named(element.item, finding) for element in lost):
            after = len(elements) if target is None else target + 1
            return [*elements[:after], *lost, *elements[after:]]
        item = elements[target].item
        original = next((candidate for candidate in candidates if _may_be_the_same(candidate, item)), None)
        key = item_key(item)
        if key and any(item_key(element.item) == key for element in elements[:target]):
            return _replace(elements, target, "doubled", number, original)
        if original is None and lost:
            return [*elements[:target], *lost, *elements[target:]]
        return _replace(elements, target, "edited", number, original)

    def _mark_refused(
        self, elements: list[TranscriptItem], exchange: Exchange, number: int, target: int | None
    ) -> list[TranscriptItem]:
        unpaired_items = find_unpaired(exchange.answer.rule, self._history, exchange)
        if target is not None and not unpaired_items:
            return _replace(elements, target, "refused", number)
        for unpaired in unpaired_items:
            for index, element in enumerate(elements):
                if element.item is unpaired.item or (unpaired.place != "input" and element.at == unpaired.place):
                    elements = _replace(elements, index, "refused", number)
        return elements

    def _lost_items(
        self, elements: list[TranscriptItem], candidates: Sequence[Json], number: int, finding: ReportFinding
    ) -> list[TranscriptItem]:
        """List the missing items of an exchange; if the finding names some, only those."""
        there = {item_key(element.item) or self._identity(element.item) for element in elements}
        missing = [item for item in candidates if (item_key(item) or self._identity(item)) not in there]
        named = [item for item in missing if _is_named(item, finding)]
        return [
            TranscriptItem(item, "resent", self._said_in(item), mark="lost", finding=number, was=item)
            for item in named or missing
        ]


def _replace(
    elements: list[TranscriptItem], index: int, mark: str, number: int, was: Any = None
) -> list[TranscriptItem]:
    """Mark an element; a refused one stays refused, but gets its former content."""
    known = elements[index]
    if known.mark == "refused":
        mark, number = known.mark, known.finding if known.finding is not None else number
    marked = replace(known, mark=mark, finding=number, was=was)
    return [*elements[:index], marked, *elements[index + 1 :]]


def _is_named(item: Json, finding: ReportFinding) -> bool:
    id = client_call_id(item)
    return bool(id) and id in finding.message


def _may_be_the_same(original: Mapping[str, Any], item: Json) -> bool:
    """Return whether an item may be a changed copy of an original."""
    original = dict(original)
    if item_type(original) != item_type(item) or original.get("role") != item.get("role"):
        return False
    for name in ("call_id", "id"):
        if original.get(name) and item.get(name):
            return bool(original[name] == item[name])
    if answered_id(item) or client_call_id(item):
        return original.get("name") == item.get("name")
    return is_similar(message_text(original), message_text(item)) or bool(message_text(original)) != bool(
        message_text(item)
    )
