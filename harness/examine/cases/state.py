"""Sessions kept by the client, by a chain or by a conversation; background responses and compactions."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial
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
from harness.items.hosted import PLACEHOLDER_CIPHERTEXT
from harness.world.mock import Mock

THREE = replace(ASKED_TWICE, prompts=("What is A?", "What is B?", "What is C?"))
ANSWERS = ("A is 1.", "B is 2.", "C is 3.")
SAID = turns(*map(message, ANSWERS))
REPLAYS = ("replay", "stateless")
STORED = ("replay", "chain")
REFERENCE = "API reference, conversation state, 2026-10"

_three_prompts = partial(case, task=THREE, script=SAID)

_three_prompts(
    "state/replay",
    title="A session that the client keeps",
    does="The model answers three prompts; nothing else keeps the session.",
    source=f"{REFERENCE}: send the items of the history with each request",
    shows="Each request holds what was said before, each part of it once.",
    states=("replay",),
    checks=[shows(*ANSWERS), repeats_nothing()],
)

_three_prompts(
    "state/stateless",
    title="A session that nobody stores",
    does="The model answers three prompts; nothing may be stored.",
    source=f"{REFERENCE}: `store: false`",
    shows="Each request says `store: false` and holds what was said before, each part of it once.",
    states=("stateless",),
    checks=[shows(*ANSWERS), stores_nothing(), repeats_nothing()],
)

_three_prompts(
    "state/chain",
    title="A chain of responses",
    does="The model answers three prompts of a chain.",
    source=f"{REFERENCE}: `previous_response_id`",
    shows="Each request names the response before it, and holds nothing that this has.",
    states=("chain",),
    checks=[shows(*ANSWERS), continues(), repeats_nothing()],
)

_three_prompts(
    "state/conversation",
    title="A conversation",
    does="The model answers three prompts of a conversation.",
    source=f"{REFERENCE}: `conversation`",
    shows="Each request names the same conversation, and holds nothing that this has.",
    states=("conversation",),
    checks=[shows(*ANSWERS), continues(), repeats_nothing()],
)

case(
    "state/history-with-calls",
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
    checks=[shows("v2 is live.", "Yes.", "C is 3."), repeats_nothing(), answers_calls(1)],
)

_three_prompts(
    "state/instructions",
    title="Instructions of each request",
    does="The API does not carry the instructions of a response over to the next.",
    source=f"{REFERENCE}: with `previous_response_id` earlier instructions are not carried over",
    shows="Each request has the instructions.",
    checks=[shows(*ANSWERS), keeps_instructions()],
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
    title="A chain that has expired",
    does="The response that the second prompt continues is gone: 404.",
    source="API reference: responses are stored for 30 days; recorded, `previous_response_not_found`",
    shows="An error with the API's words, or the answer to a request that holds the whole history.",
    states=("chain",),
    spare=True,
    task=replace(THREE, prompts=THREE.prompts[:2]),
    script=_expires,
    checks=[shows_or_fails("A is 1.", "B is 2.")],
)

GUIDE = "the API's guide to background mode, 2026-10; recorded"
IN_BACKGROUND = replace(ASKED, options={"background": True})
CANCELLED = Ending("cancelled", {"usage": None})
"""The ending of a response that `POST /responses/{id}/cancel` has ended, without output."""

_in_background = partial(case, source=GUIDE, needs=("background",), states=STORED, task=IN_BACKGROUND)

_in_background(
    "state/background",
    title="In the background",
    does="The response is queued, then in progress, then complete.",
    shows="It is read until it is complete; the text.",
    task=replace(IN_BACKGROUND, prompts=ASKED_TWICE.prompts),
    script=turns(message("Sunny."), message("Rain.")),
    checks=[shows("Sunny.", "Rain."), requests(2)],
)

_in_background(
    "state/background-call",
    title="A call in the background",
    does="A response in the background calls a function.",
    shows="The function runs once the response is complete.",
    task=replace(IN_BACKGROUND, tools=(DEPLOY,)),
    script=turns(function_call("deploy", {"ref": "v2"}), message("v2 is live.")),
    checks=[shows("v2 is live."), runs(("deploy", {"ref": "v2"}))],
)

_in_background(
    "state/background-failed",
    title="A failure in the background",
    does="A response in the background fails.",
    shows="An error with the API's words.",
    script=turns([message("Once upon"), failed("server_error", "Something went wrong.")]),
    checks=[fails("went wrong")],
)

_in_background(
    "state/background-cut",
    title="An answer in the background that is cut",
    does="A response in the background ends `incomplete`, its reason `max_output_tokens`.",
    source="API reference, `status` of a response, 2026-10",
    shows="That the answer is not all of it, and why; or an error.",
    needs=("background", "incomplete"),
    script=turns([message("Once upon a"), incomplete()]),
    checks=[tells_cut("max_output_tokens")],
)

_in_background(
    "state/background-cancelled",
    title="A response in the background that is cancelled",
    does="Somebody else cancels a response in the background: it ends `cancelled`, without output and without `error`.",
    source="API reference, `status` of a response and `POST /responses/{id}/cancel`, 2026-10",
    shows="An error, and no empty answer.",
    streams=(False,),
    script=turns([CANCELLED]),
    checks=[fails()],
)

_in_background(
    "state/resumed-stream",
    title="A stream that is resumed",
    does="The stream of a response in the background is cut; it can be read on from any event.",
    source="API reference, `GET /responses/{id}?stream=true&starting_after=`, 2025-06; recorded",
    shows="The rest of the stream, nothing of it twice.",
    needs=("background", "resume"),
    streams=(True,),
    script=turns(cut(message(["Once ", "upon ", "a ", "time."]), after=7)),
    checks=[shows("Once upon a time."), streamed("Once upon a time."), requests(1)],
)

case(
    "state/compaction-by-hand",
    title="Compaction by hand",
    does="After two prompts the history is compacted: all but the user's messages become one item.",
    source="API reference, `POST /responses/compact`, 2025-12; recorded",
    shows="The next request holds what the API made of the history, as it is.",
    states=REPLAYS,
    task=replace(THREE, compact_after=2),
    script=turns(message("A is 1."), message("B is 2."), message("C is 3.")),
    checks=[shows("A is 1.", "B is 2.", "C is 3."), compacts("A is 1.", "B is 2.")],
)

case(
    "state/compaction-by-threshold",
    title="Compaction by a threshold",
    does="The second response begins with a compaction item, as the history has become too long.",
    source="API reference, `context_management` with `compact_threshold`, 2026-02; recorded",
    shows="The compaction item goes back as it is; what was before it may be left out.",
    states=REPLAYS,
    task=replace(THREE, options={"context_management": [{"type": "compaction", "compact_threshold": 1000}]}),
    script=turns(message("A is 1."), [compaction(PLACEHOLDER_CIPHERTEXT), message("B is 2.")], message("C is 3.")),
    checks=[shows("A is 1.", "B is 2.", "C is 3."), compacts()],
)
