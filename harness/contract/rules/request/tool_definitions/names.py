"""Names of tools: what a `tool_choice` may name, and what a model reserves for tools of its own."""

from collections.abc import Container, Iterator, Sequence
from typing import Any

from harness.api.http.dialects import AZURE_DIALECTS, OPENAI, agent_of
from harness.api.models import Model
from harness.api.tools import declared_tools
from harness.contract.rule import Case, RuleScope, WorldView, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import HI, KEY_HEADERS, ON_AZURE
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object
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


SCOPE = RuleScope(area="reserved")
_PYTHON: Json = {"type": "function", "name": "python", "parameters": {}, "strict": False}
_RESERVED_BY_ALL = "2026-07-21"
"""The first day on which every model refuses a function named `python`; o3 and o4-mini always have."""


@rule(
    bad_request(
        "The function name '{name}' is reserved for use by this model. Please use a different function name.", "tools"
    ),
    reported(
        "https://github.com/onyx-dot-app/onyx/pull/13235: all models of OpenAI, in production; not Azure",
        "2026-07-21",
    ),
    reported("https://github.com/Kohaku-Lab/KohakuTerrarium/issues/80: gpt-5.6-sol", "2026-07-22"),
    reported("https://github.com/avante-corp/avante.nvim/issues/1890: o4-mini, in chat completions", "2025-04-17"),
    reported("https://github.com/UKGovernmentBEIS/inspect_ai/pull/1736: of the Responses API, too", "2025-04-26"),
    when="tools",
    reads="world.as_of",
    mentions='"python"',
    dialects=OPENAI,
    since="2025-04-16",
    rejects={"python": {"tools": [_PYTHON]}},
    accepts=[
        Case({"tools": [_PYTHON]}, as_of="2026-07-20"),
        {"tools": [{**_PYTHON, "name": "run_python"}]},
        {"model": "gpt-5", "tools": [{"type": "custom", "name": "python"}]},
    ],
    fix="Give the function another name, such as `run_python`.",
)
def function_name_reserved(request: Request, world: WorldView, family: Model | None) -> Iterator[Json]:
    """The models have a function `python` of their own, so no function of a client may have this name."""
    if family and (world.as_of >= _RESERVED_BY_ALL or family.name.startswith(("o3", "o4-mini"))):
        functions = [tool for tool in request.body["tools"] or () if tool["type"] == "function"]
        yield from ({"name": "python"} for tool in functions if tool["name"] == "python")


_WITH_AGENTS = ("gpt-5.6", "gpt-6")
"""The families whose models start agents through tools in the namespace `collaboration`."""


def _agents(*names: str, **of_message: bool) -> Json:
    parameters = {"type": "object", "properties": {"message": {"type": "string", **of_message}}}
    functions = [{"type": "function", "name": name, "parameters": parameters, "strict": False} for name in names]
    return {"type": "namespace", "name": "collaboration", "description": "d", "tools": functions}


def _alone(**of_message: bool) -> Json:
    return {"tools": _agents("spawn_agent", **of_message)["tools"]}


def _agent_namespaces(request: Request, family: Model | None) -> list[Json]:
    """Return the namespaces `collaboration` in a request to a model that has such a namespace itself."""
    if family is None or not family.name.startswith(_WITH_AGENTS):
        return []
    return [tool for tool in declared_tools(request.body) if (tool["type"], tool.get("name")) == _NAMESPACE]


def _on_azure(model: str, tool: Json) -> Case:
    return Case({"model": model, "input": "hi", "tools": [tool]}, on=ON_AZURE, headers=KEY_HEADERS)


_NAMESPACE = ("namespace", "collaboration")


@rule(
    bad_request(
        "Invalid Value: 'tools'. Function 'collaboration.{name}' is reserved for use by this model and must match the "
        "configured schema.",
        "tools",
    ),
    reported("https://github.com/openai/codex/issues/31864: gpt-5.6-sol, another schema of spawn_agent", "2026-07-09"),
    reported("the notes of a public load balancer: gpt-6-luna, send_message that is not encrypted", "2026-10-01"),
    assumed("of the configured schema only this is known: `message` is encrypted"),
    when=("tools", "input[]"),
    mentions='"collaboration"',
    dialects=OPENAI,
    since="2026-07-09",
    rejects={"spawn_agent": {"model": "gpt-5.6-sol", "tools": [_agents("spawn_agent")]}},
    accepts=[
        {"model": "gpt-5.6-sol", "tools": [_agents("spawn_agent", encrypted=True)]},
        {"model": "gpt-5.6-sol", "tools": [_agents("ask_colleague")]},
        {"model": "gpt-5.6-sol", "tools": [{**_agents("spawn_agent"), "name": "agent_collaboration"}]},
        {"model": "gpt-5.5", "tools": [_agents("spawn_agent")]},
    ],
    fix="Name the namespace differently, such as `agent_collaboration`.",
)
def function_schema_reserved(request: Request, family: Model | None) -> Iterator[Json]:
    """The functions by which a model communicates with its agents have a fixed schema, with an encrypted `message`."""
    for function in [tool for space in _agent_namespaces(request, family) for tool in space.get("tools") or ()]:
        if function.get("name") in ("followup_task", "send_message", "spawn_agent") and not _is_encrypted(function):
            yield {"name": function["name"]}


def _is_encrypted(function: Json) -> bool:
    message = _parameters(function).get("message")
    return not isinstance(message, dict) or message.get("encrypted") is True


def _parameters(function: Json) -> Json:
    # The schemas accept any JSON.
    return as_object(as_object(function.get("parameters")).get("properties"))


@rule(
    bad_request(
        "Invalid Value: 'tools'. Function 'functions.{name}' declares encrypted parameters but is not configured for "
        "encrypted tool use by this model.",
        "tools",
    ),
    reported("https://github.com/openai/codex/issues/26753: the whole body, for three models", "2026-06-06"),
    reported("https://github.com/decolua/9router/issues/1758: gpt-5.5", "2026-06-09"),
    reported("https://github.com/paradigmxyz/centaur/pull/499", "2026-06-11"),
    assumed("that models with a namespace `collaboration` accept them outside it, too"),
    when="tools",
    reads=(),
    mentions='"encrypted"',
    dialects=OPENAI,
    since="2026-06-06",
    rejects={"spawn_agent": {"model": "gpt-5.5", **_alone(encrypted=True)}},
    accepts=[
        {"model": "gpt-5.5", **_alone()},
        {"model": "gpt-5.6-sol", **_alone(encrypted=True)},
    ],
    fix="Leave `encrypted` out of the schemas of parameters.",
)
def encrypted_parameters_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """Only models that start agents themselves accept functions with encrypted parameters."""
    if family is None or family.name.startswith(_WITH_AGENTS):
        return
    for tool in request.body["tools"] or ():
        schemas = _parameters(tool).values() if tool["type"] == "function" else ()
        if any(isinstance(schema, dict) and schema.get("encrypted") is True for schema in schemas):
            yield {"name": tool["name"]}


@rule(
    bad_request(
        "Invalid Value: 'tools'. Namespace 'collaboration' is reserved for encrypted tool use by this model.", "tools"
    ),
    reported("https://github.com/openai/codex/issues/31882: gpt-5.6 on Azure", "2026-07-09"),
    reported("https://github.com/openai/codex/issues/31875: gpt-5.6-sol on Azure", "2026-07-09"),
    assumed("the param of the errors beside it"),
    when=("tools", "input[]"),
    mentions='"collaboration"',
    dialects=AZURE_DIALECTS,
    since="2026-07-09",
    rejects=[_on_azure("gpt-5.6-sol", _agents("spawn_agent", encrypted=True))],
    accepts=[
        _on_azure("gpt-5.5", _agents("spawn_agent")),
        _on_azure("gpt-5.6-sol", {**_agents("spawn_agent"), "name": "agent_collaboration"}),
    ],
    fix="Name the namespace differently, such as `agent_collaboration`.",
)
def namespace_reserved(request: Request, family: Model | None) -> bool:
    """Azure refuses the namespace by which a model communicates with its agents, whatever it contains."""
    return any(True for _ in _agent_namespaces(request, family))
