"""Gated calls of openai-agents: approved, rejected, some of several, in another process; those of a hosted MCP server."""

import json

import pytest
import shipping
from agents import Agent, HostedMCPTool, Runner
from story import DEPLOY, DEPLOY_V3, LOOK_UP, REMOTE, decisions, deployed, run_program

from harness import surfaced
from harness.items import message

MEMORY = pytest.mark.parametrize("memory", [{}, {"auto_previous_response_id": True}], ids=["replay", "chain"])
MCP = {
    "type": "mcp",
    "server_label": "prod",
    "server_url": "https://mcp.example.org/sse",
    "require_approval": "always",
}


@pytest.fixture
def ship(mock, log, run):
    """Ship it: a run that stops for leave, then one with the decisions, which are given in the order of the calls."""

    async def play(*approved, **memory):
        agent = shipping.shipper(log)
        asked = await run(agent, "Ship it.", **memory)
        state = asked.to_state()
        for item, yes in zip(asked.interruptions, approved, strict=True):
            (state.approve if yes else state.reject)(item)
        result = await run(agent, state)
        surfaced(result, mock.replies)
        return result.final_output

    return play


@MEMORY
async def test_approved(mock, log, ship, memory):
    mock.script(DEPLOY, message("v2 is out."))
    assert (await ship(True, **memory), deployed(log)) == ("v2 is out.", ["v2"])


@MEMORY
async def test_rejected(mock, log, ship, memory):
    mock.script(DEPLOY, message("It was not shipped."))
    assert (await ship(False, **memory), deployed(log)) == ("It was not shipped.", [])


@MEMORY
async def test_only_some_calls_are_gated(mock, log, ship, memory):
    mock.script([message("I look first."), LOOK_UP, DEPLOY], message("v2 is out."))
    assert (await ship(True, **memory), deployed(log)) == ("v2 is out.", ["v2"])


async def test_one_of_two_is_approved(mock, log, ship):
    mock.script([DEPLOY, DEPLOY_V3], message("One is out."))
    assert (await ship(True, False), deployed(log)) == ("One is out.", ["v2"])


@MEMORY
@pytest.mark.parametrize(("decision", "shipped"), [("approve", ["v2"]), ("reject", [])])
async def test_resumed_in_a_new_process(mock, log, tmp_path, memory, decision, shipped):
    mock.script([LOOK_UP, DEPLOY], message("That is settled."))
    asked = await Runner.run(shipping.shipper(log), "Ship v2.", run_config=shipping.QUIET, **memory)
    state = tmp_path / "state.json"
    state.write_text(json.dumps(asked.to_state().to_json()))
    said = run_program(shipping.__file__, state, log, decision)
    assert (said, deployed(log)) == ("That is settled.", shipped)


@MEMORY
@pytest.mark.parametrize("approve", [True, False], ids=["approve", "deny"])
async def test_hosted_mcp(mock, model, run, memory, approve, shipped):
    mock.script([REMOTE, message("Done as asked.")])
    if not approve:
        mock.script(message("Done as asked."))
    tool = HostedMCPTool(MCP, on_approval_request=lambda request: {"approve": approve})
    result = await run(Agent("Ops", model=model, tools=[tool]), "Ship v2.", **memory)
    assert (result.final_output, shipped) == ("Done as asked.", ["v2"] if approve else [])
    assert decisions(mock) == [(approve, int(approve))]


async def test_hosted_mcp_is_asked_of_a_human(mock, model, run, shipped):
    mock.script([REMOTE, message("v2 is out.")])
    agent = Agent("Ops", model=model, tools=[HostedMCPTool(MCP)])
    asked = await run(agent, "Ship v2.")
    state = asked.to_state()
    state.approve(asked.interruptions[0])
    result = await run(agent, state)
    assert result.final_output == "v2 is out."
    surfaced(result, mock.replies)
    assert (decisions(mock), shipped) == ([(True, 1)], ["v2"])
