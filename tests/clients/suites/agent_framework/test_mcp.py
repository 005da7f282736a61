"""A server of tools that the API calls, with and without leave."""

import pytest
from agent_framework import Agent, AgentSession, Message
from shipping import decided
from story import REMOTE, decisions

from harness import surfaced
from harness.items import mcp_call, message


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
    mock.script([REMOTE, message("v2 is out.")], message("Since noon."))
    agent, session = ops("never_require"), AgentSession()
    result = await run(agent, "Ship v2.", session=session)
    surfaced(result, mock.replies)
    assert ((await run(agent, "Since when?", session=session)).text, shipped) == ("Since noon.", ["v2"])


@pytest.fixture
def ship(ops, run):
    """Ship it: a run that stops for leave, then one with the decision; its result, the agent and the session."""

    async def play(approval_mode="always_require", yes=True):
        agent, session = ops(approval_mode), AgentSession()
        asked = await run(agent, "Ship v2.", session=session)
        return await run(agent, decided(asked.user_input_requests, yes), session=session), agent, session

    return play


async def test_mcp_only_some_tools_need_leave(mock, ship, shipped):
    mock.script([mcp_call("prod", "status", {}), REMOTE, message("v2 is out.")])
    await ship({"always_require_approval": ["deploy"], "never_require_approval": ["status"]})
    assert (shipped, decisions(mock)) == (["v2"], [(True, 1)])


async def test_mcp_approved_and_asked_on(mock, ship, run, shipped):
    mock.script([REMOTE, message("v2 is out.")], message("Since noon."), message("Bye."))
    _, agent, session = await ship()
    for question in ("Since when?", "Thanks."):
        result = await run(agent, question, session=session)
    assert (result.text, shipped) == ("Bye.", ["v2"])
    assert [(approval.answers, approval.executed) for approval in mock.approvals] == [((2,), 1)]


async def test_mcp_approved_by_hand(mock, ops, run, shipped):
    mock.script([REMOTE, message("v2 is out.")])
    agent = ops("always_require")
    asked = await run(agent, "Ship v2.")
    history = [Message("user", ["Ship v2."]), *asked.messages, decided(asked.user_input_requests)]
    assert ((await run(agent, history)).text, shipped) == ("v2 is out.", ["v2"])
