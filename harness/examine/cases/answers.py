"""What an answer of the model may consist of."""

from __future__ import annotations

from harness.examine.case import case, turns
from harness.examine.checks import contains, requests, shows, streamed, uses_tokens
from harness.examine.task import Task
from harness.items import message, reasoning

ASKED = Task(prompts=("How is the weather?",))

case(
    "answers/text",
    shows("Sunny, 21 °C."),
    streamed("Sunny, 21 °C."),
    uses_tokens(),
    requests(1),
    title="One message",
    does="The output is one message with one text.",
    source="every recorded answer without tools",
    shows="The text, as it was said; the usage of the response.",
    severity="must",
    task=ASKED,
    script=turns(message("Sunny, 21 °C.")),
)

case(
    "answers/two-messages",
    contains("I look it up.", "Sunny."),
    title="Two messages in one response",
    does="The output has two messages of the assistant.",
    source="the reference: `output` is an array of items, their number and order depend on the model",
    shows="Both texts, in order.",
    severity="must",
    task=ASKED,
    script=turns([message("I look it up."), message("Sunny.")]),
)

case(
    "answers/reasoning-first",
    shows("Sunny.", "Rain."),
    title="Reasoning before the message",
    does="The output begins with a reasoning item that has no summary.",
    source="every recorded answer of a reasoning model without `reasoning.summary`",
    shows="The text alone.",
    severity="must",
    task=Task(prompts=("How is the weather?", "And tomorrow?")),
    script=turns([reasoning(), message("Sunny.")], [reasoning(), message("Rain.")]),
)

case(
    "answers/model-without-reasoning",
    shows("Sunny."),
    title="A model that does not reason",
    does="The model is `gpt-4.1`, which refuses what is for models that reason.",
    source="https://github.com/microsoft/agent-framework/issues/7483: 400, Encrypted content is not supported",
    shows="The text: nothing is asked of the model that it does not have.",
    severity="must",
    task=Task(prompts=("How is the weather?",), model="gpt-4.1"),
    script=turns(message("Sunny.")),
)
