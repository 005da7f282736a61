"""Responses that did not complete, and what a client makes of them."""

from collections.abc import Iterator

from harness.analysis.call_ledger import call_arguments, parse_arguments
from harness.analysis.history.history import History
from harness.analysis.history.items import client_call_id, describe_item, is_assistant, item_key
from harness.analysis.history.request import LEFT, HistoryReply, HistoryRequest, OutputItem
from harness.analysis.loss import DEPLOY, TEXT, LossFacts, ask, assistant, body, call, chained, loss, output
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.ending import failed, incomplete
from harness.faults import cut
from harness.items import function_call, message

_NO_ANSWER = ("assistant", "")
_STREAMED_REQUEST = body("P", stream=True)
_CANCEL = "POST /responses/{0.id}/cancel"
_NOTHING = {"role": "assistant", "content": ""}
_OWN_CALL, _OWN_OUTPUT = call("call_own"), output("call_own")
_HALF_CALL = function_call("deploy", '{"ref": "v', call_id=DEPLOY.members["call_id"], off_schema=True)


@loss(
    message="{what} from exchange {said}, whose response is {status}, comes back as if it were complete",
    fix="Check the `status` of a response, or the event that ends it; retry, or send the item back as `incomplete`.",
    loses=[
        ask(["P > A", incomplete()], "P A N"),
        ask(
            _STREAMED_REQUEST,
            ["P", assistant(TEXT, status="completed"), "N"],
            turns=[["A", incomplete("content_filter")]],
        ),
        ask(_STREAMED_REQUEST, ["P", {"role": "assistant", "content": TEXT}, "N"], turns=[["A", failed()]]),
        ask(["P > C", incomplete()], "P C O"),
        ask(_STREAMED_REQUEST, "P A N", turns=[cut([message(TEXT), DEPLOY], after=99)]),
        ask(_STREAMED_REQUEST, ["P", assistant(TEXT[:4]), "N"], turns=[cut(message([TEXT[:4], TEXT[4:]]), after=5)]),
        ask(_STREAMED_REQUEST, "P C O", turns=[cut(DEPLOY, after=9)]),
        ask(["P > C", incomplete()], chained("O")),
        ask(["P > T", incomplete()], ["P", _NOTHING, "N"]),
        ask(body("P", background=True), ["P", _NOTHING, "N"], turns=["A"]),
        ask(_STREAMED_REQUEST, ["P", {**_OWN_CALL, "arguments": "{}"}, _OWN_OUTPUT], turns=[cut(DEPLOY, after=5)]),
    ],
    keeps=[
        ask("P > A", "P A N"),
        ask(["P > T", incomplete()], ["P", _NOTHING, "C O N"]),
        ask(body("P", background=True), Case(on=_CANCEL), ["P", _NOTHING, "N"], turns=["A"]),
        ask(["P > T", incomplete()], body("P"), ["P", _NOTHING, "N"], turns=["T"]),
        ask(_STREAMED_REQUEST, _STREAMED_REQUEST, ["P", _OWN_CALL, _OWN_OUTPUT], turns=[cut(DEPLOY, after=5), "C"]),
        ask(["P > A", incomplete()], ["P", assistant(TEXT, status="incomplete"), "N"]),
        ask(["P >", _HALF_CALL, incomplete()], chained("O")),
        ask(_STREAMED_REQUEST, _STREAMED_REQUEST, "P A N", turns=[["A", failed()], "A"]),
        ask(_STREAMED_REQUEST, _STREAMED_REQUEST, "P A N", turns=[cut([message(TEXT), DEPLOY], after=99), "A"]),
        ask(_STREAMED_REQUEST, _STREAMED_REQUEST, "P C O", turns=[cut(DEPLOY, after=5), "C"]),
        ask(["P > A", message("And"), incomplete()], "P A N"),
    ],
)
def partial_taken(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Output of an incomplete, failed or cut-off response comes back as if it were complete, or its call is answered."""
    for place, item in request.placed_items:
        if item.get("status") in (None, "completed") and (original := _find_partial(item, history)):
            yield _partial_facts(place, original)
    sent = {id for _, id, _ in request.calls}
    for place, id, _ in request.outputs:
        calls = history.by_call.get(id, ()) if id not in sent else ()
        if calls and all(original.is_partial and _can_be_run(original.item) for original in calls):
            yield _partial_facts(place, calls[-1])
    if not request.is_chained:
        yield from _find_replaced(request, history)


def _find_replaced(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find what a client put in the place of a response that did not complete: an empty answer, or a call of its own."""
    for length, (kind, id) in enumerate(request.item_keys):
        if (kind, id) == _NO_ANSWER or (kind == "call" and id not in history.by_call):
            replies = history.by_input.get(request.digests[length], ())
            if replies and not any(reply.status in ("completed", "cancelled", LEFT) for reply in replies):
                yield from _find_stand_in(replies[-1], length, request)
            elif kind == "assistant" and not replies:
                yield from _find_pending(length, request, history)


def _find_stand_in(reply: HistoryReply, length: int, request: HistoryRequest) -> Iterator[LossFacts]:
    """Find what replaces a partial reply: a call of the same function, or an empty message without a call after it."""
    place, item = next(placed for placed in request.items_after(length) if item_key(placed[1]))
    calls = [call for call in reply.output if client_call_id(call) and call.get("name") == item.get("name")]
    is_empty = is_assistant(item) and all(kind != "call" for kind, _ in request.item_keys[length + 1 : length + 2])
    if item.get("status") != "incomplete" and (calls or is_empty):
        what = describe_item(calls[0]) if calls else "the answer"
        yield {"at": place, "said": reply.number, "what": what, "status": reply.status}


def _find_pending(length: int, request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Find the response in the background that an empty answer stands for, and that was never seen to end."""
    for pending in history.pending_requests.values():
        if pending.digests[-1] == request.digests[length]:
            place = next(place for place, item in request.items_after(length) if item_key(item))
            yield {"at": place, "said": pending.number, "what": "the answer", "status": "not there yet"}


@loss(
    message="{what} from exchange {said}, whose response is {status}, is continued as if it were complete",
    fix="Check the `status` of a response: retry it, or tell the user that the answer is incomplete.",
    strict=True,
    loses=[ask(["P > A", incomplete()], chained("N"))],
    keeps=[ask("P > A", chained("N")), ask(["P > A", incomplete()], "N")],
)
def partial_continued(request: HistoryRequest, history: History) -> Iterator[LossFacts]:
    """Chains continue an incomplete response with a new user message, as an application may let the user decide."""
    last = request.previous.items[-1] if request.previous.items else {}
    original = history.find_original(last)
    if original and original.is_partial and any(item.get("role") == "user" for _, item in request.placed_items):
        yield _partial_facts(request.placed_items[0][0], original)


def _can_be_run(call: Json) -> bool:
    """Return whether a call is whole enough to be run: half an object can only be answered with an error."""
    return call.get("type") != "function_call" or isinstance(parse_arguments(call_arguments(call)), dict)


def _partial_facts(place: str, original: OutputItem) -> LossFacts:
    return original.lost(place, status=original.reply.status)


def _find_partial(item: Json, history: History) -> OutputItem | None:
    """Find the latest output item that an item repeats, if all candidates are incomplete."""
    if is_assistant(item):
        said = history.find_said(item)
        # Another response may have completed with the same text: then nothing partial was taken.
        return said.originals[-1] if said and said.is_partial else None
    originals = history.find_originals(item)
    return originals[-1] if originals and all(original.is_partial for original in originals) else None
