"""The agents of Azure AI Foundry, which a request names in place of a model."""

from __future__ import annotations

from collections.abc import Iterator

from harness.dialect import FOUNDRY, agent_of
from harness.errors import ApiError
from harness.exchange import Json, Request
from harness.organization import Organization
from harness.rule import Case, World, assumed, reported, rule
from harness.rules.gateway import ON_FOUNDRY

HELPER = {"type": "agent_reference", "name": "helper"}
AGENT: Json = {"agent_reference": HELPER, "input": "hi"}
MINE = Organization(agents={"helper": {"model": "mine", "instructions": "Help."}})


@rule(
    when="agent",
    dialects=FOUNDRY,
    error=ApiError(
        400, "The 'agent' property is deprecated. Use 'agent_reference' instead.", "agent", "invalid_payload"
    ),
    source=[
        reported("https://github.com/MicrosoftLearning/mslearn-ai-agents/issues/108", "2026-02-25"),
        reported("https://github.com/Azure/azure-sdk-for-js/pull/39083", "2026-06-25"),
    ],
    rejects={
        "The 'agent' property is deprecated. Use 'agent_reference' instead.": Case(
            {"agent": HELPER, "input": "hi"}, on=ON_FOUNDRY
        )
    },
    accepts=[Case(AGENT, on=ON_FOUNDRY)],
    since="2026-02-25",
    fix="Name the agent in `agent_reference`.",
)
def agent_deprecated(request: Request) -> Iterator[Json]:
    """An agent is named by `agent_reference`, no longer by `agent`."""
    if request.body.get("agent") is not None:
        yield {}


@rule(
    when="agent_reference",
    dialects=FOUNDRY,
    error=ApiError(
        400,
        'required: Required properties ["{name}"] are not present',
        "/agent_reference",
        "invalid_payload",
    ),
    source=[
        reported("public clients of Foundry projects: of `type`", "2026"),
        assumed("that a missing name is told so too"),
    ],
    rejects={
        'required: Required properties ["type"] are not present': Case(
            {"agent_reference": {"name": "helper"}, "input": "hi"}, on=ON_FOUNDRY
        ),
        'required: Required properties ["name"] are not present': Case(
            {"agent_reference": {"type": "agent_reference"}, "input": "hi"}, on=ON_FOUNDRY
        ),
    },
    accepts=[Case({**AGENT, "agent_reference": {**HELPER, "version": "3"}}, on=ON_FOUNDRY)],
    fix='Send `{"type": "agent_reference", "name": …}`.',
)
def agent_incomplete(request: Request) -> Iterator[Json]:
    """A reference to an agent has a type and a name."""
    agent = request.body["agent_reference"]
    if agent is not None:
        known = agent if isinstance(agent, dict) else {}
        yield from ({"name": name} for name in ("type", "name") if not isinstance(known.get(name), str))


@rule(
    when="agent_reference",
    dialects=FOUNDRY,
    error=ApiError(
        400, "Model must match the agent's model '{model}' when agent is specified.", "model", "invalid_payload"
    ),
    source=[
        reported("public clients of Foundry projects: message and param", "2026"),
        assumed("the code, which is that of its other refusals"),
    ],
    rejects={
        "Model must match the agent's model 'mine' when agent is specified.": Case(
            {**AGENT, "model": "gpt-4o"}, on=ON_FOUNDRY, given=MINE
        )
    },
    accepts=[
        Case({**AGENT, "model": "mine"}, on=ON_FOUNDRY, given=MINE),
        Case(AGENT, on=ON_FOUNDRY, given=MINE),
        Case({**AGENT, "model": "gpt-4o"}, on=ON_FOUNDRY),
    ],
    fix="Leave `model` out: the agent has one. `mock.organization(agents={…})` says which.",
)
def agent_model_mismatch(request: Request, world: World) -> Iterator[Json]:
    """A model beside an agent must be that of the agent, as far as the account defines it."""
    definition = (world.account.agents or {}).get(str((agent_of(request) or {}).get("name")), {})
    model, own = request.body.get("model"), definition.get("model")
    if model is not None and own and model != own:
        yield {"model": own}


@rule(
    when=("tools", "tool_choice"),
    dialects=FOUNDRY,
    error=ApiError(400, "Not allowed when agent is specified.", "{name}", "invalid_payload"),
    source=[
        reported("https://github.com/microsoft/agent-framework/issues/6657", "2026-06-22"),
        reported("https://github.com/microsoft/agent-framework/issues/5087", "2026-04-03"),
    ],
    rejects={
        "Not allowed when agent is specified.": Case(
            {**AGENT, "tools": [{"type": "web_search"}], "tool_choice": "auto"}, on=ON_FOUNDRY
        )
    },
    accepts=[Case({**AGENT, "tools": None, "temperature": 0.5}, on=ON_FOUNDRY)],
    since="2026-04-03",
    fix="Give the tools to the agent's definition, not to the request.",
)
def agent_tools_given(request: Request) -> Iterator[Json]:
    """Tools and the choice among them are the agent's."""
    if agent_of(request):
        yield from ({"name": name} for name in ("tools", "tool_choice") if request.body.get(name))
