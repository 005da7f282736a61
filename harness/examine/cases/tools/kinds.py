"""Other tools than functions: custom ones, deferred ones."""

from __future__ import annotations

from dataclasses import replace

from harness.examine.case import case, turns
from harness.examine.cases.common import DEPLOY, WEATHER, WITH_TOOL
from harness.examine.checks import runs, shows
from harness.examine.task import Tool
from harness.items import custom_tool_call, function_call, message, tool_search_call, tool_search_output

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
    shows("It is 42."),
    runs(("run_code", 'print("6 × 7")\n')),
    title="A custom tool",
    does="The model calls a custom tool with a text that is no JSON.",
    source="API reference, tools of type `custom`, 2025-08; recorded",
    shows="The tool gets the text as it is; the output is a `custom_tool_call_output`.",
    severity="must",
    task=replace(WITH_TOOL, tools=(RUN,), model="gpt-5"),
    script=turns(custom_tool_call("run_code", 'print("6 × 7")\n'), message("It is 42.")),
)

case(
    "tools/custom-like-json",
    shows("It is 42."),
    runs(("run_code", '{"a": 1}')),
    title="A custom tool whose text looks like JSON",
    does="The text of a custom tool is that of a JSON object.",
    source="API reference: the input of a custom tool is any text, 2025-08",
    shows="The tool gets the text, not an object.",
    severity="must",
    task=replace(WITH_TOOL, tools=(RUN,), model="gpt-5"),
    script=turns(custom_tool_call("run_code", '{"a": 1}'), message("It is 42.")),
)

case(
    "tools/custom-beside-function",
    shows("Done."),
    runs(("run_code", "1"), ("deploy", {"ref": "v2"})),
    title="A custom tool and a function in one response",
    does="One response calls a custom tool and a function.",
    source="API reference, tools of type `custom`, 2025-08",
    shows="Both run; each gets the output of its own kind.",
    severity="must",
    task=replace(WITH_TOOL, tools=(RUN, DEPLOY), model="gpt-5"),
    script=turns([custom_tool_call("run_code", "1"), function_call("deploy", {"ref": "v2"})], message("Done.")),
)

case(
    "tools/deferred",
    shows("18 °C."),
    runs(("get_weather", {"city": "Paris"})),
    title="A deferred tool",
    does="The API searches for a deferred function and finds it, then the model calls it.",
    source="API reference, `defer_loading` and the tool `tool_search`, 2026-03; recorded",
    shows="The function runs; the items of the search go back as they were.",
    severity="must",
    task=replace(WITH_TOOL, tools=(LATER,), hosted_tools=(TOOL_SEARCH,), model="gpt-5.4"),
    script=turns(
        [
            tool_search_call({"paths": ["get_weather"]}),
            tool_search_output([FOUND]),
            function_call("get_weather", {"city": "Paris"}),
        ],
        message("18 °C."),
    ),
)
