"""Sessions of several prompts in each state mode."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from harness.core.exchange import Request
from harness.examine.case import case, turns
from harness.examine.cases.common import ASKED_TWICE, DEPLOY
from harness.examine.cases.session_checks import continues, keeps_instructions, repeats_nothing, stores_nothing
from harness.examine.checks import answers_calls, shows, shows_or_fails
from harness.faults import http_error
from harness.items import function_call, message, reasoning
from harness.world.mock import Mock

THREE = replace(ASKED_TWICE, prompts=("What is A?", "What is B?", "What is C?"))
ANSWERS = ("A is 1.", "B is 2.", "C is 3.")
SAID = turns(*map(message, ANSWERS))
REFERENCE = "API reference, conversation state, 2026-10"

case(
    "state/replay",
    shows(*ANSWERS),
    repeats_nothing(),
    title="A session that the client keeps",
    does="The model answers three prompts; nothing else keeps the session.",
    source=f"{REFERENCE}: send the items of the history with each request",
    shows="Each request holds what was said before, each part of it once.",
    severity="must",
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
    severity="must",
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
    severity="must",
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
    severity="must",
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
    severity="must",
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
    severity="must",
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
    severity="must",
    states=("chain",),
    fails=True,
    spare=True,
    task=replace(THREE, prompts=THREE.prompts[:2]),
    script=_expires,
)
