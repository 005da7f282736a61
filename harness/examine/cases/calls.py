"""Tool calls: their number, their tools and their order."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from harness.examine.case import ASKED_TWICE, DEPLOY, WEATHER, WITH_TOOL, case, turns
from harness.examine.checks import contains, outputs, requests, runs, shows, uses_tokens
from harness.examine.task import Tool, string_parameters
from harness.items import function_call, message
from harness.world.route import Turn

PARIS = {"city": "Paris"}
OSLO = {"city": "Oslo"}
TWO_TOOLS = replace(WITH_TOOL, tools=(WEATHER, DEPLOY))
SAYINGS, TURNS, MANY = 6, 8, 6
READ = Tool("read_page", "Read a page.", string_parameters("page"), returns="read")
PARALLEL = "API reference: `parallel_tool_calls` is true by default, 2026-10; recorded"

case(
    "tools/one-call",
    title="One call",
    does="The model calls a function, then answers.",
    source="every recorded flow with a tool",
    shows="The function runs once with its arguments; then the answer.",
    task=WITH_TOOL,
    script=turns(function_call("get_weather", PARIS), message("18 °C in Paris.")),
    checks=[shows("18 °C in Paris."), runs(("get_weather", PARIS)), requests(2)],
)

case(
    "tools/parallel-calls",
    title="Calls of two functions in one response",
    does="The output has calls of two functions.",
    source=PARALLEL,
    shows="Both run; both outputs go back in one request.",
    task=TWO_TOOLS,
    script=turns([function_call("get_weather", PARIS), function_call("deploy", {"ref": "v2"})], message("Done.")),
    checks=[shows("Done."), runs(("get_weather", PARIS), ("deploy", {"ref": "v2"})), requests(2)],
)

case(
    "tools/same-tool-twice",
    title="Two calls of one function in one response",
    does="The output has two calls of the same function, with other arguments.",
    source=PARALLEL,
    shows="The function runs for each call.",
    task=WITH_TOOL,
    script=turns([function_call("get_weather", PARIS), function_call("get_weather", OSLO)], message("Done.")),
    checks=[shows("Done."), runs(("get_weather", PARIS), ("get_weather", OSLO)), requests(2)],
)

case(
    "tools/equal-calls",
    title="Two equal calls in one response",
    does="The output has two calls of the same function with the same arguments; only their `call_id` differs.",
    source="recorded of models with parallel calls, 2025; a call is known by its `call_id` alone",
    shows="The function runs for each; each `call_id` is answered.",
    task=WITH_TOOL,
    script=turns([function_call("get_weather", PARIS), function_call("get_weather", PARIS)], message("Done.")),
    checks=[shows("Done."), runs(("get_weather", PARIS), ("get_weather", PARIS))],
)

case(
    "tools/order-of-outputs",
    title="Each output belongs to its call",
    does="Two calls of functions with other results.",
    source="API reference: an output names its call by `call_id`, 2026-10",
    shows="Each call is answered with the result of its own function.",
    task=TWO_TOOLS,
    script=turns([function_call("get_weather", PARIS), function_call("deploy", {"ref": "v2"})], message("Done.")),
    checks=[shows("Done."), outputs("18 °C", "live")],
)

case(
    "tools/one-after-another",
    title="Three calls, one after another",
    does="The model calls again after it got an output, three times.",
    source="every recorded flow of an agent",
    shows="The functions run in this order, each once.",
    task=TWO_TOOLS,
    script=turns(
        function_call("get_weather", PARIS),
        function_call("deploy", {"ref": "v2"}),
        function_call("get_weather", OSLO),
        message("Done."),
    ),
    checks=[
        shows("Done."),
        runs(("get_weather", PARIS), ("deploy", {"ref": "v2"}), ("get_weather", OSLO), ordered=True),
        requests(4),
    ],
)

case(
    "tools/usage",
    title="The usage of a tool loop",
    does="Each response of a loop counts its tokens: one calls a function, the next one answers.",
    source="API reference, `usage` of a response, 2026-10; recorded in every completed response",
    shows="The sum of what the responses counted.",
    severity="should",
    task=replace(ASKED_TWICE, tools=(WEATHER,)),
    script=turns(function_call("get_weather", PARIS), message("18 °C."), message("Rain.")),
    checks=[shows("18 °C.", "Rain."), uses_tokens()],
)

case(
    "tools/text-beside-a-call",
    title="A text beside a call",
    does="The output has a message, then a call.",
    source="recorded of most models, 2025 and 2026",
    shows="The function runs; the text is not mistaken for the end.",
    task=WITH_TOOL,
    script=turns([message("I look it up."), function_call("get_weather", PARIS)], message("Done.")),
    checks=[contains("Done."), runs(("get_weather", PARIS)), requests(2)],
)

case(
    "tools/text-after-a-call",
    title="A text after a call",
    does="The output has a call, then a message.",
    source="types of the SDK, `Response.output`: its length and order depend on the model",
    shows="The function runs; the text is not mistaken for the end.",
    task=WITH_TOOL,
    script=turns([function_call("get_weather", PARIS), message("A moment.")], message("Done.")),
    checks=[contains("Done."), runs(("get_weather", PARIS))],
)


def _read_chapters() -> Iterator[Turn]:
    pages = count()
    for _ in range(SAYINGS):
        yield from ([function_call("read_page", {"page": f"{next(pages)}"}) for _ in range(MANY)] for _ in range(TURNS))
        yield message("Read.")


case(
    "tools/turns-of-many-calls",
    title="Turns of many calls",
    does=f"For each of {SAYINGS} prompts {TURNS} responses, one after the other, have {MANY} calls each.",
    source="public report against openai-agents 0.8.0 to 0.17.6, 2026: outputs taken for sent; docs/stories/tracker.md",
    shows="Each call runs once and is answered.",
    task=replace(WITH_TOOL, tools=(READ,), prompts=tuple(f"Read chapter {number}." for number in range(SAYINGS))),
    script=turns(*_read_chapters()),
    seconds=120,
    checks=[
        shows(*("Read." for _ in range(SAYINGS))),
        runs(*(("read_page", {"page": f"{number}"}) for number in range(SAYINGS * TURNS * MANY))),
        requests(SAYINGS * (TURNS + 1)),
    ],
)

case(
    "tools/forty-calls-at-once",
    title="Forty calls in one response",
    does="One response has forty calls.",
    source="API reference: nothing limits the calls of a response, 2026-10",
    shows="Each call runs once; all outputs go back in one request.",
    severity="should",
    task=replace(WITH_TOOL, tools=(READ,)),
    script=turns([function_call("read_page", {"page": f"{number}"}) for number in range(40)], message("Read.")),
    checks=[shows("Read."), runs(*(("read_page", {"page": f"{number}"}) for number in range(40))), requests(2)],
)

case(
    "tools/call-in-each-prompt",
    title="The same call for two prompts",
    does="The model calls the function for the first prompt, and again for the second.",
    source="every recorded conversation with tools",
    shows="The function runs each time: nothing is answered from before.",
    task=replace(ASKED_TWICE, tools=(WEATHER,)),
    script=turns(
        function_call("get_weather", PARIS),
        message("18 °C."),
        function_call("get_weather", PARIS),
        message("Still 18 °C."),
    ),
    checks=[shows("18 °C.", "Still 18 °C."), runs(("get_weather", PARIS), ("get_weather", PARIS)), requests(4)],
)

case(
    "tools/call-in-the-last-turn",
    title="A call in the last turn",
    does="After two prompts the last turn of the session is a call, then an empty text.",
    source="public reports of histories that end with a call, 2025; a call without an output is refused",
    shows="The function runs and its output is sent, though nothing is said after it.",
    task=replace(ASKED_TWICE, tools=(DEPLOY,)),
    script=turns(
        message("Done."),
        [message("You are welcome."), function_call("deploy", {"ref": "v2"})],
        message("You are welcome."),
    ),
    checks=[shows("Done.", "You are welcome."), runs(("deploy", {"ref": "v2"}))],
)
