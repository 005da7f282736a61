"""Responses in the background, and streams that are taken up again."""

from __future__ import annotations

from dataclasses import replace

from harness.ending import Ending, failed, incomplete
from harness.examine.case import case, turns
from harness.examine.cases.common import ASKED, ASKED_TWICE, DEPLOY
from harness.examine.checks import fails, requests, runs, shows, streamed, tells_cut
from harness.faults import cut
from harness.items import function_call, message

GUIDE = "the API's guide to background mode, 2026-10; recorded"
IN_BACKGROUND = replace(ASKED, options={"background": True})
STORED = ("replay", "chain")
CANCELLED = Ending("cancelled", {"usage": None})
"""How a response ends that `POST /responses/{id}/cancel` has ended: with no output."""

case(
    "state/background",
    shows("Sunny.", "Rain."),
    requests(2),
    title="In the background",
    does="The response is queued, then in progress, then complete.",
    source=GUIDE,
    shows="It is read until it is complete; the text.",
    severity="must",
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
    severity="must",
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
    severity="must",
    needs=("background",),
    states=STORED,
    fails=True,
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
    severity="must",
    needs=("background", "incomplete"),
    states=STORED,
    fails=True,
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
    severity="must",
    needs=("background",),
    streams=(False,),
    states=STORED,
    fails=True,
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
    severity="must",
    needs=("background", "resume"),
    streams=(True,),
    states=STORED,
    task=IN_BACKGROUND,
    script=turns(cut(message(["Once ", "upon ", "a ", "time."]), after=7)),
)
