"""Responses behind an agent of a Foundry project, which a request names instead of a model."""

from __future__ import annotations

from collections.abc import Iterator

from harness.api.http.dialects import FOUNDRY, agent_of
from harness.api.project.agent_definitions import find_answering_version, resolve_definition
from harness.contract.rule import Case, WorldView, after, assumed, reported, rule
from harness.contract.rules.http.gateway import ON_FOUNDRY
from harness.contract.rules.project.agents import CREATE_VERSION, check_agent_exists
from harness.core.account import Organization
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request

HELPER_REFERENCE = {"type": "agent_reference", "name": "helper"}
AGENT_BODY: Json = {"agent_reference": HELPER_REFERENCE, "input": "hi"}
ACCOUNT_WITH_HELPER = Organization(agents={"helper": {"model": "mine", "instructions": "Help."}})


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
    rejects=[Case({"agent": HELPER_REFERENCE, "input": "hi"}, on=ON_FOUNDRY)],
    accepts=[Case(AGENT_BODY, on=ON_FOUNDRY)],
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
        400, 'required: Required properties ["{name}"] are not present', "/agent_reference", "invalid_payload"
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
    accepts=[Case({**AGENT_BODY, "agent_reference": {**HELPER_REFERENCE, "version": "3"}}, on=ON_FOUNDRY)],
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
            {**AGENT_BODY, "model": "gpt-4o"}, on=ON_FOUNDRY, account=ACCOUNT_WITH_HELPER
        )
    },
    accepts=[
        Case({**AGENT_BODY, "model": "mine"}, on=ON_FOUNDRY, account=ACCOUNT_WITH_HELPER),
        Case(AGENT_BODY, on=ON_FOUNDRY, account=ACCOUNT_WITH_HELPER),
        Case({**AGENT_BODY, "model": "gpt-4o"}, on=ON_FOUNDRY),
        Case({**AGENT_BODY, "model": ""}, on=ON_FOUNDRY, account=ACCOUNT_WITH_HELPER),
    ],
    fix="Leave `model` out: the agent has one. `mock.organization(agents={…})` says which.",
)
def agent_model_mismatch(request: Request, world: WorldView) -> Iterator[Json]:
    """A model beside an agent must be that of the agent, as far as the account defines it."""
    model, own = request.body.get("model"), resolve_definition(find_answering_version(request, world)).get("model")
    if model and own and model != own:
        yield {"model": own}


@rule(
    when=("tools", "tool_choice"),
    dialects=FOUNDRY,
    error=ApiError(400, "Not allowed when agent is specified.", "{name}", "invalid_payload"),
    source=[
        reported("https://github.com/microsoft/agent-framework/issues/6657", "2026-06-22"),
        reported("https://github.com/microsoft/agent-framework/issues/5087", "2026-04-03"),
    ],
    rejects=[Case({**AGENT_BODY, "tools": [{"type": "web_search"}], "tool_choice": "auto"}, on=ON_FOUNDRY)],
    accepts=[Case({**AGENT_BODY, "tools": None, "temperature": 0.5}, on=ON_FOUNDRY)],
    since="2026-04-03",
    fix="Give the tools to the agent's definition, not to the request.",
)
def agent_tools_given(request: Request) -> Iterator[Json]:
    """Tools and the choice among them are the agent's."""
    if agent_of(request):
        yield from ({"name": name} for name in ("tools", "tool_choice") if request.body.get(name))


@rule(
    when=("agent_reference", "input"),
    dialects=FOUNDRY,
    error=ApiError(404, "Agent {name} with version {version}not found.", code="not_found"),
    source=[
        reported("a public client's notes on agents of Foundry: the message without a version", "2026"),
        assumed("the place of the version, and the code"),
    ],
    rejects={
        "Agent other with version not found.": after(
            CREATE_VERSION,
            Case({**AGENT_BODY, "agent_reference": {**HELPER_REFERENCE, "name": "other"}}, on=ON_FOUNDRY),
        ),
        "Agent helper with version 2 not found.": after(
            CREATE_VERSION, Case({**AGENT_BODY, "agent_reference": {**HELPER_REFERENCE, "version": "2"}}, on=ON_FOUNDRY)
        ),
    },
    accepts=[
        after(
            CREATE_VERSION, Case({**AGENT_BODY, "agent_reference": {**HELPER_REFERENCE, "version": "1"}}, on=ON_FOUNDRY)
        ),
        Case(
            {**AGENT_BODY, "agent_reference": {**HELPER_REFERENCE, "name": "other"}},
            on=ON_FOUNDRY,
            account=ACCOUNT_WITH_HELPER,
        ),
    ],
    fix="Name an agent that was made, in a version it has.",
)
def agent_unknown(request: Request, world: WorldView) -> Iterator[Json]:
    """Where agents were made by requests, one that a request names must be among them.

    The account's own list is open: others are there too, of unknown make.
    """
    reference = agent_of(request)
    if world.store.agents and isinstance(reference, dict) and isinstance(reference.get("name"), str):
        yield from check_agent_exists(world, reference["name"], reference.get("version"))
