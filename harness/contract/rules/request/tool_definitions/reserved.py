"""Names that models use for their own tools, and that a client cannot use for others."""

from collections.abc import Iterator
from typing import Any

from harness.api.http.dialects import AZURE_DIALECTS, OPENAI
from harness.api.models import Model
from harness.api.tools import declared_tools
from harness.contract.rule import Case, WorldView, assumed, reported, rule
from harness.contract.rules.example_requests import KEY_HEADERS, ON_AZURE
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

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
        {"tools": [{"type": "custom", "name": "python"}]},
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


def _alone(name: str, **of_message: bool) -> Json:
    return {"tools": _agents(name, **of_message)["tools"]}


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
    schema: Any = function.get("parameters")  # the schemas accept any JSON
    schema = schema.get("properties") if isinstance(schema, dict) else None
    return schema if isinstance(schema, dict) else {}


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
    rejects={"spawn_agent": {"model": "gpt-5.5", **_alone("spawn_agent", encrypted=True)}},
    accepts=[
        {"model": "gpt-5.5", **_alone("spawn_agent")},
        {"model": "gpt-5.6-sol", **_alone("spawn_agent", encrypted=True)},
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
def namespace_reserved(request: Request, family: Model | None) -> Iterator[Json]:
    """Azure refuses the namespace by which a model communicates with its agents, whatever it contains."""
    yield from ({} for _ in _agent_namespaces(request, family))
