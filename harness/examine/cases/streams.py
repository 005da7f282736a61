"""Streams of events: how they arrive, and how they break."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.core.delivery import Gate
from harness.core.exchange import Answer
from harness.ending import incomplete
from harness.examine.case import ASKED, ASKED_TWICE, DEPLOY, WITH_TOOL, Check, always, case, turns
from harness.examine.checks import (
    contains,
    continues,
    fails,
    requests,
    runs,
    runs_at_most,
    shows,
    shows_or_fails,
    streamed,
    unless_failed,
    uses_tokens,
)
from harness.faults import chunks, cut, end_stream, framing, insert_event, pace, pause, skip_numbers, stream_error
from harness.faults.alterations import Alteration
from harness.items import function_call, message
from harness.world.route import Turn

TEXT = ["Grüße", " aus", " Köln", " 日本", " 👩\u200d👧."]
SAID = "".join(TEXT)
STANDARD = "the HTML standard, server-sent events, 9.2.5 and 9.2.6"
TCP = "TCP and HTTP/1.1 cut a body anywhere"


@dataclass(frozen=True, slots=True)
class EditedDeltas(Alteration):
    """Sends each delta `was` as `sent`; the `done` event has the right text."""

    was: str
    sent: str

    def alter(self, answer: Answer) -> Answer:
        """Edit the events; an answer that is not a stream is unchanged."""
        if answer.events is None:
            return answer
        edited = [{**event, "delta": self.sent} if event.get("delta") == self.was else event for event in answer.events]
        return answer._replace(events=edited)


def _arrives(name: str, title: str, script: Turn, source: str, **words: Any) -> None:
    case(
        f"streams/{name}",
        title=title[0].upper() + title[1:],
        does=f"The stream of one message comes with {title}.",
        source=source,
        shows="The text as the model wrote it, once.",
        streams=words.pop("streams", (True,)),
        script=turns(script),
        checks=[shows(SAID), streamed(SAID), requests(1)],
        **words,
    )


_arrives("event-by-event", "each event at its own time", pause(message(TEXT), seconds=0.005), "every recorded stream")
_arrives("paced", "the pace of a model", pace(message(TEXT), ttft="50ms", tokens="200/s"), "every recorded stream")
_arrives("one-chunk", "all events in one chunk", chunks(message(TEXT), size=0), TCP)
_arrives("bytes", "each byte alone", chunks(message(TEXT), size=1), f"{TCP}: in the middle of a character, of a line")
_arrives(
    "odd-chunks", "chunks of 1021 bytes", chunks(message(TEXT), size=1021), f"{TCP}: several events, and half of one"
)
_arrives("crlf", "line ends CRLF", framing(message(TEXT), line_end="crlf"), STANDARD)
_arrives(
    "crlf-in-bytes",
    "line ends CRLF, each byte alone",
    chunks(framing(message(TEXT), line_end="crlf"), size=1),
    f"{STANDARD}; {TCP}: between CR and LF",
)
_arrives(
    "comments",
    "a comment before each event",
    framing(message(TEXT), comment="keep-alive"),
    f"{STANDARD}: lines that begin with a colon are ignored; proxies send them to keep a connection",
)
_arrives("cr", "line ends CR", framing(message(TEXT), line_end="cr"), STANDARD, severity="may")
_arrives(
    "byte-order-mark",
    "a byte order mark at its beginning",
    framing(message(TEXT), bom=True),
    f"{STANDARD}: one is ignored",
    severity="may",
)
_arrives(
    "ids-and-retries",
    "the lines `id` and `retry` in each event",
    framing(message(TEXT), fields=["id: 7", "retry: 3000"]),
    f"{STANDARD}: fields that are not of the data; gateways send them",
    severity="should",
)
_arrives(
    "no-spaces",
    "no space after the colons",
    framing(message(TEXT), space=False),
    f"{STANDARD}: the space is optional; gateways leave it out",
    severity="should",
)
_arrives(
    "several-data-lines",
    "the data of each event in two lines",
    framing(message(TEXT), data_lines=2),
    f"{STANDARD}: `data` lines of one event are joined by a line feed",
    severity="may",
)
_arrives(
    "keepalive",
    "a `keepalive` event",
    insert_event(message(TEXT), {"type": "keepalive"}, after=5),
    "recorded streams of long responses, 2026",
)
_arrives(
    "gap",
    "a gap in the sequence numbers",
    skip_numbers(message(TEXT), after=5, by=3),
    "API reference: `sequence_number` orders events; recorded streams of gateways leave some out",
    severity="should",
)
_arrives(
    "short-stall",
    "a pause of half a second",
    pause(message(TEXT), after=5, seconds=0.5),
    "recorded of models that think",
)
_arrives(
    "json-in-bytes",
    "each byte of its JSON alone",
    chunks(message(TEXT), size=1),
    TCP,
    severity="should",
    streams=(False,),
)

case(
    "streams/call-in-bytes",
    title="A call, each byte alone",
    does="The stream of a call comes byte by byte.",
    source=TCP,
    shows="The function runs once with its arguments.",
    streams=(True,),
    task=WITH_TOOL,
    script=turns(chunks(function_call("get_weather", {"city": "São Paulo"}), size=1), message("18 °C.")),
    checks=[shows("18 °C."), runs(("get_weather", {"city": "São Paulo"}))],
)

DONE_SAID = [
    "A stream of chats ends with",
    " data: [DONE]",
    " on a line of its own.",
    "\n\ndata: [DONE]\n\n",
    "That is all.",
]

case(
    "streams/done-in-text",
    title="A text that contains [DONE]",
    does="The text explains how a stream of Chat Completions ends; a stream of the Responses API has no such line.",
    source="every recorded stream of a response ends without `[DONE]`; a model may say anything",
    shows="The text to its end.",
    streams=(True,),
    script=turns(message(DONE_SAID)),
    checks=[shows("".join(DONE_SAID)), streamed("".join(DONE_SAID))],
)

case(
    "streams/deltas-differ",
    title="Deltas that differ from the text",
    does="A delta has a slip that `response.output_text.done`, the item and the response have not.",
    source="API reference: `done` has the text that is finalized, 2026-10",
    shows="In the end the text of the response.",
    severity="should",
    streams=(True,),
    script=turns([message(["Sunny", " today", "."]), EditedDeltas(" today", " toady")]),
    checks=[shows("Sunny today.")],
)

case(
    "streams/no-blank-line-at-the-end",
    title="No empty line after the last event",
    does="The stream ends right after the line with the data of its last event.",
    source=f"{STANDARD}: such an event is discarded, many readers take it",
    shows="The text, or an error: the response did not end.",
    severity="may",
    streams=(True,),
    spare=True,
    script=always(framing(message(TEXT), unended=True)),
    checks=[shows_or_fails(SAID)],
)

case(
    "streams/goes-on-after-incomplete",
    title="`response.incomplete` is the end of a stream as well",
    does="A stream ends with `response.incomplete`; the answer to the next prompt is complete.",
    source="recorded, 2025: `response.incomplete` comes instead of `response.completed`, with the response and its usage",
    shows="The second answer, after the first one in the same session; the usage of both. Or an error.",
    streams=(True,),
    losses=("partial-taken",),
    spare=True,
    task=ASKED_TWICE,
    script=turns([message("Once upon a"), incomplete()], message("time, the end.")),
    checks=[unless_failed(contains("time, the end."), uses_tokens(), continues())],
)

ONCE = message(["Once ", "upon ", "a ", "time."])
LONGER = message([f"{number} " for number in range(20)])
EVENTS = 12
"""The number of events in the stream of `ONCE`."""
SWALLOWED = "https://github.com/langchain-ai/langchain/issues/39039: a failed stream was taken for a whole one"
UNENDED = "https://github.com/theimaginaryfoundation/what-iff/issues/132: a stream ended without `response.completed`"


def _breaks(name: str, title: str, turn: Turn, *, checks: Sequence[Check] = (), **words: Any) -> None:
    case(
        f"streams/{name}",
        title=title,
        does=f"{title}, each time that it is asked for.",
        source=words.pop("source", SWALLOWED),
        shows=words.pop("shows", "An error, after what was shown of the text; no success."),
        streams=(True,),
        spare=True,
        script=always(turn),
        checks=checks or (fails(),),
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
    checks=[fails("The model went away.")],
    source="recorded streams, 2025 and 2026: the error is a member of the event",
    shows="An error with the API's words; no success with half a text.",
)
_breaks(
    "flat-error-event",
    "An `error` event in the form of the SDK's types ends the stream",
    stream_error(ONCE, after=6, message="The model went away.", flat=True),
    checks=[fails("The model went away.")],
    source="types of the SDK, `ResponseErrorEvent`, 2026-10",
    shows="An error with the API's words; no success with half a text.",
    severity="should",
)
_breaks(
    "error-event-first",
    "An `error` event is all of the stream",
    stream_error(ONCE, after=0, code="rate_limit_exceeded", message="Rate limit reached."),
    checks=[fails("Rate limit reached.")],
    source="recorded, 2025: limits of tokens are found when a stream has begun",
    shows="An error with the API's words.",
)
_breaks(
    "cut-within-a-call",
    "The connection closes within the arguments of a call",
    cut(function_call("deploy", ['{"ref":', '"v', '2"}']), after=5),
    checks=[fails(), runs()],
    task=replace(WITH_TOOL, tools=(DEPLOY,)),
    shows="An error; the function does not run.",
)
_breaks(
    "cut-after-a-call",
    "The connection closes after a whole call, before the response ends",
    cut(function_call("deploy", ['{"ref":', '"v2"}']), after=8),
    checks=[fails(), runs_at_most(1)],
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
