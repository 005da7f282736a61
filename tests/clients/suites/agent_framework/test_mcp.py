"""A server of tools that the API calls, with and without leave."""

import pytest
from agent_framework import Agent, AgentSession, Message
from shipping import decided

from harness import surfaced
from harness.items import mcp_call, message

SHIP = mcp_call("prod", "deploy", {"ref": "v2"})


@pytest.fixture
def shipped(mock):
    """What the server has shipped."""
    done = []
    mock.mcp("prod", {"deploy": lambda ref: done.append(ref) or f"{ref} is live", "status": "all is well"})
    return done


@pytest.fixture(params=[{}, {"store": False}], ids=["kept", "stateless"])
def ops(openai, request):
    def agent(approval_mode):
        server = openai.get_mcp_tool(name="prod", url="https://mcp.example.org", approval_mode=approval_mode)
        return Agent(openai, instructions="You are ops.", tools=[server], default_options=request.param)

    return agent


async def test_mcp_needs_no_leave(mock, ops, run, shipped):
    mock.script([SHIP, message("v2 is out.")], message("Since noon."))
    agent, session = ops("never_require"), AgentSession()
    result = await run(agent, "Ship v2.", session=session)
    surfaced(result, mock.said)
    assert ((await run(agent, "Since when?", session=session)).text, shipped) == ("Since noon.", ["v2"])


async def test_mcp_approved(mock, ops, run, shipped):
    mock.script([SHIP, message("v2 is out.")])
    agent, session = ops("always_require"), AgentSession()
    asked = await run(agent, "Ship v2.", session=session)
    result = await run(agent, decided(asked.user_input_requests), session=session)
    assert (result.text, shipped) == ("v2 is out.", ["v2"])
    assert [(approval.approve, approval.executed) for approval in mock.approvals] == [(True, 1)]


async def test_mcp_denied(mock, ops, run, shipped):
    mock.script(SHIP, message("Nothing was shipped."))
    agent, session = ops("always_require"), AgentSession()
    asked = await run(agent, "Ship v2.", session=session)
    result = await run(agent, decided(asked.user_input_requests, yes=False), session=session)
    assert (result.text, shipped) == ("Nothing was shipped.", [])
    assert [(approval.approve, approval.executed) for approval in mock.approvals] == [(False, 0)]


async def test_mcp_only_some_tools_need_leave(mock, ops, run, shipped):
    mock.script([mcp_call("prod", "status", {}), SHIP, message("v2 is out.")])
    agent, session = ops({"always_require_approval": ["deploy"], "never_require_approval": ["status"]}), AgentSession()
    asked = await run(agent, "Ship v2.", session=session)
    await run(agent, decided(asked.user_input_requests), session=session)
    assert (shipped, [approval.executed for approval in mock.approvals]) == (["v2"], [1])


async def test_mcp_approved_and_asked_on(mock, ops, run, shipped):
    mock.script([SHIP, message("v2 is out.")], message("Since noon."), message("Bye."))
    agent, session = ops("always_require"), AgentSession()
    asked = await run(agent, "Ship v2.", session=session)
    await run(agent, decided(asked.user_input_requests), session=session)
    for question in ("Since when?", "Thanks."):
        result = await run(agent, question, session=session)
    assert (result.text, shipped) == ("Bye.", ["v2"])
    assert [(approval.answers, approval.executed) for approval in mock.approvals] == [((2,), 1)]


async def test_mcp_approved_by_hand(mock, ops, run, shipped):
    mock.script([SHIP, message("v2 is out.")])
    agent = ops("always_require")
    asked = await run(agent, "Ship v2.")
    history = [Message("user", ["Ship v2."]), *asked.messages, decided(asked.user_input_requests)]
    assert ((await run(agent, history)).text, shipped) == ("v2 is out.", ["v2"])
