"""How the bytes of a stream arrive: nothing of it changes what was said."""

from __future__ import annotations

from typing import Any

from harness.examine.case import case, turns
from harness.examine.cases.common import ASKED, WITH_TOOL
from harness.examine.checks import requests, runs, shows, streamed
from harness.faults import chunks, framing, insert_event, pace, pause, skip_numbers
from harness.items import function_call, message
from harness.world.script import Turn

TEXT = ["Grüße", " aus", " Köln", " 日本", " 👩\u200d👧."]
SAID = "".join(TEXT)
STANDARD = "the HTML standard, server-sent events, 9.2.5 and 9.2.6"
TCP = "TCP and HTTP/1.1 cut a body anywhere"


def _arrives(name: str, title: str, script: Turn, source: str, **words: Any) -> None:
    case(
        f"streams/{name}",
        shows(SAID),
        streamed(SAID),
        requests(1),
        title=title[0].upper() + title[1:],
        does=f"The stream of one message comes with {title}.",
        source=source,
        shows="The text, as it was said, once.",
        severity=words.pop("severity", "must"),
        streams=words.pop("streams", (True,)),
        task=ASKED,
        script=turns(script),
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
    shows("18 °C."),
    runs(("get_weather", {"city": "São Paulo"})),
    title="A call, each byte alone",
    does="The stream of a call comes byte by byte.",
    source=TCP,
    shows="The function runs once with its arguments.",
    severity="must",
    streams=(True,),
    task=WITH_TOOL,
    script=turns(chunks(function_call("get_weather", {"city": "São Paulo"}), size=1), message("18 °C.")),
)
