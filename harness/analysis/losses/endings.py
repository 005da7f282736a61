"""What did not come to its end is not to be taken for whole."""

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
from harness.analysis.losses.examples import ASK, DEPLOY, SAY, TEXT, THEN, assistant, call, output
from harness.contract.rule import after
from harness.ending import failed, incomplete
from harness.faults import cut
from harness.items import message

_STREAMED_REQUEST = {"input": [ASK], "stream": True}


@loss(
    message="{what}, said in exchange {said} by a response that is {status}, comes back as if it were whole",
    fix="Look at the `status` of a response, or at the event that ends it; ask again, or send the item as `incomplete`.",
    loses=[
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT), THEN]}, turns=[[SAY, incomplete()]]),
        after(
            _STREAMED_REQUEST,
            {"input": [ASK, assistant(TEXT, status="completed"), THEN]},
            turns=[[SAY, incomplete("content_filter")]],
        ),
        after(
            _STREAMED_REQUEST, {"input": [ASK, {"role": "assistant", "content": TEXT}, THEN]}, turns=[[SAY, failed()]]
        ),
        after({"input": [ASK]}, {"input": [ASK, call(), output()]}, turns=[[DEPLOY, incomplete()]]),
        after(_STREAMED_REQUEST, {"input": [ASK, assistant(TEXT), THEN]}, turns=[cut([SAY, DEPLOY], after=99)]),
        after(
            _STREAMED_REQUEST,
            {"input": [ASK, assistant(TEXT[:4]), THEN]},
            turns=[cut(message([TEXT[:4], TEXT[4:]]), after=5)],
        ),
        after(_STREAMED_REQUEST, {"input": [ASK, call(), output()]}, turns=[cut(DEPLOY, after=9)]),
    ],
    keeps=[
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT), THEN]}, turns=[SAY]),
        after(
            {"input": [ASK]}, {"input": [ASK, assistant(TEXT, status="incomplete"), THEN]}, turns=[[SAY, incomplete()]]
        ),
        after({"input": [ASK]}, {"previous_response_id": "{0.id}", "input": [THEN]}, turns=[[SAY, incomplete()]]),
        after(
            _STREAMED_REQUEST, _STREAMED_REQUEST, {"input": [ASK, assistant(TEXT), THEN]}, turns=[[SAY, failed()], SAY]
        ),
        after(
            _STREAMED_REQUEST,
            _STREAMED_REQUEST,
            {"input": [ASK, assistant(TEXT), THEN]},
            turns=[cut([SAY, DEPLOY], after=99), SAY],
        ),
        after(
            _STREAMED_REQUEST,
            _STREAMED_REQUEST,
            {"input": [ASK, call(), output()]},
            turns=[cut(DEPLOY, after=5), DEPLOY],
        ),
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT), THEN]}, turns=[[SAY, message("And"), incomplete()]]),
    ],
)
def partial_taken(asked: HistoryRequest, past: History) -> Iterator[LossFacts]:
    """What a response said that is incomplete, failed or cut off comes back as finished, and the talk goes on."""
    for at, item in asked.placed_items:
        said = past.find_originals(item)
        if said and item.get("status") in (None, "completed") and all(map(_is_partial, said)):
            yield {
                "at": at,
                "said": said[-1].number,
                "what": describe_item(said[-1].item),
                "status": said[-1].reply.status,
            }


def _is_partial(said: OutputItem) -> bool:
    """Whether an item may be less than the model meant: a message of a response that broke, else the item left open."""
    if not (is_assistant(said.item) or client_call_id(said.item)) or said.reply.is_completed:
        return False
    left_open = said.item.get("status") not in (None, "completed")
    return left_open or (is_assistant(said.item) and said.reply.status in FAILED_OR_CUT_OFF)
