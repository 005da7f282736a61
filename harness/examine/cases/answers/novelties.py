"""What nobody knew when the client was written: the API adds it at any time, without a new version.

The API's page on backwards compatibility (read 2026-10) counts new members, new types of items and new types of events as
compatible changes.
"""

from __future__ import annotations

from dataclasses import replace

from harness.examine.case import case, turns
from harness.examine.cases.common import ASKED, REASONING_MODEL, WITH_TOOL
from harness.examine.checks import runs, shows, streamed
from harness.faults import add_item, add_members, insert_event
from harness.items import function_call, message, reasoning

SOURCE = "the API's page on backwards compatibility, read 2026-10"
SUNNY = message("Sunny.")

case(
    "answers/unknown-members",
    shows("Sunny."),
    title="Unknown members",
    does="The response, its items, their parts and every event have members that nobody knows.",
    source=f"{SOURCE}: new properties of JSON objects",
    shows="The text.",
    severity="must",
    task=replace(ASKED, model=REASONING_MODEL),
    script=turns(add_members([reasoning(), SUNNY], {"hologram": {"depth": 3}})),
)

case(
    "answers/unknown-item",
    shows("Sunny."),
    title="An item of an unknown type",
    does="The output begins with an item of a type that nobody knows.",
    source=f"{SOURCE}; `shell_call`, `compaction` and `program` came so in 2025 and 2026",
    shows="The text.",
    severity="must",
    task=ASKED,
    script=turns(add_item(SUNNY, {"type": "hologram_call", "depth": 3})),
)

case(
    "answers/unknown-item-last",
    shows("Sunny."),
    title="An item of an unknown type after the message",
    does="The output ends with an item of a type that nobody knows.",
    source=f"{SOURCE}: the order of items depends on the model",
    shows="The text.",
    severity="must",
    task=ASKED,
    script=turns(add_item(SUNNY, {"type": "hologram_call", "depth": 3}, at=1)),
)

case(
    "answers/unknown-event",
    shows("Sunny."),
    streamed("Sunny."),
    title="An event of an unknown type",
    does="An event of a type that nobody knows comes within the text; it has a `delta`.",
    source=f"{SOURCE}: new types of events in streams",
    shows="The text without it.",
    severity="must",
    streams=(True,),
    task=ASKED,
    script=turns(insert_event(SUNNY, {"type": "response.hologram.delta", "output_index": 0, "delta": "?"}, after=5)),
)

case(
    "answers/unknown-event-first",
    shows("Sunny."),
    title="An unknown event before all others",
    does="The first event of a stream is of a type that nobody knows.",
    source=f"{SOURCE}: new types of events in streams",
    shows="The text.",
    severity="should",
    streams=(True,),
    task=ASKED,
    script=turns(insert_event(SUNNY, {"type": "response.hologram.begun"}, after=0)),
)

case(
    "answers/unknown-value",
    shows("Sunny."),
    title="An unknown value of a known member",
    does="`service_tier` is one that nobody knows.",
    source="`service_tier` got `priority` in 2025 and `fast` in 2026, in answers of the same version",
    shows="The text.",
    severity="must",
    task=ASKED,
    script=turns(add_members(SUNNY, {"service_tier": "hyper"})),
)

case(
    "answers/unknown-members-of-a-call",
    shows("18 °C."),
    runs(("get_weather", {"city": "Paris"})),
    title="Unknown members of a call",
    does="A call of a function has members that nobody knows.",
    source=f"{SOURCE}; `namespace` and `caller` came so in 2026",
    shows="The function runs with its arguments.",
    severity="must",
    states=("chain", "conversation"),
    task=WITH_TOOL,
    script=turns(
        add_members(function_call("get_weather", {"city": "Paris"}), {"hologram": True}),
        message("18 °C."),
    ),
)
