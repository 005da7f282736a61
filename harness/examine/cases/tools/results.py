"""What a tool returns, and what goes wrong with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.examine.case import case, turns
from harness.examine.cases.common import DEPLOY, WEATHER, WITH_TOOL
from harness.examine.checks import answers_calls, outputs, requests, runs, shows
from harness.items import function_call, message

CALL = function_call("get_weather", {"city": "Paris"})
RAISES = replace(WEATHER, raises="the station is closed")


def _returns(name: str, title: str, value: Any, *parts: str) -> None:
    case(
        f"tools/{name}",
        shows("Done."),
        outputs(*parts),
        title=title,
        does=f"The function returns {title[0].lower()}{title[1:]}.",
        source="API reference: `output` of a `function_call_output` is a text or an array of parts, 2026-10",
        shows="The model gets it as a text, and answers.",
        severity="must",
        task=replace(WITH_TOOL, tools=(replace(WEATHER, returns=value),)),
        script=turns(CALL, message("Done.")),
    )


_returns("empty-result", "An empty text", "", "")
_returns("structured-result", "An object", {"degrees": 18, "sky": ["clear"]}, "degrees")
_returns("long-result", "A text of 300 kB", "0123456789" * 30_000, "0123456789" * 1000)
_returns("odd-result", "A text with odd characters", 'Köln\n“a” \\ " 👩\u200d👧', "👩\u200d👧")

case(
    "tools/raises",
    runs(("get_weather", {"city": "Paris"})),
    answers_calls(1),
    title="A tool that raises",
    does="The function raises an error.",
    source="API reference: a function may fail; its output says so, 2026-10",
    shows="The model is told, or the user sees an error; the function is not run again by itself.",
    severity="must",
    fails=True,
    spare=True,
    task=replace(WITH_TOOL, tools=(RAISES,)),
    script=turns(CALL, message("The station is closed.")),
)

case(
    "tools/recovers-from-an-error",
    shows("The station is closed."),
    requests(2),
    title="The model is told of an error",
    does="The function raises an error; with an output for the call the model goes on.",
    source="API reference: return an error as the output, 2026-10",
    shows="The model gets an output, and answers.",
    severity="may",
    task=replace(WITH_TOOL, tools=(RAISES,)),
    script=turns(CALL, message("The station is closed.")),
)

case(
    "tools/one-of-two-raises",
    answers_calls(2),
    runs(("get_weather", {"city": "Paris"}), ("deploy", {"ref": "v2"})),
    title="One of two tools raises",
    does="Two calls in one response; the function of the first raises an error.",
    source="public reports of calls that stayed without an output, 2025: the next request is refused",
    shows="Both calls are answered, or the user sees an error.",
    severity="must",
    fails=True,
    spare=True,
    task=replace(WITH_TOOL, tools=(RAISES, DEPLOY)),
    script=turns([CALL, function_call("deploy", {"ref": "v2"})], message("Half done.")),
)

case(
    "tools/unknown-tool",
    answers_calls(1),
    runs(),
    title="A call of an unknown tool",
    does="The model calls a function that the client has not declared.",
    source="public reports of invented names of functions, 2024 to 2026",
    shows="The model is told, or the user sees an error: no crash, no hang.",
    severity="must",
    fails=True,
    spare=True,
    task=WITH_TOOL,
    script=turns(function_call("get_whether", {"city": "Paris"}, off_schema=True), message("I have no such tool.")),
)

case(
    "tools/unknown-beside-known",
    answers_calls(2),
    title="A call of an unknown tool beside a known one",
    does="One response calls a function of the client and one that it has not declared.",
    source="public reports of invented names of functions, 2024 to 2026",
    shows="Both calls are answered, or the user sees an error.",
    severity="must",
    fails=True,
    spare=True,
    task=WITH_TOOL,
    script=turns([CALL, function_call("get_whether", {"city": "Oslo"}, off_schema=True)], message("Only Paris.")),
)
