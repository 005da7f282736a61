"""The choice of tools: `tool_choice` must only name tools that the request has."""

from collections.abc import Container, Iterator, Sequence
from typing import Any

from harness.api.http.dialects import agent_of
from harness.api.models import Model
from harness.contract.rule import Case, RuleScope, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import HI
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request
from harness.items.transcript import input_items

SCOPE = RuleScope(area="tools", when="tool_choice")

FUNCTION_TOOL: Json = {"type": "function", "name": "f"}
_CHOICE_AMONG_ADDED: Json = {
    "tools": [FUNCTION_TOOL],
    "tool_choice": {"type": "custom", "name": "g"},
    "input": [HI, {"type": "additional_tools", "role": "developer", "tools": [{"type": "custom", "name": "g"}]}],
}


def _chosen_tool_names(choice: object) -> list[str]:
    """Return the chosen tools as errors name them; empty if the choice is free."""
    if isinstance(choice, str):
        return [choice] if choice == "required" else []
    if not isinstance(choice, dict):
        return []
    choices = choice["tools"] if choice.get("type") == "allowed_tools" else [choice]
    return [str(chosen.get("server_label") or chosen.get("name") or chosen.get("type")) for chosen in choices]


@rule(
    bad_request("Tool choice '{type}' not found in 'tools' parameter.", "tool_choice"),
    recorded("a public project: a function, gpt-5-nano", "2026-01-19"),
    reported(
        "https://github.com/vllm-project/vllm/pull/40399, which asked the API, with an empty list, too",
        "2026-04-20",
    ),
    assumed("that a tool of another type was named alike, and when the words changed"),
    until="2026-09",
    rejects={
        "function": {"tool_choice": {"type": "function", "name": "f"}},
        "image_generation": {"tools": [], "tool_choice": {"type": "image_generation"}},
    },
    accepts=[Case({"tool_choice": "auto"}, as_of="2026-04-20"), Case({"tool_choice": "none"}, as_of="2026-04-20")],
    fix="Declare the tool, or leave the choice out.",
)
def chosen_tool_without_tools(request: Request) -> Iterator[Json]:
    """The former message for choosing a tool without `tools`, which names it by its type."""
    choice = request.body.get("tool_choice")
    if (
        isinstance(choice, dict)
        and choice.get("type") != "allowed_tools"
        and not request.body.get("tools")
        and not _may_bring_tools(request)
    ):
        yield {"type": choice["type"]}


@rule(
    bad_request("Tool choice '{name}' must be specified with 'tools' parameter.", "tool_choice"),
    reported("public reports of three origins: required", "2026-10-07"),
    reported("public report of a function that is named: gpt-6-luna", "2026-10-07"),
    rejects={"required": {"tool_choice": "required"}, "f": {"tool_choice": {"type": "function", "name": "f"}}},
    accepts=[{"tool_choice": "auto"}, {"tool_choice": "none"}],
    fix="Declare the tool, or leave the choice out.",
)
def tool_choice_without_tools(request: Request) -> Iterator[Json]:
    """A choice that needs a tool needs `tools`; `auto` and `none` do not."""
    if not request.body.get("tools") and not _may_bring_tools(request):
        yield from ({"name": name} for name in _chosen_tool_names(request.body.get("tool_choice")))


def _may_bring_tools(request: Request, ignored: Container[str] = ()) -> bool:
    # A stored prompt may have its own tools, and so may an agent of Foundry or items in the input.
    return (
        bool(request.body.get("prompt"))
        or agent_of(request) is not None
        or any("tools" in item and item.get("type") not in ignored for item in input_items(request.body))
    )


@rule(
    bad_request("Tool choice '{name}' not found in 'tools' parameter.", "tool_choice"),
    reported("public reports of two origins", "2026"),
    reported("public reports of four origins: a function that is none of the tools is named by its type", "2026-09-11"),
    reported("a changelog of vercel/ai: a hosted tool is chosen by its type, no function of its name", "2026-07"),
    reported("pydantic-ai 2.68, of `additional_tools`, in `allowed_tools`, too", "2026-11"),
    assumed("that an MCP server and a custom tool are named by their types, too, and in `allowed_tools` by name"),
    rejects={
        "custom": {**_CHOICE_AMONG_ADDED, "model": "gpt-5.5"},
        "image_generation": {"tools": [FUNCTION_TOOL], "tool_choice": {"type": "image_generation"}},
        "function": {"tools": [{"type": "web_search"}], "tool_choice": {"type": "function", "name": "web_search"}},
        "mcp": {"tools": [FUNCTION_TOOL], "tool_choice": {"type": "mcp", "server_label": "a"}},
        "g": {
            "tools": [FUNCTION_TOOL],
            "tool_choice": {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [FUNCTION_TOOL, {"type": "function", "name": "g"}],
            },
        },
    },
    accepts=[
        {**_CHOICE_AMONG_ADDED, "model": "gpt-5.6"},
        {
            "tools": [FUNCTION_TOOL],
            "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [FUNCTION_TOOL]},
        },
        {"tools": [FUNCTION_TOOL], "tool_choice": {"type": "function", "name": "f"}},
        {"tools": [FUNCTION_TOOL], "tool_choice": "required"},
        {"model": "gpt-5.4", "tools": [{"type": "computer"}], "tool_choice": {"type": "computer_use_preview"}},
    ],
    fix="Choose a tool that is declared: a function by its name, any other by its type.",
)
def tool_choice_not_found(request: Request, family: Model | None) -> Iterator[Json]:
    """A chosen tool, including each of `allowed_tools`, must be one of the declared tools.

    Models before gpt-5.6 do not look for it in `additional_tools` items of the input.
    """
    choice, tools = request.body.get("tool_choice"), request.body.get("tools") or ()
    ignored = () if family is None or family.added_choice else ("additional_tools",)
    # Tools added by a stored prompt or an item are not visible in the request.
    if not isinstance(choice, dict) or not tools or _may_bring_tools(request, ignored):
        return
    if choice.get("type") != "allowed_tools":
        yield from () if _is_declared(choice, tools) else ({"name": choice["type"]},)
        return
    for chosen in choice["tools"]:
        if not _is_declared(chosen, tools):
            yield from ({"name": name} for name in _chosen_tool_names(chosen))


_NAMED_BY = {"function": "name", "custom": "name", "namespace": "name", "mcp": "server_label"}
"""The member that names a chosen tool, by its type; other tools have no name."""


def _is_declared(choice: Json, tools: Sequence[Json]) -> bool:
    """Return whether a choice is among these tools or the tools in their namespaces."""
    kind = _plain_type(choice.get("type"))
    member = _NAMED_BY.get(kind)
    inner = [inner_tool for tool in tools for inner_tool in tool.get("tools") or () if isinstance(inner_tool, dict)]
    alike = [tool for tool in (*tools, *inner) if _plain_type(tool.get("type")) == kind]
    # A hosted tool has no name: it is chosen by its type alone.
    return any(member is None or tool.get(member) == choice.get(member) for tool in alike)


def _plain_type(type: Any) -> str:
    """Strip the version of a tool type: `web_search_preview` is `web_search`, `computer_use_preview` is `computer`."""
    return str(type).partition("_20")[0].removesuffix("_preview").removesuffix("_use")
