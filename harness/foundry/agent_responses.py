"""Responses with an agent of a Foundry project, which a request names instead of a model."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.api.http.dialects import FOUNDRY, PREVIEW_OF_AGENTS, application_of, is_preview_of_agents
from harness.api.project_types import HOSTED, PROJECT_TOOLS, NamedAgent
from harness.contract.rule import Case, RuleScope, WorldView, after, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import HELPER_REFERENCE, ON_AGENT, ON_FOUNDRY, ON_PREVIEW, PROJECT_PATH
from harness.core.account import Organization
from harness.core.dates import is_valid_on
from harness.core.errors import bad_request
from harness.core.exchange import EMPTY_MAPPING, Json, Request
from harness.core.json_values import as_object, objects_in
from harness.foundry.agent_rules import CREATE_HOSTED, CREATE_VERSION
from harness.foundry.agent_versions import AGENTS, check_agent_exists, versions_of
from harness.foundry.resources import (
    INVALID_PAYLOAD,
    lacks,
    project_error,
    project_not_found,
    single_fault_before,
    validation_detail,
)

SCOPE = RuleScope(dialects=FOUNDRY)

ACCOUNT_WITH_HELPER = Organization(agents={"helper": {"model": "mine", "instructions": "Help."}})
ON_APPLICATION = f"POST !{PROJECT_PATH}/applications/{{}}/protocols/openai/responses?api-version=v1"
ON_PREVIEW_OF_AGENTS = f"{ON_PREVIEW}?api-version={PREVIEW_OF_AGENTS}"


def by_agent(
    on: str = ON_FOUNDRY,
    account: Organization | None = None,
    as_of: str = "",
    of: Mapping[str, Any] = EMPTY_MAPPING,
    **members: Any,
) -> Case:
    """Make an example that asks the agent `helper`, or another one `of` a reference, with these members in the body."""
    body = {"agent_reference": {**HELPER_REFERENCE, **of}, "input": "hi", **members}
    return Case(body, on=on, account=account, as_of=as_of)


@rule(
    project_error(400, "The 'agent' property is deprecated. Use 'agent_reference' instead.", "agent"),
    reported("https://github.com/MicrosoftLearning/mslearn-ai-agents/issues/108", "2026-02-25"),
    reported("https://github.com/Azure/azure-sdk-for-js/pull/39083", "2026-06-25"),
    when="agent",
    rejects=[Case({"agent": HELPER_REFERENCE, "input": "hi"}, on=ON_FOUNDRY)],
    accepts=[
        by_agent(),
        # Recorded 2026-03-04 to 2026-03-17 of a JS client: Azure/azure-sdk-assets, eight requests.
        Case({"agent": HELPER_REFERENCE, "input": "hi"}, on=ON_PREVIEW_OF_AGENTS),
    ],
    since="2026-02-25",
    fix="Name the agent in `agent_reference`.",
)
def agent_deprecated(request: Request) -> bool:
    """An agent is named by `agent_reference`, no longer by `agent`, except in the version before agents were final."""
    return request.body.get("agent") is not None and not is_preview_of_agents(request)


@rule(
    project_error(400, lacks("{name}"), "/agent_reference"),
    reported("public clients of Foundry projects: of `type`", "2026"),
    assumed("that a missing name gets the same error"),
    when="agent_reference",
    reads=(),
    rejects={
        lacks("type"): Case({"agent_reference": {"name": "helper"}, "input": "hi"}, on=ON_FOUNDRY),
        lacks("name"): Case({"agent_reference": {"type": "agent_reference"}, "input": "hi"}, on=ON_FOUNDRY),
    },
    accepts=[by_agent(of={"version": "3"})],
    fix='Send `{"type": "agent_reference", "name": …}`.',
)
def agent_incomplete(request: Request) -> Iterator[Json]:
    """A reference to an agent needs a type and a name."""
    agent = request.body["agent_reference"]
    if agent is not None:
        known = as_object(agent)
        yield from ({"name": name} for name in ("type", "name") if not isinstance(known.get(name), str))


@rule(
    project_error(400, "Model must match the agent's model '{model}' when agent is specified.", "model"),
    reported("public clients and logs of Foundry projects: message, param and code", "2026"),
    when="agent_reference",
    reads="model",
    rejects={"mine": by_agent(model="gpt-4o", account=ACCOUNT_WITH_HELPER)},
    accepts=[
        by_agent(model="mine", account=ACCOUNT_WITH_HELPER),
        by_agent(account=ACCOUNT_WITH_HELPER),
        by_agent(model="gpt-4o"),
        by_agent(model="", account=ACCOUNT_WITH_HELPER),
    ],
    fix="Leave `model` out: the agent has one. `mock.organization(agents={…})` says which.",
)
def agent_model_mismatch(request: Request, agent: NamedAgent | None) -> Iterator[Json]:
    """A model next to an agent must be the agent's, if the account defines it."""
    model = request.body.get("model")
    if model and agent and (defined := agent.members.get("model")) and model != defined:
        yield {"model": defined}


SETTLED_BY_AGENT = {
    "instructions": "2026-02-25",
    "reasoning": "2026-07-01",
    "temperature": "2025-12-02",
    "text": "2026-04-24",
    "tools": "2026-04-03",
    "top_p": "2025-12-02",
}
"""The members that a request with an agent may not have, with the first day of a known refusal."""
NOT_ALLOWED = "Not allowed when agent is specified."


def find_settled_members(request: Request, as_of: str) -> list[str]:
    """Return the sent members that an agent sets; null and empty members count as not sent."""
    return [
        name
        for name, since in SETTLED_BY_AGENT.items()
        if is_valid_on(as_of, since, "") and request.body.get(name) not in (None, "", [], {})
    ]


@rule(
    INVALID_PAYLOAD,
    reported("https://github.com/microsoft/agent-framework/issues/2573: the whole body", "2025-12-02"),
    reported("https://blog.chiffers.com: `instructions`, `temperature` and `top_p` in one error", "2026"),
    when=tuple(SETTLED_BY_AGENT),
    rejects=[by_agent(temperature=0, top_p=0.5, instructions="Be brief.")],
    accepts=[by_agent(instructions="", temperature=None)],
    since="2025-12-02",
    fix="Set them in the agent's definition, not in the request; `details` names each.",
)
def agent_payload_invalid(request: Request, world: WorldView, agent: NamedAgent | None) -> Iterator[Json]:
    """If several members that an agent sets are sent, they are refused together."""
    if agent and len(found := find_settled_members(request, world.as_of)) > 1:
        yield {"details": [validation_detail(NOT_ALLOWED, name) for name in found]}


@rule(
    project_error(400, NOT_ALLOWED, "{name}"),
    recorded("Azure/azure-sdk-assets, a Python client: tools, the whole body", "2026-04-06"),
    reported("https://github.com/microsoft/agent-framework/issues/5087 and 6657: tools", "2026-06-22"),
    reported("https://github.com/microsoft/agent-framework/issues/2573: temperature and top_p", "2025-12-02"),
    reported("https://github.com/microsoft/agent-framework/issues/5467: text", "2026-04-24"),
    reported("public notes of a live probe: instructions, at an agent's endpoint", "2026-07-08"),
    reported("public code and a workshop: reasoning; public code with the old member `agent`: instructions", "2026"),
    when=tuple(SETTLED_BY_AGENT),
    rejects=[by_agent(temperature=0.5)],
    accepts=[
        # Recorded 2026-03-06 of a Java client: Azure/azure-sdk-assets.
        by_agent(max_output_tokens=300),
        # Recorded 2026-02-20 to 2026-06-26 of Python and JS clients, as JSON and as a stream: Azure/azure-sdk-assets.
        by_agent(tool_choice="required", account=ACCOUNT_WITH_HELPER),
        by_agent(tool_choice="required", stream=True, tools=None),
        by_agent(metadata={"a": "b"}, store=True, parallel_tool_calls=True),
        Case({"model": "gpt-4o", "input": "hi", "temperature": 0.5}, on=ON_FOUNDRY),
    ],
    since="2025-12-02",
    fix="Set it in the agent's definition, not in the request.",
)
def agent_setting_given(request: Request, world: WorldView, agent: NamedAgent | None) -> Iterator[Json]:
    """An agent sets instructions, sampling, reasoning, text format and tools, but not the tool choice."""
    if agent:
        yield from ({"name": name} for name in find_settled_members(request, world.as_of))


_FABRIC: Json = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "fabric_dataagent_preview"}]}


@rule(
    bad_request(
        "Invalid value: '{value}'. Value must be 'file_search'.", "tool_choice.tools[{index}].type", "invalid_value"
    ),
    reported("a public client's notes on its logs: fabric_dataagent_preview, three times in one project", "2026-05-03"),
    assumed("that other tools which only a project has are refused, too"),
    when="tool_choice",
    rejects={"fab...iew": by_agent(tool_choice=_FABRIC, account=ACCOUNT_WITH_HELPER)},
    accepts=[by_agent(tool_choice="required", account=ACCOUNT_WITH_HELPER)],
    since="2026-05-03",
    fix='Send `tool_choice: "required"`; an agent with a single tool then calls that one.',
)
def project_tool_allowed(request: Request, agent: NamedAgent | None) -> Iterator[Json]:
    """An agent's `allowed_tools` cannot name a tool that only a project has."""
    choice = request.body["tool_choice"]
    if not (agent and isinstance(choice, dict) and choice.get("type") == "allowed_tools"):
        return
    for index, tool in enumerate(objects_in(choice.get("tools"))):
        if (type := tool.get("type")) in PROJECT_TOOLS:
            yield {"value": f"{type[:3]}...{type[-3:]}", "index": index}


@rule(
    bad_request("Invalid payload", code="invalid_payload", body_template=single_fault_before(NOT_ALLOWED, "tools")),
    recorded(
        "Azure/azure-sdk-assets: .NET, AgentsTests.PerRequestToolsRejectedWithAgent: the whole body", "2025-10-29"
    ),
    when="tools",
    rejects=[by_agent(tools=[{"type": "web_search"}])],
    accepts=[by_agent(tools=None, tool_choice="required")],
    until="2026-04-02",
    fix="Declare the tools in the agent's definition, not in the request.",
)
def agent_tools_given_before(request: Request, agent: NamedAgent | None) -> bool:
    """An agent sets the tools; at first only the `details` of the error said so."""
    return bool(agent and request.body.get("tools"))


@rule(
    project_not_found("Response '{id}' not found."),
    recorded("Azure/azure-sdk-assets, a Python client: the whole body", "2026-07-01"),
    when="previous_response_id",
    rejects={"caresp_x": after(CREATE_HOSTED, Case({"input": "hi", "previous_response_id": "caresp_x"}, on=ON_AGENT))},
    accepts=[
        after(
            CREATE_HOSTED,
            Case({"input": "hi"}, on=ON_AGENT),
            Case({"input": "hi", "previous_response_id": "{1.id}"}, on=ON_AGENT),
        )
    ],
    since="2026-07-01",
    fix="Continue a response that this agent stored.",
)
def hosted_response_not_found(request: Request, world: WorldView, agent: NamedAgent | None) -> Iterator[Json]:
    """A hosted agent looks up the previous response itself, and has its own error message."""
    id = request.body["previous_response_id"]
    if agent and agent.kind is HOSTED and isinstance(id, str) and id not in world.store.responses:
        yield {"id": id}


@rule(
    project_error(400, "Deployment '' not found under Application '{name}'", code="bad_request"),
    reported("public code of two projects that asks published agents, with additionalInfo", "2026"),
    assumed("that an application without a known agent has no deployment"),
    on=("POST /responses", "POST /conversations"),
    rejects={"travel": after(CREATE_VERSION, Case({"input": "hi"}, on=ON_APPLICATION.format("travel")))},
    accepts=[
        after(CREATE_VERSION, Case({"input": "hi"}, on=ON_APPLICATION.format("helper"))),
        Case({"input": "hi"}, on=ON_APPLICATION.format("travel")),
    ],
    fix="Publish an agent under this name: an application answers like the agent of its name.",
)
def application_without_deployment(request: Request, world: WorldView) -> Iterator[Json]:
    """If requests have created agents, an application must be one of them, published under its name."""
    name = application_of(request)
    if name and world.store.table(AGENTS) and not versions_of(world, name):
        yield {"name": name}


@rule(
    project_error(404, "Agent {name} with version {version}not found.", code="not_found", type="error"),
    reported("notes of two public clients on agents of Foundry: the message without a version", "2026"),
    assumed("the place of the version; code and type, which are those of an agent that is deleted"),
    when=("agent_reference", "input"),
    rejects={
        "Agent other with version not found.": after(CREATE_VERSION, by_agent(of={"name": "other"})),
        "Agent helper with version 2 not found.": after(CREATE_VERSION, by_agent(of={"version": "2"})),
    },
    accepts=[
        after(CREATE_VERSION, by_agent(of={"version": "1"})),
        by_agent(of={"name": "other"}, account=ACCOUNT_WITH_HELPER),
    ],
    fix="Name an existing agent, in a version that it has.",
)
def agent_unknown(world: WorldView, agent: NamedAgent | None) -> Iterator[Json]:
    """If requests have created agents, an agent named in a request must be among them.

    The account's own list is open: agents with other names exist as well, with unknown definitions.
    """
    reference = agent.named if agent else None
    if world.store.table(AGENTS) and isinstance(reference, dict) and isinstance(reference.get("name"), str):
        yield from check_agent_exists(world, reference["name"], reference.get("version"))
