"""Sessions kept by the client, by a chain or by a conversation; background responses and compactions."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from harness.core.exchange import Request
from harness.ending import Ending, failed, incomplete
from harness.examine.case import ASKED, ASKED_TWICE, DEPLOY, case, turns
from harness.examine.checks import (
    answers_calls,
    compacts,
    continues,
    fails,
    keeps_instructions,
    repeats_nothing,
    requests,
    runs,
    shows,
    shows_or_fails,
    stores_nothing,
    streamed,
    tells_cut,
)
from harness.faults import cut, http_error
from harness.items import compaction, function_call, message, reasoning
from harness.items.code import PLACEHOLDER_CIPHERTEXT
from harness.world.mock import Mock

THREE = replace(ASKED_TWICE, prompts=("What is A?", "What is B?", "What is C?"))
ANSWERS = ("A is 1.", "B is 2.", "C is 3.")
SAID = turns(*map(message, ANSWERS))
REPLAYS = ("replay", "stateless")
STORED = ("replay", "chain")
REFERENCE = "API reference, conversation state, 2026-10"

case(
    "state/replay",
    shows(*ANSWERS),
    repeats_nothing(),
    title="A session that the client keeps",
    does="The model answers three prompts; nothing else keeps the session.",
    source=f"{REFERENCE}: send the items of the history with each request",
    shows="Each request holds what was said before, each part of it once.",
    states=("replay",),
    task=THREE,
    script=SAID,
)

case(
    "state/stateless",
    shows(*ANSWERS),
    stores_nothing(),
    repeats_nothing(),
    title="A session that nobody stores",
    does="The model answers three prompts; nothing may be stored.",
    source=f"{REFERENCE}: `store: false`",
    shows="Each request says `store: false` and holds what was said before, each part of it once.",
    states=("stateless",),
    task=THREE,
    script=SAID,
)

case(
    "state/chain",
    shows(*ANSWERS),
    continues(),
    repeats_nothing(),
    title="A chain of responses",
    does="The model answers three prompts of a chain.",
    source=f"{REFERENCE}: `previous_response_id`",
    shows="Each request names the response before it, and holds nothing that this has.",
    states=("chain",),
    task=THREE,
    script=SAID,
)

case(
    "state/conversation",
    shows(*ANSWERS),
    continues(),
    repeats_nothing(),
    title="A conversation",
    does="The model answers three prompts of a conversation.",
    source=f"{REFERENCE}: `conversation`",
    shows="Each request names the same conversation, and holds nothing that this has.",
    states=("conversation",),
    task=THREE,
    script=SAID,
)

case(
    "state/history-with-calls",
    shows("v2 is live.", "Yes.", "C is 3."),
    repeats_nothing(),
    answers_calls(1),
    title="A call in the history",
    does="The first answer needs a call; two more prompts follow.",
    source="public report against hermes-agent 0.13 to 0.19, 2026: each turn was stored twice; docs/stories/hermes.md",
    shows="The call and its output stand in the history once, in their place.",
    task=replace(THREE, tools=(DEPLOY,)),
    script=turns(
        [reasoning(), function_call("deploy", {"ref": "v2"})],
        message("v2 is live."),
        message("Yes."),
        message("C is 3."),
    ),
)

case(
    "state/instructions",
    shows(*ANSWERS),
    keeps_instructions(),
    title="Instructions of each request",
    does="The API does not carry the instructions of a response over to the next.",
    source=f"{REFERENCE}: with `previous_response_id` earlier instructions are not carried over",
    shows="Each request has the instructions.",
    task=THREE,
    script=SAID,
)


def _expires(mock: Mock) -> None:
    gone = http_error(
        404,
        "Previous response with id 'resp_1' not found.",
        code="previous_response_not_found",
        param="previous_response_id",
    )

    def model(request: Request) -> Generator[Any, Request, None]:
        request = yield message("A is 1.")
        while request.body.get("previous_response_id"):
            request = yield gone
        yield message("B is 2.")

    mock.script(model)


case(
    "state/expired-chain",
    shows_or_fails("A is 1.", "B is 2."),
    title="A chain that has expired",
    does="The response that the second prompt continues is gone: 404.",
    source="API reference: responses are stored for 30 days; recorded, `previous_response_not_found`",
    shows="An error with the API's words, or the answer to a request that holds the whole history.",
    states=("chain",),
    spare=True,
    task=replace(THREE, prompts=THREE.prompts[:2]),
    script=_expires,
)

GUIDE = "the API's guide to background mode, 2026-10; recorded"
IN_BACKGROUND = replace(ASKED, options={"background": True})
CANCELLED = Ending("cancelled", {"usage": None})
"""The ending of a response that `POST /responses/{id}/cancel` has ended, without output."""

case(
    "state/background",
    shows("Sunny.", "Rain."),
    requests(2),
    title="In the background",
    does="The response is queued, then in progress, then complete.",
    source=GUIDE,
    shows="It is read until it is complete; the text.",
    needs=("background",),
    states=STORED,
    task=replace(IN_BACKGROUND, prompts=ASKED_TWICE.prompts),
    script=turns(message("Sunny."), message("Rain.")),
)

case(
    "state/background-call",
    shows("v2 is live."),
    runs(("deploy", {"ref": "v2"})),
    title="A call in the background",
    does="A response in the background calls a function.",
    source=GUIDE,
    shows="The function runs once the response is complete.",
    needs=("background",),
    states=STORED,
    task=replace(IN_BACKGROUND, tools=(DEPLOY,)),
    script=turns(function_call("deploy", {"ref": "v2"}), message("v2 is live.")),
)

case(
    "state/background-failed",
    fails("went wrong"),
    title="A failure in the background",
    does="A response in the background fails.",
    source=GUIDE,
    shows="An error with the API's words.",
    needs=("background",),
    states=STORED,
    task=IN_BACKGROUND,
    script=turns([message("Once upon"), failed("server_error", "Something went wrong.")]),
)

case(
    "state/background-cut",
    tells_cut("max_output_tokens"),
    title="An answer in the background that is cut",
    does="A response in the background ends `incomplete`, its reason `max_output_tokens`.",
    source="API reference, `status` of a response, 2026-10",
    shows="That the answer is not all of it, and why; or an error.",
    needs=("background", "incomplete"),
    states=STORED,
    task=IN_BACKGROUND,
    script=turns([message("Once upon a"), incomplete()]),
)

case(
    "state/background-cancelled",
    fails(),
    title="A response in the background that is cancelled",
    does="Somebody else cancels a response in the background: it ends `cancelled`, without output and without `error`.",
    source="API reference, `status` of a response and `POST /responses/{id}/cancel`, 2026-10",
    shows="An error, and no empty answer.",
    needs=("background",),
    streams=(False,),
    states=STORED,
    task=IN_BACKGROUND,
    script=turns([CANCELLED]),
)

case(
    "state/resumed-stream",
    shows("Once upon a time."),
    streamed("Once upon a time."),
    requests(1),
    title="A stream that is resumed",
    does="The stream of a response in the background is cut; it can be read on from any event.",
    source="API reference, `GET /responses/{id}?stream=true&starting_after=`, 2025-06; recorded",
    shows="The rest of the stream, nothing of it twice.",
    needs=("background", "resume"),
    streams=(True,),
    states=STORED,
    task=IN_BACKGROUND,
    script=turns(cut(message(["Once ", "upon ", "a ", "time."]), after=7)),
)

case(
    "state/compaction-by-hand",
    shows("A is 1.", "B is 2.", "C is 3."),
    compacts("A is 1.", "B is 2."),
    title="Compaction by hand",
    does="After two prompts the history is compacted: all but the user's messages become one item.",
    source="API reference, `POST /responses/compact`, 2025-12; recorded",
    shows="The next request holds what the API made of the history, as it is.",
    states=REPLAYS,
    task=replace(THREE, compact_after=2),
    script=turns(message("A is 1."), message("B is 2."), message("C is 3.")),
)

case(
    "state/compaction-by-threshold",
    shows("A is 1.", "B is 2.", "C is 3."),
    compacts(),
    title="Compaction by a threshold",
    does="The second response begins with a compaction item, as the history has become too long.",
    source="API reference, `context_management` with `compact_threshold`, 2026-02; recorded",
    shows="The compaction item goes back as it is; what was before it may be left out.",
    states=REPLAYS,
    task=replace(THREE, options={"context_management": [{"type": "compaction", "compact_threshold": 1000}]}),
    script=turns(message("A is 1."), [compaction(PLACEHOLDER_CIPHERTEXT), message("B is 2.")], message("C is 3.")),
)
