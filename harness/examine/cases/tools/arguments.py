"""What the arguments of a call may be."""

from __future__ import annotations

from dataclasses import replace

from harness.examine.case import case, turns
from harness.examine.cases.common import WEATHER, WITH_TOOL
from harness.examine.checks import answers_calls, requests, runs, runs_at_most, shows
from harness.examine.task import Tool
from harness.items import function_call, message

CLOCK = Tool("get_time", "The time of day.", returns="noon")
SEARCH = Tool(
    "search",
    "Search for a text.",
    {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "limit": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["text", "limit", "tags"],
        "additionalProperties": False,
    },
    returns="nothing",
)

case(
    "tools/no-arguments",
    shows("It is noon."),
    runs(("get_time", {})),
    title="A function without arguments",
    does="The arguments are an empty object.",
    source="recorded of functions without parameters",
    shows="The function runs.",
    severity="must",
    task=replace(WITH_TOOL, tools=(CLOCK,)),
    script=turns(function_call("get_time", "{}"), message("It is noon.")),
)

case(
    "tools/empty-arguments",
    shows("It is noon."),
    runs(("get_time", {})),
    title="Arguments that are an empty text",
    does="The arguments are an empty text, not an empty object.",
    source="public reports of functions without parameters, 2025 and 2026",
    shows="The function runs, as with an empty object.",
    severity="should",
    task=replace(WITH_TOOL, tools=(CLOCK,)),
    script=turns(function_call("get_time", "", off_schema=True), message("It is noon.")),
)

case(
    "tools/arguments-no-json",
    answers_calls(1),
    runs(),
    title="Arguments that are no JSON",
    does="The arguments break off within a text.",
    source="types of the SDK, `Function.arguments` of a chat: the model does not always generate valid JSON",
    shows="The function does not run. The model is told and answers, or the user sees an error: no crash, no hang.",
    severity="must",
    fails=True,
    spare=True,
    task=WITH_TOOL,
    script=turns(function_call("get_weather", '{"city": "Par', off_schema=True), message("I try again later.")),
)

case(
    "tools/recovers-from-no-json",
    shows("I try again later."),
    requests(2),
    title="The model is told of arguments that are no JSON",
    does="The arguments break off within a text; with an output for the call the model goes on.",
    source="types of the SDK, `Function.arguments` of a chat: validate them in your code",
    shows="The model gets an error as the output, and answers.",
    severity="should",
    task=WITH_TOOL,
    script=turns(function_call("get_weather", '{"city": "Par', off_schema=True), message("I try again later.")),
)

case(
    "tools/arguments-off-schema",
    answers_calls(1),
    runs_at_most(1),
    title="Arguments off the schema",
    does="A required argument is missing, another one is unknown.",
    source="types of the SDK, `Function.arguments` of a chat: the model may invent parameters",
    shows="The model is told or the function decides; no crash.",
    severity="must",
    fails=True,
    spare=True,
    task=WITH_TOOL,
    script=turns(function_call("get_weather", {"place": "Paris"}, off_schema=True), message("Which city?")),
)

case(
    "tools/arguments-of-each-type",
    shows("Nothing found."),
    runs(("search", {"text": "Köln\n“a”", "limit": 3, "tags": ["x", ""]})),
    title="Arguments of several types",
    does="The arguments are a text with odd characters, a number and an array.",
    source="JSON Schema; recorded",
    shows="The function gets them as they are.",
    severity="must",
    task=replace(WITH_TOOL, tools=(SEARCH,)),
    script=turns(
        function_call("search", {"text": "Köln\n“a”", "limit": 3, "tags": ["x", ""]}), message("Nothing found.")
    ),
)

case(
    "tools/arguments-in-small-deltas",
    shows("18 °C."),
    runs(("get_weather", {"city": "São"})),
    title="Arguments in deltas of a character",
    does="Streamed, each character of the arguments is a delta, an escape is cut.",
    source="recorded streams, 2025: deltas end within escapes",
    shows="The function gets the arguments as they are.",
    severity="must",
    streams=(True,),
    task=WITH_TOOL,
    script=turns(function_call("get_weather", list('{"city": "S\\u00e3o"}')), message("18 °C.")),
)

case(
    "tools/long-arguments",
    shows("18 °C."),
    runs(("get_weather", {"city": "x" * 100_000})),
    title="Arguments of 100 kB",
    does="An argument has 100,000 characters.",
    source="API reference: nothing limits the arguments of a call; recorded of functions that write files",
    shows="The function gets all of it.",
    severity="must",
    task=replace(WITH_TOOL, tools=(WEATHER,)),
    script=turns(function_call("get_weather", ['{"city":"', *(["x" * 1000] * 100), '"}']), message("18 °C.")),
)
