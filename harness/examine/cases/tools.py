"""How a model calls the tools of a client."""

from __future__ import annotations

from harness.examine.case import case, turns
from harness.examine.checks import requests, runs, shows
from harness.examine.task import Task, Tool, string_parameters
from harness.items import function_call, message

WEATHER = Tool("get_weather", "The weather of a city.", string_parameters("city"), returns="18 °C")
ASKED = Task(prompts=("How is the weather?",), tools=(WEATHER,))

case(
    "tools/one-call",
    shows("18 °C in Paris."),
    runs(("get_weather", {"city": "Paris"})),
    requests(2),
    title="One call",
    does="The model calls a function, then answers.",
    source="every recorded flow with a tool",
    shows="The function runs once with its arguments; the answer after it.",
    severity="must",
    task=ASKED,
    script=turns(function_call("get_weather", {"city": "Paris"}), message("18 °C in Paris.")),
)

case(
    "tools/parallel-calls",
    shows("Done."),
    runs(("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Oslo"})),
    requests(2),
    title="Two calls of one function in one response",
    does="The output has two calls of the same function.",
    source="the reference: `parallel_tool_calls` is true by default",
    shows="Both run, both outputs go back in one request.",
    severity="must",
    task=ASKED,
    script=turns(
        [function_call("get_weather", {"city": "Paris"}), function_call("get_weather", {"city": "Oslo"})],
        message("Done."),
    ),
)
