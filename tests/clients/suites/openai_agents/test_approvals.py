"""Gated calls of openai-agents: approved, rejected, some of several, in another process; those of a hosted MCP server."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import shipping
from agents import Agent, HostedMCPTool, Runner

from harness import surfaced
from harness.items import function_call, mcp_call, message

DEPLOY = function_call("deploy", {"ref": "v2"})
LOOK_UP = function_call("look_up", {"ref": "v2"})
MEMORIES = [{}, {"auto_previous_response_id": True}]
MCP = {
    "type": "mcp",
    "server_label": "prod",
    "server_url": "https://mcp.example.org/sse",
    "require_approval": "always",
}


@pytest.fixture
def log(tmp_path):
    return tmp_path / "deployed.txt"


def deployed(log):
    return log.read_text().split() if log.exists() else []


@pytest.mark.parametrize("memory", MEMORIES, ids=["replay", "chain"])
async def test_approved(mock, log, run, memory):
    mock.script(DEPLOY, message("v2 is out."))
    agent = shipping.shipper(log)
    asked = await run(agent, "Ship v2.", **memory)
    state = asked.to_state()
    state.approve(asked.interruptions[0])
    result = await run(agent, state)
    assert (result.final_output, deployed(log)) == ("v2 is out.", ["v2"])
    surfaced(result, mock.said)


@pytest.mark.parametrize("memory", MEMORIES, ids=["replay", "chain"])
async def test_rejected(mock, log, run, memory):
    mock.script(DEPLOY, message("It was not shipped."))
    agent = shipping.shipper(log)
    asked = await run(agent, "Ship v2.", **memory)
    state = asked.to_state()
    state.reject(asked.interruptions[0])
    result = await run(agent, state)
    assert (result.final_output, deployed(log)) == ("It was not shipped.", [])


@pytest.mark.parametrize("memory", MEMORIES, ids=["replay", "chain"])
async def test_only_some_calls_are_gated(mock, log, run, memory):
    mock.script([message("I look first."), LOOK_UP, DEPLOY], message("v2 is out."))
    agent = shipping.shipper(log)
    asked = await run(agent, "Ship v2.", **memory)
    state = asked.to_state()
    state.approve(asked.interruptions[0])
    result = await run(agent, state)
    assert (result.final_output, deployed(log)) == ("v2 is out.", ["v2"])
    surfaced(result, mock.said)


async def test_one_of_two_is_approved(mock, log, run):
    mock.script([DEPLOY, function_call("deploy", {"ref": "v3"})], message("One is out."))
    agent = shipping.shipper(log)
    asked = await run(agent, "Ship v2 and v3.")
    state = asked.to_state()
    state.approve(asked.interruptions[0])
    state.reject(asked.interruptions[1])
    result = await run(agent, state)
    assert (result.final_output, deployed(log)) == ("One is out.", ["v2"])


@pytest.mark.parametrize("memory", MEMORIES, ids=["replay", "chain"])
@pytest.mark.parametrize(("decision", "shipped"), [("approve", ["v2"]), ("reject", [])])
async def test_resumed_in_a_new_process(mock, log, tmp_path, memory, decision, shipped):
    mock.script([LOOK_UP, DEPLOY], message("That is settled."))
    asked = await Runner.run(shipping.shipper(log), "Ship v2.", run_config=shipping.QUIET, **memory)
    state = tmp_path / "state.json"
    state.write_text(json.dumps(asked.to_state().to_json()))
    command = [sys.executable, shipping.__file__, str(state), str(log), decision]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert (ended.stdout.strip(), deployed(log)) == ("That is settled.", shipped)


@pytest.mark.parametrize("memory", MEMORIES, ids=["replay", "chain"])
@pytest.mark.parametrize("approve", [True, False], ids=["approve", "deny"])
async def test_hosted_mcp(mock, model, run, memory, approve):
    shipped = []
    mock.mcp("prod", {"deploy": lambda ref: shipped.append(ref) or f"{ref} is live"})
    mock.script([mcp_call("prod", "deploy", {"ref": "v2"}), message("Done as asked.")])
    if not approve:
        mock.script(message("Done as asked."))
    tool = HostedMCPTool(MCP, on_approval_request=lambda request: {"approve": approve})
    result = await run(Agent("Ops", model=model, tools=[tool]), "Ship v2.", **memory)
    assert (result.final_output, shipped) == ("Done as asked.", ["v2"] if approve else [])
    assert [approval.approve for approval in mock.approvals] == [approve]


async def test_hosted_mcp_is_asked_of_a_human(mock, model, run):
    mock.mcp("prod", {"deploy": lambda ref: f"{ref} is live"})
    mock.script([mcp_call("prod", "deploy", {"ref": "v2"}), message("v2 is out.")])
    agent = Agent("Ops", model=model, tools=[HostedMCPTool(MCP)])
    asked = await run(agent, "Ship v2.")
    state = asked.to_state()
    state.approve(asked.interruptions[0])
    result = await run(agent, state)
    assert result.final_output == "v2 is out."
    surfaced(result, mock.said)
    assert [approval.executed for approval in mock.approvals] == [1]
