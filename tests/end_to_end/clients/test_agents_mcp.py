"""The unmodified `openai-agents` and its `HostedMCPTool`: a callback or a human is asked, the call is made once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agents import Agent, HostedMCPTool, MCPToolApprovalRequest, OpenAIResponsesModel, RunConfig, Runner, RunState

from harness.items import mcp_call, message
from tests.support.clients.programs import MODEL

pytestmark = pytest.mark.asyncio

QUIET = RunConfig(tracing_disabled=True)
DEPLOY = mcp_call("prod", "deploy", {"ref": "v2"})
STORED = [{}, {"auto_previous_response_id": True}, {"conversation": True}]


class Ops:
    """An agent with a server `prod` among its tools, and the record of what was really deployed and asked."""

    def __init__(self, mock: Any, client: Any) -> None:
        self.mock, self.client = mock, client
        self.deployed: list[str] = []
        self.requested: list[tuple[str, str]] = []
        mock.mcp("prod", {"deploy": self._deploy})
        self.model = OpenAIResponsesModel(MODEL, client)

    def _deploy(self, ref: str) -> str:
        self.deployed.append(ref)
        return f"{ref} is live"

    def agent(self, approve: bool | None = None, require_approval: Any = "always") -> Agent:
        """Return the agent; with `approve` a callback decides, without it a human does."""

        def decide(request: MCPToolApprovalRequest) -> Any:
            self.requested.append((request.data.name, request.data.arguments))
            return {"approve": True} if approve else {"approve": False, "reason": "It is Friday."}

        config: Any = {
            "type": "mcp",
            "server_label": "prod",
            "server_url": "https://mcp.example.org/sse",
            "require_approval": require_approval,
        }
        tool = HostedMCPTool(config, on_approval_request=None if approve is None else decide)
        return Agent("Ops", model=self.model, tools=[tool])

    async def run(self, agent: Agent, input: Any = "Ship v2.", streamed: bool = False, **options: Any) -> Any:
        if options.pop("conversation", False):
            options["conversation_id"] = (await self.client.conversations.create()).id
        if not streamed:
            return await Runner.run(agent, input, run_config=QUIET, **options)
        run = Runner.run_streamed(agent, input, run_config=QUIET, **options)
        async for _ in run.stream_events():
            pass
        return run


@pytest.fixture
def ops(mock, async_client):
    return Ops(mock, async_client)


def statuses(mock):
    return [exchange.status for exchange in mock.exchanges if exchange.request.path == "/responses"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("options", STORED)
async def test_a_callback_that_approves_has_it_deployed_once(mock, ops, streamed, options):
    mock.script([DEPLOY, message("v2 is out.")])
    result = await ops.run(ops.agent(approve=True), streamed=streamed, **options)
    assert (result.final_output, ops.deployed) == ("v2 is out.", ["v2"])
    assert ops.requested == [("deploy", '{"ref":"v2"}')]
    assert [(approval.approve, approval.executed) for approval in mock.approvals] == [(True, 1)]
    assert statuses(mock) == [200, 200]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("options", STORED)
async def test_a_callback_that_denies_says_why_and_nothing_is_deployed(mock, ops, streamed, options):
    mock.script([DEPLOY, message("v2 is out.")], message("Not shipped."))
    result = await ops.run(ops.agent(approve=False), streamed=streamed, **options)
    assert (result.final_output, ops.deployed) == ("Not shipped.", [])
    [approval] = mock.approvals
    assert (approval.approve, approval.reason, approval.executed) == (False, "It is Friday.", 0)
    assert statuses(mock) == [200, 200]


@pytest.mark.parametrize(("approve", "output", "deployed"), [(True, "v2 is out.", ["v2"]), (False, "Not shipped.", [])])
async def test_a_human_decides_while_the_run_is_put_away(mock, ops, approve, output, deployed):
    mock.script([DEPLOY, message("v2 is out.")], *([] if approve else [message("Not shipped.")]))
    agent = ops.agent()
    result = await ops.run(agent)
    assert (len(result.interruptions), ops.deployed, len(mock.exchanges)) == (1, [], 1)
    state = await RunState.from_json(agent, json.loads(json.dumps(result.to_state().to_json())))
    (state.approve if approve else state.reject)(state.get_interruptions()[0])
    result = await ops.run(agent, state)
    assert (result.final_output, ops.deployed) == (output, deployed)
    assert [(entry.approve, entry.executed) for entry in mock.approvals] == [(approve, len(deployed))]


async def test_where_no_approval_is_needed_nobody_is_prompted(mock, ops):
    mock.script([DEPLOY, message("v2 is out.")])
    result = await ops.run(ops.agent(approve=False, require_approval="never"))
    assert (result.final_output, ops.deployed, ops.requested) == ("v2 is out.", ["v2"], [])
    assert (mock.approvals, statuses(mock)) == ([], [200])


async def test_two_calls_at_once_are_approved_one_by_one(mock, ops):
    mock.script([DEPLOY, mcp_call("prod", "deploy", {"ref": "v3"}), message("Both are out.")])
    result = await ops.run(ops.agent(approve=True), auto_previous_response_id=True)
    assert (result.final_output, ops.deployed) == ("Both are out.", ["v2", "v3"])
    assert [approval.executed for approval in mock.approvals] == [1, 1]
