"""Arguments and results of tools, and tools other than functions."""

from dataclasses import replace
from typing import Any

from harness.examine.case import DEPLOY, WEATHER, WITH_TOOL, case, turns
from harness.examine.checks import answers_calls, outputs, requests, runs, runs_at_most, shows
from harness.examine.task import Tool
from harness.items import custom_tool_call, function_call, message, tool_search_call, tool_search_output

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
    title="A function without arguments",
    does="The arguments are an empty object.",
    source="recorded of functions without parameters",
    shows="The function runs.",
    task=replace(WITH_TOOL, tools=(CLOCK,)),
    script=turns(function_call("get_time", "{}"), message("It is noon.")),
    checks=[shows("It is noon."), runs(("get_time", {}))],
)

case(
    "tools/empty-arguments",
    title="Arguments that are an empty text",
    does="The arguments are an empty text, not an empty object.",
    source="public reports of functions without parameters, 2025 and 2026",
    shows="The function runs, as with an empty object.",
    severity="should",
    task=replace(WITH_TOOL, tools=(CLOCK,)),
    script=turns(function_call("get_time", "", off_schema=True), message("It is noon.")),
    checks=[shows("It is noon."), runs(("get_time", {}))],
)

case(
    "tools/arguments-no-json",
    title="Arguments that are not JSON",
    does="The arguments break off within a text.",
    source="types of the SDK, `Function.arguments` of a chat: the model does not always generate valid JSON",
    shows="The function does not run. The model is told and answers, or the user sees an error: no crash, no hang.",
    fails=True,
    task=WITH_TOOL,
    script=turns(function_call("get_weather", '{"city": "Par', off_schema=True), message("I try again later.")),
    checks=[answers_calls(1), runs()],
)

case(
    "tools/recovers-from-no-json",
    title="The model is told of arguments that are not JSON",
    does="The arguments break off within a text; with an output for the call the model goes on.",
    source="types of the SDK, `Function.arguments` of a chat: validate them in your code",
    shows="The model gets an error as the output, and answers.",
    severity="should",
    task=WITH_TOOL,
    script=turns(function_call("get_weather", '{"city": "Par', off_schema=True), message("I try again later.")),
    checks=[shows("I try again later."), requests(2)],
)

case(
    "tools/arguments-off-schema",
    title="Arguments off the schema",
    does="A required argument is missing, another one is unknown.",
    source="types of the SDK, `Function.arguments` of a chat: the model may invent parameters",
    shows="The model is told or the function decides; no crash.",
    fails=True,
    task=WITH_TOOL,
    script=turns(function_call("get_weather", {"place": "Paris"}, off_schema=True), message("Which city?")),
    checks=[answers_calls(1), runs_at_most(1)],
)

case(
    "tools/arguments-of-each-type",
    title="Arguments of several types",
    does="The arguments are a text with odd characters, a number and an array.",
    source="JSON Schema; recorded",
    shows="The function gets them as they are.",
    task=replace(WITH_TOOL, tools=(SEARCH,)),
    script=turns(
        function_call("search", {"text": "Köln\n“a”", "limit": 3, "tags": ["x", ""]}), message("Nothing found.")
    ),
    checks=[shows("Nothing found."), runs(("search", {"text": "Köln\n“a”", "limit": 3, "tags": ["x", ""]}))],
)

case(
    "tools/arguments-in-small-deltas",
    title="Arguments in deltas of a character",
    does="Streamed, each character of the arguments is a delta, an escape is cut.",
    source="recorded streams, 2025: deltas end within escapes",
    shows="The function gets the arguments as they are.",
    streams=(True,),
    task=WITH_TOOL,
    script=turns(function_call("get_weather", list('{"city": "S\\u00e3o"}')), message("18 °C.")),
    checks=[shows("18 °C."), runs(("get_weather", {"city": "São"}))],
)

case(
    "tools/long-arguments",
    title="Arguments of 100 kB",
    does="An argument has 100,000 characters.",
    source="API reference: nothing limits the arguments of a call; recorded of functions that write files",
    shows="The function gets all of it.",
    task=replace(WITH_TOOL, tools=(WEATHER,)),
    script=turns(function_call("get_weather", ['{"city":"', *(["x" * 1000] * 100), '"}']), message("18 °C.")),
    checks=[shows("18 °C."), runs(("get_weather", {"city": "x" * 100_000}))],
)

CALL = function_call("get_weather", {"city": "Paris"})
RAISES = replace(WEATHER, raises="the station is closed")


def _returns(name: str, title: str, value: Any, *parts: str) -> None:
    case(
        f"tools/{name}",
        title=title,
        does=f"The function returns {title[0].lower()}{title[1:]}.",
        source="API reference: `output` of a `function_call_output` is a text or an array of parts, 2026-10",
        shows="The model gets it as a text, and answers.",
        task=replace(WITH_TOOL, tools=(replace(WEATHER, returns=value),)),
        script=turns(CALL, message("Done.")),
        checks=[shows("Done."), outputs(*parts)],
    )


_returns("empty-result", "An empty text", "", "")
_returns("structured-result", "An object", {"degrees": 18, "sky": ["clear"]}, "degrees")
_returns("long-result", "A text of 300 kB", "0123456789" * 30_000, "0123456789" * 1000)
_returns("odd-result", "A text with odd characters", 'Köln\n“a” \\ " 👩\u200d👧', "👩\u200d👧")

case(
    "tools/raises",
    title="A tool that raises",
    does="The function raises an error.",
    source="API reference: a function may fail; its output says so, 2026-10",
    shows="The model is told, or the user sees an error; the function is not run again by itself.",
    fails=True,
    task=replace(WITH_TOOL, tools=(RAISES,)),
    script=turns(CALL, message("The station is closed.")),
    checks=[runs(("get_weather", {"city": "Paris"})), answers_calls(1)],
)

case(
    "tools/recovers-from-an-error",
    title="The model is told of an error",
    does="The function raises an error; with an output for the call the model goes on.",
    source="API reference: return an error as the output, 2026-10",
    shows="The model gets an output, and answers.",
    severity="may",
    task=replace(WITH_TOOL, tools=(RAISES,)),
    script=turns(CALL, message("The station is closed.")),
    checks=[shows("The station is closed."), requests(2)],
)

case(
    "tools/one-of-two-raises",
    title="One of two tools raises",
    does="Two calls in one response; the function of the first raises an error.",
    source="public reports of calls that stayed without an output, 2025: the next request is refused",
    shows="Both calls are answered, or the user sees an error.",
    fails=True,
    task=replace(WITH_TOOL, tools=(RAISES, DEPLOY)),
    script=turns([CALL, function_call("deploy", {"ref": "v2"})], message("Half done.")),
    checks=[answers_calls(2), runs(("get_weather", {"city": "Paris"}), ("deploy", {"ref": "v2"}))],
)

case(
    "tools/unknown-tool",
    title="A call of an unknown tool",
    does="The model calls a function that the client has not declared.",
    source="public reports of invented names of functions, 2024 to 2026",
    shows="The model is told, or the user sees an error: no crash, no hang.",
    fails=True,
    task=WITH_TOOL,
    script=turns(function_call("get_whether", {"city": "Paris"}, off_schema=True), message("I have no such tool.")),
    checks=[answers_calls(1), runs()],
)

case(
    "tools/unknown-beside-known",
    title="A call of an unknown tool beside a known one",
    does="One response calls a function of the client and one that it has not declared.",
    source="public reports of invented names of functions, 2024 to 2026",
    shows="Both calls are answered, or the user sees an error.",
    fails=True,
    task=WITH_TOOL,
    script=turns([CALL, function_call("get_whether", {"city": "Oslo"}, off_schema=True)], message("Only Paris.")),
    checks=[answers_calls(2)],
)

RUN = Tool("run_code", "Run a program.", returns="42", custom=True)
LATER = replace(WEATHER, deferred=True)
TOOL_SEARCH = {"type": "tool_search"}
FOUND = {
    "type": "function",
    "name": WEATHER.name,
    "description": WEATHER.description,
    "parameters": dict(WEATHER.parameters),
    "strict": False,
    "defer_loading": True,
}

case(
    "tools/custom",
    title="A custom tool",
    does="The model calls a custom tool with a text that is not JSON.",
    source="API reference, tools of type `custom`, 2025-08; recorded",
    shows="The tool gets the text as it is; the output is a `custom_tool_call_output`.",
    task=replace(WITH_TOOL, tools=(RUN,), model="gpt-5"),
    script=turns(custom_tool_call("run_code", 'print("6 × 7")\n'), message("It is 42.")),
    checks=[shows("It is 42."), runs(("run_code", 'print("6 × 7")\n'))],
)

case(
    "tools/custom-like-json",
    title="A custom tool whose text looks like JSON",
    does="The text of a custom tool is that of a JSON object.",
    source="API reference: the input of a custom tool is any text, 2025-08",
    shows="The tool gets the text, not an object.",
    task=replace(WITH_TOOL, tools=(RUN,), model="gpt-5"),
    script=turns(custom_tool_call("run_code", '{"a": 1}'), message("It is 42.")),
    checks=[shows("It is 42."), runs(("run_code", '{"a": 1}'))],
)

case(
    "tools/custom-beside-function",
    title="A custom tool and a function in one response",
    does="One response calls a custom tool and a function.",
    source="API reference, tools of type `custom`, 2025-08",
    shows="Both run; each gets the output of its own kind.",
    task=replace(WITH_TOOL, tools=(RUN, DEPLOY), model="gpt-5"),
    script=turns([custom_tool_call("run_code", "1"), function_call("deploy", {"ref": "v2"})], message("Done.")),
    checks=[shows("Done."), runs(("run_code", "1"), ("deploy", {"ref": "v2"}))],
)

case(
    "tools/deferred",
    title="A deferred tool",
    does="The API searches for a deferred function and finds it, then the model calls it.",
    source="API reference, `defer_loading` and the tool `tool_search`, 2026-03; recorded",
    shows="The function runs; the items of the search go back as they were.",
    task=replace(WITH_TOOL, tools=(LATER,), hosted_tools=(TOOL_SEARCH,), model="gpt-5.4"),
    script=turns(
        [
            tool_search_call({"paths": ["get_weather"]}),
            tool_search_output([FOUND]),
            function_call("get_weather", {"city": "Paris"}),
        ],
        message("18 °C."),
    ),
    checks=[shows("18 °C."), runs(("get_weather", {"city": "Paris"}))],
)
