"""Responses that did not complete: their output must not be sent back as completed."""

from __future__ import annotations

from collections.abc import Iterator

from harness.analysis.history.history import History
from harness.analysis.history.items import describe_item, is_assistant
from harness.analysis.history.request import HistoryRequest, OutputItem
from harness.analysis.loss import LossFacts, loss
from harness.analysis.losses.examples import DEPLOY, NEXT, PROMPT, REPLY, TEXT, ask, assistant, call, output
from harness.core.exchange import Json
from harness.ending import failed, incomplete
from harness.faults import cut
from harness.items import message

_STREAMED_REQUEST = {"input": [PROMPT], "stream": True}


@loss(
    message="{what} from exchange {said}, whose response is {status}, comes back as if it were complete",
    fix="Check the `status` of a response, or the event that ends it; retry, or send the item back as `incomplete`.",
    loses=[
        ask([PROMPT], [PROMPT, assistant(TEXT), NEXT], turns=[[REPLY, incomplete()]]),
        ask(
            _STREAMED_REQUEST,
            [PROMPT, assistant(TEXT, status="completed"), NEXT],
            turns=[[REPLY, incomplete("content_filter")]],
        ),
        ask(_STREAMED_REQUEST, [PROMPT, {"role": "assistant", "content": TEXT}, NEXT], turns=[[REPLY, failed()]]),
        ask([PROMPT], [PROMPT, call(), output()], turns=[[DEPLOY, incomplete()]]),
        ask(_STREAMED_REQUEST, [PROMPT, assistant(TEXT), NEXT], turns=[cut([REPLY, DEPLOY], after=99)]),
        ask(
            _STREAMED_REQUEST, [PROMPT, assistant(TEXT[:4]), NEXT], turns=[cut(message([TEXT[:4], TEXT[4:]]), after=5)]
        ),
        ask(_STREAMED_REQUEST, [PROMPT, call(), output()], turns=[cut(DEPLOY, after=9)]),
    ],
    keeps=[
        ask([PROMPT], [PROMPT, assistant(TEXT), NEXT], turns=[REPLY]),
        ask([PROMPT], [PROMPT, assistant(TEXT, status="incomplete"), NEXT], turns=[[REPLY, incomplete()]]),
        ask([PROMPT], {"previous_response_id": "{0.id}", "input": [NEXT]}, turns=[[REPLY, incomplete()]]),
        ask(_STREAMED_REQUEST, _STREAMED_REQUEST, [PROMPT, assistant(TEXT), NEXT], turns=[[REPLY, failed()], REPLY]),
        ask(
            _STREAMED_REQUEST,
            _STREAMED_REQUEST,
            [PROMPT, assistant(TEXT), NEXT],
            turns=[cut([REPLY, DEPLOY], after=99), REPLY],
        ),
        ask(_STREAMED_REQUEST, _STREAMED_REQUEST, [PROMPT, call(), output()], turns=[cut(DEPLOY, after=5), DEPLOY]),
        ask([PROMPT], [PROMPT, assistant(TEXT), NEXT], turns=[[REPLY, message("And"), incomplete()]]),
    ],
)
def partial_taken(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Output of an incomplete, failed or cut-off response comes back as if it were complete."""
    for place, item in request.placed_items:
        if item.get("status") in (None, "completed") and (original := _find_partial(item, history)):
            what, status = describe_item(original.item), original.reply.status
            yield {"at": place, "said": original.number, "what": what, "status": status}


def _find_partial(item: Json, history: History) -> OutputItem | None:
    """Find the latest output item that an item repeats, if all candidates are incomplete."""
    if is_assistant(item):
        said = history.find_said(item)
        # Another response may have completed with the same text: then nothing partial was taken.
        return said.originals[-1] if said and said.is_partial else None
    originals = history.find_originals(item)
    return originals[-1] if originals and all(original.is_partial for original in originals) else None
