"""Output items other than messages: reasoning, the results of hosted tools, unknown items."""

from dataclasses import replace
from typing import Any

from harness.core.exchange import Json
from harness.examine.case import ASKED, ASKED_TWICE, REASONING_MODEL, WITH_TOOL, case, turns
from harness.examine.checks import reasons, requests, runs, shows, streamed
from harness.faults import add_item, add_members, insert_event
from harness.items import (
    code_interpreter_call,
    file_search_call,
    function_call,
    image_generation_call,
    mcp_call,
    mcp_list_tools,
    message,
    reasoning,
    shell_call,
    shell_call_output,
    web_search_call,
)
from harness.items.kind import Item

THINKS = replace(ASKED_TWICE, model=REASONING_MODEL)
SUMMARY = {"reasoning": {"summary": "auto"}}

case(
    "answers/reasoning-first",
    title="Reasoning without a summary",
    does="The output begins with a reasoning item that shows nothing.",
    source="every recorded answer of a reasoning model without `reasoning.summary`",
    shows="The text alone; what is replayed holds the reasoning or leaves it out.",
    task=THINKS,
    script=turns([reasoning(), message("Sunny.")], [reasoning(), message("Rain.")]),
    checks=[shows("Sunny.", "Rain.")],
)

case(
    "answers/reasoning-summary",
    title="Reasoning with a summary",
    does="The reasoning item has a summary, which was asked for.",
    source="API reference, `reasoning.summary`, 2026-10; recorded",
    shows="The summary apart from the text.",
    needs=("reasoning",),
    task=replace(ASKED, model=REASONING_MODEL, options=SUMMARY),
    script=turns([reasoning("**Looking it up**"), message("Sunny.")]),
    checks=[shows("Sunny."), reasons("**Looking it up**")],
)

case(
    "answers/reasoning-in-parts",
    title="A summary of several parts",
    does="Two reasoning items, the first with two parts.",
    source="API reference: `summary` is an array, 2026-10; recorded of long reasoning",
    shows="Each part.",
    severity="should",
    needs=("reasoning",),
    task=replace(ASKED, model=REASONING_MODEL, options=SUMMARY),
    script=turns([reasoning(["**First**", "**Then**"]), reasoning(), message("Sunny.")]),
    checks=[shows("Sunny."), reasons("**First**", "**Then**")],
)

case(
    "answers/reasoning-with-a-call",
    title="Reasoning before a call",
    does="A reasoning item stands before the call of a function.",
    source="recorded: a `function_call` without its reasoning item is refused; public reports of many frameworks, 2025",
    shows="The function runs; the reasoning goes back together with its call.",
    task=replace(WITH_TOOL, model=REASONING_MODEL),
    script=turns([reasoning(), function_call("get_weather", {"city": "Paris"})], message("18 °C.")),
    checks=[shows("18 °C."), runs(("get_weather", {"city": "Paris"}))],
)

case(
    "answers/reasoning-ciphertext",
    title="Encrypted reasoning",
    does="With `store: false` the reasoning comes with a ciphertext, before a call and before the answer.",
    source="API reference, `include: reasoning.encrypted_content`, 2026-10; recorded",
    shows="The reasoning goes back with its ciphertext.",
    states=("stateless",),
    task=replace(WITH_TOOL, model=REASONING_MODEL, prompts=ASKED_TWICE.prompts),
    script=turns(
        [reasoning(), function_call("get_weather", {"city": "Paris"})],
        [reasoning(), message("18 °C.")],
        [reasoning(), message("Rain.")],
    ),
    checks=[shows("18 °C.", "Rain."), runs(("get_weather", {"city": "Paris"}))],
)

case(
    "answers/reasoning-alone",
    title="Nothing but reasoning",
    does="The output has a reasoning item and no message.",
    source="recorded of gpt-5 with little effort; public reports of agents that waited forever, 2025",
    shows="An empty answer, or an error; no hang.",
    severity="should",
    fails=True,
    task=replace(ASKED, model=REASONING_MODEL),
    script=turns([reasoning()]),
    checks=[shows("")],
)

case(
    "answers/model-without-reasoning",
    title="A model that does not reason",
    does="The model is `gpt-4.1`, which refuses what is for models that reason.",
    source="https://github.com/microsoft/agent-framework/issues/7483: 400, Encrypted content is not supported",
    shows="The text: nothing is asked of the model that it does not have.",
    task=replace(ASKED, model="gpt-4.1"),
    script=turns(message("Sunny.")),
    checks=[shows("Sunny.")],
)

FILES = {"type": "file_search", "vector_store_ids": ["vs_guides"]}
PROD = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse", "require_approval": "never"}


def _hosted(name: str, tool: Json, *items: Item, source: str, **words: Any) -> None:
    case(
        f"answers/{name}",
        title=f"Items of {tool['type']}",
        does=f"The output has {' and '.join(item.type for item in items)} before its message; then the user goes on.",
        source=source,
        shows="The text. What the API ran is not run again, and goes back as it was.",
        task=replace(ASKED_TWICE, hosted_tools=(tool,), model=words.pop("model", ASKED_TWICE.model)),
        script=lambda mock: (
            mock.organization(files={"vs_guides"}),
            mock.script([*items, message("Done.")], message("You are welcome.")),
        ),
        checks=[shows("Done.", "You are welcome."), requests(2)],
        **words,
    )


RECORDED = "recorded answers with this tool, 2025 and 2026"
_hosted("web-search", {"type": "web_search"}, web_search_call("weather"), source=RECORDED)
_hosted(
    "web-search-without-action",
    {"type": "web_search"},
    web_search_call(),
    source="recorded, 2025: a call without `action`",
)
_hosted(
    "file-search",
    FILES,
    file_search_call("guide"),
    source=RECORDED,
)
_hosted(
    "code-interpreter",
    {"type": "code_interpreter", "container": {"type": "auto"}},
    code_interpreter_call("print(1)"),
    source=RECORDED,
)
_hosted("image-generation", {"type": "image_generation"}, image_generation_call(), source=RECORDED)
_hosted(
    "mcp-call",
    PROD,
    mcp_list_tools("prod", ["deploy"]),
    mcp_call("prod", "deploy", {}, output="live"),
    source=RECORDED,
)
_hosted(
    "mcp-call-failed",
    PROD,
    mcp_list_tools("prod", ["deploy"]),
    mcp_call("prod", "deploy", {}, error="Bad Gateway"),
    source="recorded: `status` failed with an `error`, 2025",
)
_hosted(
    "hosted-shell",
    {"type": "shell", "environment": {"type": "container_auto"}},
    shell_call("ls", container_id="cntr_1", call_id="call_1"),
    shell_call_output("call_1", "a.txt"),
    model="gpt-5.2",
    source="API reference, the tool `shell` in a container, 2026-02",
)

# The page counts new members, new types of items and new types of events as compatible changes.
COMPATIBLE = "the API's page on backwards compatibility, read 2026-10"
SUNNY = message("Sunny.")

case(
    "answers/unknown-members",
    title="Unknown members",
    does="The response, its items, their parts and every event have members that nobody knows.",
    source=f"{COMPATIBLE}: new properties of JSON objects",
    shows="The text.",
    task=replace(ASKED, model=REASONING_MODEL),
    script=turns(add_members([reasoning(), SUNNY], {"hologram": {"depth": 3}})),
    checks=[shows("Sunny.")],
)

case(
    "answers/unknown-item",
    title="An item of an unknown type",
    does="The output begins with an item of a type that nobody knows.",
    source=f"{COMPATIBLE}; `shell_call`, `compaction` and `program` came so in 2025 and 2026",
    shows="The text.",
    script=turns(add_item(SUNNY, {"type": "hologram_call", "depth": 3})),
    checks=[shows("Sunny.")],
)

case(
    "answers/unknown-item-last",
    title="An item of an unknown type after the message",
    does="The output ends with an item of a type that nobody knows.",
    source=f"{COMPATIBLE}: the order of items depends on the model",
    shows="The text.",
    script=turns(add_item(SUNNY, {"type": "hologram_call", "depth": 3}, at=1)),
    checks=[shows("Sunny.")],
)

case(
    "answers/unknown-event",
    title="An event of an unknown type",
    does="An event of a type that nobody knows comes within the text; it has a `delta`.",
    source=f"{COMPATIBLE}: new types of events in streams",
    shows="The text without it.",
    streams=(True,),
    script=turns(insert_event(SUNNY, {"type": "response.hologram.delta", "output_index": 0, "delta": "?"}, after=5)),
    checks=[shows("Sunny."), streamed("Sunny.")],
)

case(
    "answers/unknown-event-first",
    title="An unknown event before all others",
    does="The first event of a stream is of a type that nobody knows.",
    source=f"{COMPATIBLE}: new types of events in streams",
    shows="The text.",
    severity="should",
    streams=(True,),
    script=turns(insert_event(SUNNY, {"type": "response.hologram.begun"}, after=0)),
    checks=[shows("Sunny.")],
)

case(
    "answers/unknown-value",
    title="An unknown value of a known member",
    does="`service_tier` is one that nobody knows.",
    source="`service_tier` got `priority` in 2025 and `fast` in 2026, in answers of the same version",
    shows="The text.",
    script=turns(add_members(SUNNY, {"service_tier": "hyper"})),
    checks=[shows("Sunny.")],
)

case(
    "answers/unknown-members-of-a-call",
    title="Unknown members of a call",
    does="A call of a function has members that nobody knows.",
    source=f"{COMPATIBLE}; `namespace` and `caller` came so in 2026",
    shows="The function runs with its arguments.",
    states=("chain", "conversation"),
    task=WITH_TOOL,
    script=turns(
        add_members(function_call("get_weather", {"city": "Paris"}), {"hologram": True}),
        message("18 °C."),
    ),
    checks=[shows("18 °C."), runs(("get_weather", {"city": "Paris"}))],
)
