"""Items that the API makes itself: what its tools have done, and the compaction of a transcript."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.history.history import History
from harness.analysis.history.items import describe_item, is_hosted, item_type
from harness.analysis.history.request import HistoryRequest, OutputItem
from harness.analysis.loss import LossFacts, loss
from harness.analysis.losses.examples import DEPLOY, NEXT, PROMPT, REPLY, TEXT, ask, assistant, call, output, user
from harness.contract.rule import Case, after
from harness.core.exchange import Json
from harness.core.json_values import as_string
from harness.items import compaction, message, web_search_call

_SEARCHING: Json = {"tools": [{"type": "web_search"}]}
_SEARCHED: Json = {"type": "web_search_call", "id": "{0.output.0.id}", "status": "completed"}
_LAST = user("Who knows of it?")
_COMPACTED = {"type": "compaction", "encrypted_content": "{1.output.1.encrypted_content}"}


def _after_compaction(*then: Json) -> Case:
    """Build an example in which a conversation of two turns is compacted and continued."""
    whole = [PROMPT, call(), output(), assistant(TEXT)]
    compact = Case({"model": "gpt-4.1", "input": whole}, on="POST /responses/compact")
    return after({"input": [PROMPT]}, compact, {"input": [*then]}, turns=[DEPLOY])


@loss(
    message="{what} from exchange {said} is not in this request, nor is all that it replaced: the client dropped it",
    fix="Send a compaction back in place of the items that it replaced; nothing else has what the model knew of them.",
    loses=[
        _after_compaction(PROMPT, NEXT),
        ask(
            [PROMPT, assistant(TEXT), NEXT], [NEXT, assistant("Done."), _LAST], turns=[[compaction(), message("Done.")]]
        ),
    ],
    keeps=[
        _after_compaction(PROMPT, _COMPACTED, NEXT),
        _after_compaction(PROMPT, call(), output(), assistant(TEXT), NEXT),
        _after_compaction(NEXT),
        ask(
            [PROMPT, assistant(TEXT), NEXT],
            [PROMPT, assistant(TEXT), NEXT, assistant("Done."), _LAST],
            turns=[[compaction(), message("Done.")]],
        ),
    ],
)
def compaction_dropped(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """A conversation goes on without its compaction, and without the items that the compaction replaced.

    It goes on if it has the user messages that the compaction followed, or other output of the same response.
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
        yield {"at": place, "said": original.number, "what": describe_item(original.item)}


def _find_continuation(original: OutputItem, request: HistoryRequest, history: History) -> str:
    """Return the place at which a request continues the response with a compaction; empty if it does not."""
    prompts = [key for key in original.reply.request.item_keys if key[0] == "user"]
    keys = [key for key in request.item_keys if key[0] == "user"]
    for place, item in request.placed_items:
        repeated = history.find_output(item)
        if repeated and repeated.reply is original.reply:
            return place
    if original.reply.output == [original.item] and prompts and prompts == keys[: len(prompts)] != keys:
        return request.placed_items[0][0]
    return ""


@loss(
    message="{what} from exchange {said} is missing, and this request has other output of the same response",
    fix="Send all output of a response back: the model does not see again what its tools did.",
    strict=True,
    loses=[ask([PROMPT], [PROMPT, assistant(TEXT), NEXT], turns=[[web_search_call("v2"), REPLY]], **_SEARCHING)],
    keeps=[
        ask(
            [PROMPT],
            [PROMPT, _SEARCHED, assistant(TEXT), NEXT],
            turns=[[web_search_call("v2"), REPLY]],
            **_SEARCHING,
        ),
        ask([PROMPT], [NEXT], turns=[[web_search_call("v2"), REPLY]], **_SEARCHING),
    ],
)
def item_omitted(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """A history lacks a search, a picture or another call of the API; many clients keep only what was said.

    The AI SDK, for example, leaves such items out with a warning if responses are not stored.
    """
    if request.is_chained or request.is_compacted:
        return
    here = {as_string(item.get("id")) for item in request.other_items}
    told = set[str]()
    for place, item in request.placed_items:
        repeated = history.find_original(item)
        for other in repeated.reply.output if repeated else ():
            id = as_string(other.get("id"))
            if repeated and is_hosted(other) and id not in here | told and item_type(other) != "mcp_list_tools":
                told.add(id)
                yield {"at": place, "said": repeated.number, "what": describe_item(other)}
