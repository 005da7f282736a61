"""Interrupts of LangChain's agents: rejected, edited, answered by a human, one by one, in another process; hosted MCP."""

import json

import pytest
import shipping
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command
from story import DEPLOY, DEPLOY_V3, LOOK_UP, REMOTE, deployed, run_program

from harness.items import message, reasoning

SHIP = {"messages": [HumanMessage("Ship it.")]}
APPROVE, REJECT = {"type": "approve"}, {"type": "reject", "message": "Not on a Friday."}
EDIT = {"type": "edit", "edited_action": {"name": "deploy", "args": {"ref": "v2.1"}}}


@pytest.fixture
def ship(log, run, memory):
    """Ship it: a run that stops for leave, then one with the decisions; the last text."""

    async def play(*decisions):
        agent = shipping.shipper(InMemorySaver(), log, **memory)
        asked = await run(agent, SHIP, config=shipping.THREAD)
        assert len(asked["__interrupt__"][0].value["action_requests"]) == len(decisions)
        state = await run(agent, Command(resume={"decisions": decisions}), config=shipping.THREAD)
        return state["messages"][-1].text

    return play


async def test_rejected(mock, log, ship):
    mock.script(DEPLOY, message("It was not shipped."))
    assert (await ship(REJECT), deployed(log)) == ("It was not shipped.", [])
    assert "Not on a Friday." in mock.calls[0].outputs[0][1]


async def test_edited(mock, log, ship):
    mock.script(DEPLOY, message("v2.1 is out."))
    assert (await ship(EDIT), deployed(log)) == ("v2.1 is out.", ["v2.1"])
    assert [call.arguments for call in mock.calls] == ['{"ref":"v2"}']


async def test_answered_by_a_human(mock, log, ship):
    mock.script(DEPLOY, message("It was out already."))
    assert (await ship({"type": "respond", "message": "It is out."}), deployed(log)) == ("It was out already.", [])
    assert mock.calls[0].outputs[0][1] == "It is out."


async def test_each_call_is_asked_by_itself(mock, log, run, memory):
    mock.script([DEPLOY, LOOK_UP, DEPLOY_V3], message("One is out."))
    agent = shipping.shipper(InMemorySaver(), log, "per_call", **memory)
    asked = await run(agent, SHIP, config=shipping.THREAD)
    first, second = asked["__interrupt__"]
    state = await run(agent, Command(resume={first.id: APPROVE, second.id: REJECT}), config=shipping.THREAD)
    assert (state["messages"][-1].text, deployed(log)) == ("One is out.", ["v2"])


@pytest.mark.parametrize(
    ("memory", "decision", "shipped"),
    [("replay", APPROVE, ["v2"]), ("unstored", REJECT, []), ("chain", EDIT, ["v2.1"])],
    indirect=["memory"],
)
async def test_resumed_in_a_new_process(mock, log, tmp_path, memory, decision, shipped):
    mock.script(LOOK_UP, [reasoning("**Shipping**"), LOOK_UP, DEPLOY], message("That is settled."))
    checkpoints = str(tmp_path / "checkpoints.db")
    async with AsyncSqliteSaver.from_conn_string(checkpoints) as saver:
        await shipping.shipper(saver, log, **memory).ainvoke(SHIP, shipping.THREAD)
    said = run_program(shipping.__file__, checkpoints, log, json.dumps([decision]))
    assert (said, deployed(log)) == ("That is settled.", shipped)


@pytest.mark.parametrize("version", ["responses/v1", "v1"], indirect=True)
@pytest.mark.parametrize("approve", [True, False], ids=["approve", "deny"])
async def test_hosted_mcp(mock, chat, ask, version, approve, shipped):
    mock.script([REMOTE, message("Done as asked.")])
    if not approve:
        mock.script(message("Done as asked."))
    tool = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}
    model = chat(**version, use_previous_response_id=True).bind_tools([tool])
    asked = await ask(model, "Ship v2.")
    waiting = [each for block in asked.content if (each := block.get("value", block))["type"] == "mcp_approval_request"]
    answer = {"type": "mcp_approval_response", "approval_request_id": waiting[0]["id"], "approve": approve}
    done = await ask(model, [HumanMessage("Ship v2."), asked, HumanMessage([answer])])
    assert (done.text, shipped) == ("Done as asked.", ["v2"] if approve else [])
