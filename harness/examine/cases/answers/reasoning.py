"""What reasoning models put before their answers."""

from __future__ import annotations

from dataclasses import replace

from harness.examine.case import case, turns
from harness.examine.cases.common import ASKED, ASKED_TWICE, REASONING_MODEL, WITH_TOOL
from harness.examine.checks import reasons, runs, shows
from harness.items import function_call, message, reasoning

THINKS = replace(ASKED_TWICE, model=REASONING_MODEL)
SUMMARY = {"reasoning": {"summary": "auto"}}

case(
    "answers/reasoning-first",
    shows("Sunny.", "Rain."),
    title="Reasoning without a summary",
    does="The output begins with a reasoning item that shows nothing.",
    source="every recorded answer of a reasoning model without `reasoning.summary`",
    shows="The text alone; what is replayed holds the reasoning or leaves it out.",
    severity="must",
    task=THINKS,
    script=turns([reasoning(), message("Sunny.")], [reasoning(), message("Rain.")]),
)

case(
    "answers/reasoning-summary",
    shows("Sunny."),
    reasons("**Looking it up**"),
    title="Reasoning with a summary",
    does="The reasoning item has a summary, which was asked for.",
    source="API reference, `reasoning.summary`, 2026-10; recorded",
    shows="The summary apart from the text.",
    severity="must",
    needs=("reasoning",),
    task=replace(ASKED, model=REASONING_MODEL, options=SUMMARY),
    script=turns([reasoning("**Looking it up**"), message("Sunny.")]),
)

case(
    "answers/reasoning-in-parts",
    shows("Sunny."),
    reasons("**First**", "**Then**"),
    title="A summary of several parts",
    does="Two reasoning items, the first with two parts.",
    source="API reference: `summary` is an array, 2026-10; recorded of long reasoning",
    shows="Each part.",
    severity="should",
    needs=("reasoning",),
    task=replace(ASKED, model=REASONING_MODEL, options=SUMMARY),
    script=turns([reasoning(["**First**", "**Then**"]), reasoning(), message("Sunny.")]),
)

case(
    "answers/reasoning-with-a-call",
    shows("18 °C."),
    runs(("get_weather", {"city": "Paris"})),
    title="Reasoning before a call",
    does="A reasoning item stands before the call of a function.",
    source="recorded: a `function_call` without its reasoning item is refused; public reports of many frameworks, 2025",
    shows="The function runs; the reasoning goes back together with its call.",
    severity="must",
    task=replace(WITH_TOOL, model=REASONING_MODEL),
    script=turns([reasoning(), function_call("get_weather", {"city": "Paris"})], message("18 °C.")),
)

case(
    "answers/reasoning-ciphertext",
    shows("18 °C.", "Rain."),
    runs(("get_weather", {"city": "Paris"})),
    title="Encrypted reasoning",
    does="With `store: false` the reasoning comes with a ciphertext, before a call and before the answer.",
    source="API reference, `include: reasoning.encrypted_content`, 2026-10; recorded",
    shows="The reasoning goes back with its ciphertext.",
    severity="must",
    states=("stateless",),
    task=replace(WITH_TOOL, model=REASONING_MODEL, prompts=ASKED_TWICE.prompts),
    script=turns(
        [reasoning(), function_call("get_weather", {"city": "Paris"})],
        [reasoning(), message("18 °C.")],
        [reasoning(), message("Rain.")],
    ),
)

case(
    "answers/reasoning-alone",
    shows(""),
    title="Nothing but reasoning",
    does="The output has a reasoning item and no message.",
    source="recorded of gpt-5 with little effort; public reports of agents that waited forever, 2025",
    shows="An empty answer, or an error; no hang.",
    severity="should",
    fails=True,
    spare=True,
    task=replace(ASKED, model=REASONING_MODEL),
    script=turns([reasoning()]),
)

case(
    "answers/model-without-reasoning",
    shows("Sunny."),
    title="A model that does not reason",
    does="The model is `gpt-4.1`, which refuses what is for models that reason.",
    source="https://github.com/microsoft/agent-framework/issues/7483: 400, Encrypted content is not supported",
    shows="The text: nothing is asked of the model that it does not have.",
    severity="must",
    task=replace(ASKED, model="gpt-4.1"),
    script=turns(message("Sunny.")),
)
