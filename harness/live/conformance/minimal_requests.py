"""The smallest request for each kind of input item, content part and tool: a server must accept all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.answers.parameters import PARAMETERS
from harness.contract.rule import Case
from harness.core.exchange import Json
from harness.items.examples import NEXT_MESSAGE, typed
from harness.items.kind import item_types
from harness.verify.examples import MINIMAL_REQUEST

SCHEMA: Json = {
    "type": "object",
    "properties": {"ref": {"type": "string"}},
    "required": ["ref"],
    "additionalProperties": False,
}


TOOLS: Mapping[str, Json] = {
    "function": typed("function", name="deploy", description="Deploy.", parameters=SCHEMA, strict=True),
    "function that is not strict": typed(
        "function", name="deploy", parameters={"type": "object", "properties": {}}, strict=False
    ),
    "custom": typed("custom", name="run", description="Run a command."),
    "web_search": typed("web_search"),
    "code_interpreter": typed("code_interpreter", container=typed("auto")),
    "image_generation": typed("image_generation"),
}
"""Tools that need nothing else. Some servers have none of the hosted ones, but the API has them."""

CHOICES: Mapping[str, Any] = {
    "none": "none",
    "required": "required",
    "a function": typed("function", name="deploy"),
    "allowed_tools": typed("allowed_tools", mode="auto", tools=[typed("function", name="deploy")]),
}
"""Values of `tool_choice` with the first of TOOLS."""

FIRST_CASE = Case({"input": "Ship v2."})
STORED_ITEMS: Mapping[str, Case] = {
    "item_reference": Case(
        {"input": [typed("item_reference", id="{1.data.0.id}"), NEXT_MESSAGE]},
        before=(FIRST_CASE, Case(on="GET /responses/{0.id}/input_items")),
    ),
    "compaction": Case(
        {"input": [typed("compaction", encrypted_content="{0.output.1.encrypted_content}"), NEXT_MESSAGE]},
        before=(Case(MINIMAL_REQUEST, on="POST /responses/compact"),),
    ),
}
"""Requests that refer to items of the server."""


def minimal_requests() -> Iterator[tuple[str, str, Case]]:
    """Yield the area, the name and the request of each."""
    for declared in item_types().values():
        yield from (("items", name, Case({"input": items})) for name, items in declared.examples.items())
    yield from (("items", name, case) for name, case in STORED_ITEMS.items())
    for name, tool in TOOLS.items():
        yield "tools", name, Case({"input": "hi", "tools": [tool]})
    for name, choice in CHOICES.items():
        yield (
            "tools",
            f"tool_choice: {name}",
            Case({"input": "hi", "tools": [TOOLS["function"]], "tool_choice": choice}),
        )
    store = Case({"name": "docs"}, on="POST /vector_stores")
    search = typed("file_search", vector_store_ids=["{0.id}"])
    yield "tools", "file_search", Case({"input": "hi", "tools": [search]}, before=(store,))
    for parameter in PARAMETERS.values():
        yield from (("members", name, Case({"input": "hi", **members})) for name, members in parameter.examples.items())
