"""The order of responses and user messages, and of the output items of one response."""

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise

from harness.analysis.history.history import History
from harness.analysis.history.items import answered_id, client_call_id, describe_item, extend_hash, item_key, item_type
from harness.analysis.history.request import HistoryRequest, OutputItem, facts_about
from harness.analysis.loss import ENCRYPTED_THOUGHT, STATELESS, LossFacts, ask, asks, assistant, loss, output
from harness.analysis.losses.history import says_nothing
from harness.analysis.losses.tools import is_not_executed
from harness.analysis.losses.user_messages import is_prompt
from harness.core.exchange import Json

MESSAGE = "{what} comes after {other}, but came before it in exchange {said}"
FIX = "Send the items of a response back in the order of its `output`; only outputs may come between them."
_SECOND_THOUGHT: Json = {**ENCRYPTED_THOUGHT, "encrypted_content": "{0.output.2.encrypted_content}"}
_CALLS_SWAPPED = ask("P > C C2", ["P C2", output("call_2", "told"), "C O"])
_CALL_BEFORE_TEXT = ask("P > A C", "P C A O")
_TWO_TURNS = ("P > A", "P A N > A3")
_SENT_EARLIER = [ask("P > A", "P N > A3", "P N A A3 N3")]
_ORDER_KEPT = ask("P > C C2 A", ["P C O C2", output("call_2", "told"), "A N"])


@loss(
    message=MESSAGE,
    fix=FIX,
    loses=[
        *asks("P > A C | P C O A; P > C | P O C"),
        ask("P > T C", ["P C", {"type": "reasoning", "id": "{0.output.0.id}", "summary": []}, "O"], model="gpt-5"),
        ask("P > T C T C2", ["P T", _SECOND_THOUGHT, "C C2 O O2"], **STATELESS),
    ],
    keeps=[
        ask("P > T C", "P T C O", **STATELESS),
        _ORDER_KEPT,
        _CALLS_SWAPPED,
        _CALL_BEFORE_TEXT,
        ask("P > C A", "P C O A N"),
        ask("P > A", "N", [assistant("Later."), "A"]),
    ],
)
def order_changed(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Responses come back reordered: reasoning after its successor, text after an output, a call after its output.

    The order of text and calls before any output, and of parallel calls, does not matter: many clients store text and
    calls separately.
    """
    yield from (facts for matters, facts in _find_swaps(request, history) if matters)
    yield from _find_calls_after_their_outputs(request, history)


@loss(
    message=MESSAGE,
    fix=FIX,
    strict=True,
    loses=[_CALLS_SWAPPED, _CALL_BEFORE_TEXT, ask("P > A", "P N A N2"), ask("P > C", "P N C O N2")],
    keeps=[_ORDER_KEPT, *_SENT_EARLIER],
)
def items_reordered(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Text and calls of one response, or its parallel calls, come back in another order, or after a new user message.

    A client that keeps the order in time may store what the user wrote while the model worked before the answer.
    """
    yield from (facts for matters, facts in _find_swaps(request, history) if not matters)
    yield from (facts for matters, facts in _find_overtaken(request, history) if not matters)


@loss(
    message="{what} from exchange {said} comes after {other} from exchange {later}, but came before it",
    fix="Send the turns of a conversation back in the order in which they happened.",
    loses=[
        ask(*_TWO_TURNS, "N A3 P A N3"),
        ask(*_TWO_TURNS, "P A3 N A N3"),
        *asks("P > A | P N A; P > C | P N C O"),
        ask(*_TWO_TURNS, "P A N N3 A3"),
        ask(*_TWO_TURNS, "P N A A3 N3"),
    ],
    keeps=[
        ask(*_TWO_TURNS, "P A N A3 N3"),
        *asks("P > A | N > A3 | N A3 P A N3; P > A | P N A N2"),
        ask(*_TWO_TURNS, "A3 N3"),
        ask("P > C", "P N C O", by=("plan", "review")),
        *_SENT_EARLIER,
    ],
)
def turns_swapped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Answers come back after a later answer whose request had them in its history, or after the newest user message.

    A user message that was sent before the answer was there keeps its place, but not one that was sent after it.
    """
    yield from (facts for matters, facts in _find_overtaken(request, history) if matters)
    seen: set[int] = set()
    latest: OutputItem | None = None
    for place, item in request.placed_items:
        original = history.find_original(item)
        if original is None or not (key := item_key(item)) or id(original.reply) in seen:
            continue
        seen.add(id(original.reply))
        if latest and original.number < latest.number and latest.reply.request.item_keys.count(key):
            if history.is_same_agent(latest.reply.request, request) and history.is_same_agent(
                original.reply.request, request
            ):
                other = {"other": describe_item(latest.item), "later": latest.number}
                yield original.lost(place, **other)
        else:
            latest = original


def _find_overtaken(request: HistoryRequest, history: History) -> Iterator[tuple[bool, LossFacts]]:
    """Find the answer that new user messages precede, and whether nothing that the user said follows it."""
    replies, length = history.find_continued(request)
    keys = request.item_keys
    end = next((place for place in range(length, len(keys)) if keys[place][0] != "user"), length)
    # A message that is sent twice is `prompt-doubled`, one that says nothing may be `item-coerced`.
    new = [item for _, item in request.items_after(length) if is_prompt(item)][: end - length]
    is_told = keys[length : length + 1] == keys[length - 1 : length] or all(map(says_nothing, new))
    if request.is_chained or not replies or is_told:
        return
    place = next(place for place, item in request.items_after(end) if item_key(item))
    for reply in reversed(replies):
        said = [original for original in reply.output if item_key(original) == keys[end]]
        if said and reply.is_completed and history.is_same_agent(reply.request, request):
            other = next(item for _, item in request.items_after(length) if is_prompt(item))
            facts = facts_about(place, reply.number, said[0], other=describe_item(other), later=request.number)
            # Who had the answer before the user spoke has it in the right order, too.
            known = reduce(
                extend_hash, [*filter(None, map(item_key, reply.output)), keys[length]], request.digests[length]
            )
            yield known in history.by_input or all(kind != "user" for kind, _ in keys[end:]), facts
            return


def _find_swaps(request: HistoryRequest, history: History) -> Iterator[tuple[bool, LossFacts]]:
    """Find neighbours in an output that swapped places, and whether it matters; of repeated items the first counts."""
    places_by_reply: dict[int, dict[int, tuple[int, OutputItem]]] = {}
    for index, (_, item) in enumerate(request.placed_items):
        if original := history.find_output(item):
            places_by_reply.setdefault(id(original.reply), {}).setdefault(original.index, (index, original))
    for places in places_by_reply.values():
        for (start, first), (end, then) in pairwise(places.values()):
            if then.index < first.index:
                between = [item for _, item in request.placed_items[start:end]]
                facts = then.lost(request.placed_items[end][0], other=describe_item(first.item))
                yield _is_significant(first.item, then.item, between), facts


def _find_calls_after_their_outputs(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    called: set[str] = set()
    answered: dict[str, Json] = {}
    for place, item in request.placed_items if request.calls else ():
        if id := client_call_id(item):
            # Scripts reuse ids: a later call with the same id may follow the output of the earlier one.
            early = answered.get(id) if id not in called else None
            called.add(id)
            if early and (original := history.find_call(id)):
                yield facts_about(place, original.number, item, other=describe_item(early))
        elif id := answered_id(item):
            answered.setdefault(id, item)


def _is_significant(first: Json, then: Json, between: Sequence[Json]) -> bool:
    if item_type(first) == "reasoning" or item_type(then) == "reasoning":
        return True
    # Calls of one response may come in any order; text that moves behind an output reads like an answer to it.
    return any(answered_id(item) and not is_not_executed(item) for item in between) and not (
        client_call_id(first) and client_call_id(then)
    )
