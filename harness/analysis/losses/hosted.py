"""Items that the API makes itself: what its tools have done, and the compaction of a transcript."""

from collections.abc import Iterator

from harness.analysis.history.history import History
from harness.analysis.history.items import client_call_id, is_hosted, item_key, item_type
from harness.analysis.history.request import HistoryRequest, OutputItem, facts_about
from harness.analysis.loss import LossFacts, ask, loss, sketch
from harness.analysis.losses.history import item_coerced
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.core.json_values import as_string
from harness.items import compaction, image_generation_call, web_search_call

_SEARCHING: Json = {"tools": [{"type": "web_search"}]}
_SEARCHED: Json = {"type": "web_search_call", "id": "{0.output.0.id}", "status": "completed"}
_EMITTED: Json = {"type": "compaction", "encrypted_content": "{0.output.0.encrypted_content}"}
_COMPACTED = {"type": "compaction", "encrypted_content": "{1.output.1.encrypted_content}"}


def _after_compaction(*then: str | Json) -> Case:
    """Build an example in which a conversation of two turns is compacted and continued."""
    compact = Case({"model": "gpt-4.1", "input": sketch("P C O A")}, on="POST /responses/compact")
    return ask("P > C", compact, [*then])


@loss(
    message="{what} from exchange {said} is not in this request, nor is all that it replaced: the client dropped it",
    fix="Send a compaction back in place of the items that it replaced; nothing else has what the model knew of them.",
    loses=[
        _after_compaction("P N"),
        ask(["P A N >", compaction(), "A2"], "N A2 N2"),
        ask(["P A N >", compaction(), "A2"], [_EMITTED, "A2 N2 > A3"], "N2 A3 N3"),
    ],
    keeps=[
        _after_compaction("P", _COMPACTED, "N"),
        _after_compaction("P C O A N"),
        _after_compaction("N"),
        ask(["P A N >", compaction(), "A2"], "P A N A2 N2"),
    ],
)
def compaction_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Conversations continue without their compaction, and without the items that the compaction replaced.

    It goes on if it has the user messages that the compaction followed, other output of the same response, or output that
    the model made of it.
    """
    if request.is_chained or request.is_compacted or not history.compactions:
        return
    here = set(request.item_keys)
    original = history.compactions[-1]
    before = original.reply.request
    if not history.is_same_agent(before, request) and history.agents:
        return
    replaced = {key for key in before.item_keys if key[0] != "user"}
    if replaced - here and (place := _find_continuation(original, request, history)):
        yield original.lost(place)


def _find_continuation(original: OutputItem, request: HistoryRequest, history: History) -> str:
    """Return the place at which a request continues the response with a compaction; empty if it does not."""
    prompts = [key for key in original.reply.request.item_keys if key[0] == "user"]
    keys = [key for key in request.item_keys if key[0] == "user"]
    for place, item in request.placed_items:
        repeated = history.find_output(item)
        if repeated and (repeated.reply is original.reply or _is_read(original, repeated.reply.request)):
            return place
    if original.reply.output == [original.item] and prompts and prompts == keys[: len(prompts)] != keys:
        return request.placed_items[0][0]
    return ""


def _is_read(compaction: OutputItem, request: HistoryRequest) -> bool:
    """Return whether a request has a compaction."""
    ciphertext = compaction.item.get("encrypted_content")
    return request.is_compacted and any(item.get("encrypted_content") == ciphertext for item in request.other_items)


_GONE = "{what} from exchange {said} is missing from this request, which continues its response"
_SEARCH_DROPPED = ask(["P >", web_search_call("v2"), "C"], "P C O", **_SEARCHING)
_SEARCH_KEPT = ask(["P >", web_search_call("v2"), "C"], ["P", _SEARCHED, "C O"], **_SEARCHING)


@loss(
    message=_GONE + " while the model works on it",
    fix="Send all output of a response back with the outputs of its calls.",
    loses=[_SEARCH_DROPPED],
    keeps=[
        _SEARCH_KEPT,
        ask(["P >", web_search_call("v2"), "A"], "P A N", **_SEARCHING),
        ask(["P >", web_search_call("v2"), "C"], "P C O", store=False, **_SEARCHING),
    ],
)
def item_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Within a tool loop a call that the API has executed is not sent back with the other output of its response.

    If responses are not stored it may be intended: the AI SDK, for example, then leaves such calls out with a warning.
    """
    yield from (facts for is_at_work, facts in _find_omitted(request, history) if is_at_work)


@loss(
    message=_GONE,
    fix="Send all output of a response back: the model does not see again what its tools did.",
    strict=True,
    loses=[
        ask(["P >", web_search_call("v2"), "A"], "P A N", **_SEARCHING),
        ask(["P >", image_generation_call()], "P N", tools=[{"type": "image_generation"}]),
    ],
    keeps=[_SEARCH_KEPT, ask(["P >", web_search_call("v2"), "A"], "N", **_SEARCHING)],
)
def item_omitted(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Histories lack a search, a picture or another call of the API; many clients keep only what was said.

    If a message stands in its place, it is `item-coerced`.
    """
    coerced = {facts["what"] for facts in item_coerced(request, history)}
    omitted = (facts for is_at_work, facts in _find_omitted(request, history) if not is_at_work)
    yield from (facts for facts in omitted if facts["what"] not in coerced)


def _find_omitted(request: HistoryRequest, history: History) -> Iterator[tuple[bool, LossFacts]]:
    """Find the items of the API that a request lacks, and whether the model needs them to go on with its turn."""
    if request.is_chained or request.is_compacted:
        return
    first = len(request.placed_items) - len(request.turn)
    replies, length = history.find_continued(request)
    new = request.items_after(length)
    # Output that has no other items has no neighbour whose place is known.
    if len(replies) == 1 and new and not any(map(item_key, replies[0].output)):
        for sibling in replies[0].output:
            if (
                is_hosted(sibling)
                and as_string(sibling.get("id")) not in request.ids
                and history.is_same_agent(replies[0].request, request)
            ):
                yield False, facts_about(new[0][0], replies[0].number, sibling)
    reported = set[str]()
    for index, (place, item) in enumerate(request.placed_items):
        repeated = history.find_original(item)
        for sibling in repeated.reply.output if repeated else ():
            id = as_string(sibling.get("id"))
            if (
                repeated
                and is_hosted(sibling)
                and id not in request.ids | reported
                and item_type(sibling) != "mcp_list_tools"
            ):
                reported.add(id)
                is_loop = index >= first and any(map(client_call_id, repeated.reply.output))
                is_call = item_type(sibling).endswith("_call") and repeated.reply.request.body.get("store") is not False
                yield is_loop and is_call, facts_about(place, repeated.number, sibling)
