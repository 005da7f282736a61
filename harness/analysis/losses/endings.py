"""What did not come to its end is not to be taken for whole."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.history import BROKEN, Asked, Past, Spoken, call_of, is_assistant, named
from harness.analysis.loss import Facts, loss
from harness.analysis.losses.examples import ASK, DEPLOY, SAY, TEXT, THEN, assistant, call, output
from harness.contract.rule import after
from harness.ending import failed, incomplete
from harness.faults import cut
from harness.items import message

_STREAM = {"input": [ASK], "stream": True}


@loss(
    message="{what}, said in exchange {said} by a response that is {status}, comes back as if it were whole",
    fix="Look at the `status` of a response, or at the event that ends it; ask again, or send the item as `incomplete`.",
    loses=[
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT), THEN]}, turns=[[SAY, incomplete()]]),
        after(
            _STREAM,
            {"input": [ASK, assistant(TEXT, status="completed"), THEN]},
            turns=[[SAY, incomplete("content_filter")]],
        ),
        after(_STREAM, {"input": [ASK, {"role": "assistant", "content": TEXT}, THEN]}, turns=[[SAY, failed()]]),
        after({"input": [ASK]}, {"input": [ASK, call(), output()]}, turns=[[DEPLOY, incomplete()]]),
        after(_STREAM, {"input": [ASK, assistant(TEXT), THEN]}, turns=[cut([SAY, DEPLOY], after=99)]),
        after(
            _STREAM, {"input": [ASK, assistant(TEXT[:4]), THEN]}, turns=[cut(message([TEXT[:4], TEXT[4:]]), after=5)]
        ),
        after(_STREAM, {"input": [ASK, call(), output()]}, turns=[cut(DEPLOY, after=9)]),
    ],
    keeps=[
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT), THEN]}, turns=[SAY]),
        after(
            {"input": [ASK]}, {"input": [ASK, assistant(TEXT, status="incomplete"), THEN]}, turns=[[SAY, incomplete()]]
        ),
        after({"input": [ASK]}, {"previous_response_id": "{0.id}", "input": [THEN]}, turns=[[SAY, incomplete()]]),
        after(_STREAM, _STREAM, {"input": [ASK, assistant(TEXT), THEN]}, turns=[[SAY, failed()], SAY]),
        after(_STREAM, _STREAM, {"input": [ASK, assistant(TEXT), THEN]}, turns=[cut([SAY, DEPLOY], after=99), SAY]),
        after(_STREAM, _STREAM, {"input": [ASK, call(), output()]}, turns=[cut(DEPLOY, after=5), DEPLOY]),
        after({"input": [ASK]}, {"input": [ASK, assistant(TEXT), THEN]}, turns=[[SAY, message("And"), incomplete()]]),
    ],
)
def partial_taken(asked: Asked, past: Past) -> Iterator[Facts]:
    """What a response said that is incomplete, failed or cut off comes back as finished, and the talk goes on."""
    for at, item in asked.given:
        said = past.origins(item)
        if said and item.get("status") in (None, "completed") and all(map(_is_partial, said)):
            yield {"at": at, "said": said[-1].number, "what": named(said[-1].item), "status": said[-1].reply.status}


def _is_partial(said: Spoken) -> bool:
    """Whether an item may be less than the model meant: a message of a response that broke, else the item left open."""
    if not (is_assistant(said.item) or call_of(said.item)) or said.reply.finished:
        return False
    left_open = said.item.get("status") not in (None, "completed")
    return left_open or (is_assistant(said.item) and said.reply.status in BROKEN)
