"""Streams that do not come to their end: a part of an answer is no answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.core.delivery import Gate
from harness.examine.case import Check, case
from harness.examine.cases.common import ASKED, DEPLOY, WITH_TOOL, always
from harness.examine.checks import fails, runs, runs_at_most
from harness.examine.task import Task
from harness.faults import cut, end_stream, pause, stream_error
from harness.items import function_call, message
from harness.world.route import Turn

ONCE = message(["Once ", "upon ", "a ", "time."])
LONGER = message([f"{number} " for number in range(20)])
EVENTS = 12
"""The events of the stream of `ONCE`."""
SWALLOWED = "https://github.com/langchain-ai/langchain/issues/39039: a failed stream was taken for a whole one"
UNENDED = "https://github.com/theimaginaryfoundation/what-iff/issues/132: a stream ended without `response.completed`"


def _breaks(name: str, title: str, turn: Turn, *checks: Check, task: Task = ASKED, **words: Any) -> None:
    case(
        f"streams/{name}",
        *(checks or (fails(),)),
        title=title,
        does=f"{title}, each time that it is asked for.",
        source=words.pop("source", SWALLOWED),
        shows=words.pop("shows", "An error, after what was shown of the text; no success."),
        severity=words.pop("severity", "must"),
        streams=(True,),
        fails=True,
        spare=True,
        task=task,
        script=always(turn),
        **words,
    )


for after in range(EVENTS):
    _breaks(f"cut-after-{after}", f"The connection closes after {after} of {EVENTS} events", cut(ONCE, after=after))

_breaks("cut-within-an-event", "The connection closes in the middle of a delta", cut(LONGER, after=13.5))
_breaks("reset", "The connection is reset in the middle of the text", cut(ONCE, after=6, reset=True))
_breaks(
    "end-without-final-event",
    "The stream ends in order, without a final event",
    end_stream(ONCE, after=8),
    source=UNENDED,
)
_breaks("empty", "The stream has no event at all", end_stream(ONCE, after=0), source=UNENDED)
_breaks(
    "error-event",
    "An `error` event ends the stream",
    stream_error(ONCE, after=6, code="server_error", message="The model went away."),
    fails("The model went away."),
    source="recorded streams, 2025 and 2026: the error is a member of the event",
    shows="An error with the API's words; no success with half a text.",
)
_breaks(
    "flat-error-event",
    "An `error` event in the form of the SDK's types ends the stream",
    stream_error(ONCE, after=6, message="The model went away.", flat=True),
    fails("The model went away."),
    source="types of the SDK, `ResponseErrorEvent`, 2026-10",
    shows="An error with the API's words; no success with half a text.",
    severity="should",
)
_breaks(
    "error-event-first",
    "An `error` event is all of the stream",
    stream_error(ONCE, after=0, code="rate_limit_exceeded", message="Rate limit reached."),
    fails("Rate limit reached."),
    source="recorded, 2025: limits of tokens are found when a stream has begun",
    shows="An error with the API's words.",
)
_breaks(
    "cut-within-a-call",
    "The connection closes within the arguments of a call",
    cut(function_call("deploy", ['{"ref":', '"v', '2"}']), after=5),
    fails(),
    runs(),
    task=replace(WITH_TOOL, tools=(DEPLOY,)),
    shows="An error; the function does not run.",
)
_breaks(
    "cut-after-a-call",
    "The connection closes after a whole call, before the response ends",
    cut(function_call("deploy", ['{"ref":', '"v2"}']), after=8),
    fails(),
    runs_at_most(1),
    task=replace(WITH_TOOL, tools=(DEPLOY,)),
    shows="An error; the function runs once at most: the response that called it does not exist.",
)
_breaks(
    "stall",
    "The stream stands still after some deltas, longer than the client waits",
    pause(ONCE, after=6, until=Gate()),
    task=replace(ASKED, timeout=1),
    source="public reports of streams that stand still, 2025; HTTP has no sign for it",
    shows="An error when the time is over.",
)
