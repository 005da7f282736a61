"""Responses that did not complete: their output must not be sent back as completed."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.history import (
    FAILED_OR_CUT_OFF,
    History,
    HistoryRequest,
    OutputItem,
    client_call_id,
    describe_item,
    is_assistant,
)
from harness.analysis.loss import LossFacts, loss
from harness.analysis.losses.examples import DEPLOY, NEXT, PROMPT, REPLY, TEXT, assistant, call, output
from harness.contract.rule import after
from harness.ending import failed, incomplete
from harness.faults import cut
from harness.items import message

_STREAMED_REQUEST = {"input": [PROMPT], "stream": True}


@loss(
    message="{what}, said in exchange {said} by a response that is {status}, comes back as if it were whole",
    fix="Look at the `status` of a response, or at the event that ends it; ask again, or send the item as `incomplete`.",
    loses=[
        after({"input": [PROMPT]}, {"input": [PROMPT, assistant(TEXT), NEXT]}, turns=[[REPLY, incomplete()]]),
        after(
            _STREAMED_REQUEST,
            {"input": [PROMPT, assistant(TEXT, status="completed"), NEXT]},
            turns=[[REPLY, incomplete("content_filter")]],
        ),
        after(
            _STREAMED_REQUEST,
            {"input": [PROMPT, {"role": "assistant", "content": TEXT}, NEXT]},
            turns=[[REPLY, failed()]],
        ),
        after({"input": [PROMPT]}, {"input": [PROMPT, call(), output()]}, turns=[[DEPLOY, incomplete()]]),
        after(_STREAMED_REQUEST, {"input": [PROMPT, assistant(TEXT), NEXT]}, turns=[cut([REPLY, DEPLOY], after=99)]),
        after(
            _STREAMED_REQUEST,
            {"input": [PROMPT, assistant(TEXT[:4]), NEXT]},
            turns=[cut(message([TEXT[:4], TEXT[4:]]), after=5)],
        ),
        after(_STREAMED_REQUEST, {"input": [PROMPT, call(), output()]}, turns=[cut(DEPLOY, after=9)]),
    ],
    keeps=[
        after({"input": [PROMPT]}, {"input": [PROMPT, assistant(TEXT), NEXT]}, turns=[REPLY]),
        after(
            {"input": [PROMPT]},
            {"input": [PROMPT, assistant(TEXT, status="incomplete"), NEXT]},
            turns=[[REPLY, incomplete()]],
        ),
        after({"input": [PROMPT]}, {"previous_response_id": "{0.id}", "input": [NEXT]}, turns=[[REPLY, incomplete()]]),
        after(
            _STREAMED_REQUEST,
            _STREAMED_REQUEST,
            {"input": [PROMPT, assistant(TEXT), NEXT]},
            turns=[[REPLY, failed()], REPLY],
        ),
        after(
            _STREAMED_REQUEST,
            _STREAMED_REQUEST,
            {"input": [PROMPT, assistant(TEXT), NEXT]},
            turns=[cut([REPLY, DEPLOY], after=99), REPLY],
        ),
        after(
            _STREAMED_REQUEST,
            _STREAMED_REQUEST,
            {"input": [PROMPT, call(), output()]},
            turns=[cut(DEPLOY, after=5), DEPLOY],
        ),
        after(
            {"input": [PROMPT]},
            {"input": [PROMPT, assistant(TEXT), NEXT]},
            turns=[[REPLY, message("And"), incomplete()]],
        ),
    ],
)
def partial_taken(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """What a response said that is incomplete, failed or cut off comes back as finished, and the talk goes on."""
    for at, item in request.placed_items:
        originals = history.find_originals(item)
        if originals and item.get("status") in (None, "completed") and all(map(_is_partial, originals)):
            yield {
                "at": at,
                "said": originals[-1].number,
                "what": describe_item(originals[-1].item),
                "status": originals[-1].reply.status,
            }


def _is_partial(original: OutputItem) -> bool:
    """Whether an item may be incomplete: it has no final status, or is a message of a failed or cut response."""
    if not (is_assistant(original.item) or client_call_id(original.item)) or original.reply.is_completed:
        return False
    left_open = original.item.get("status") not in (None, "completed")
    return left_open or (is_assistant(original.item) and original.reply.status in FAILED_OR_CUT_OFF)
