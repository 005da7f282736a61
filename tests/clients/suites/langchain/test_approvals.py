"""Interrupts of LangChain's agents: approved, rejected, edited, answered by a human, some of several, in another process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import shipping
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from harness.items import function_call, mcp_call, message, reasoning

DEPLOY = function_call("deploy", {"ref": "v2"})
OTHER = function_call("deploy", {"ref": "v3"})
LOOK_UP = function_call("look_up", {"ref": "v2"})
MEMORIES = {
    "replay": {},
    "chain": {"use_previous_response_id": True},
    "unstored": {"store": False, "include": ["reasoning.encrypted_content"]},
}
SHIP = {"messages": [HumanMessage("Ship it.")]}
APPROVE, REJECT = {"type": "approve"}, {"type": "reject", "message": "Not on a Friday."}
EDIT = {"type": "edit", "edited_action": {"name": "deploy", "args": {"ref": "v2.1"}}}


@pytest.fixture(params=MEMORIES)
def memory(request):
    return MEMORIES[request.param]


@pytest.fixture
def log(tmp_path):
    return tmp_path / "deployed.txt"


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


def deployed(log):
    return log.read_text().split() if log.exists() else []


async def test_approved(mock, log, ship):
    mock.script([reasoning("**Shipping**"), DEPLOY], message("v2 is out."))
    assert (await ship(APPROVE), deployed(log)) == ("v2 is out.", ["v2"])
    assert [call.answered for call in mock.calls] == [1]


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


async def test_only_some_calls_are_gated(mock, log, ship):
    mock.script([message("I look first."), LOOK_UP, DEPLOY], message("v2 is out."))
    assert (await ship(APPROVE), deployed(log)) == ("v2 is out.", ["v2"])
    assert [call.answered for call in mock.calls] == [1, 1]


async def test_one_of_two_is_approved(mock, log, ship):
    mock.script([reasoning("**Shipping**"), DEPLOY, LOOK_UP, OTHER], message("One is out."))
    assert (await ship(APPROVE, REJECT), deployed(log)) == ("One is out.", ["v2"])
    assert [call.answered for call in mock.calls] == [1, 1, 1]


async def test_each_call_is_asked_by_itself(mock, log, run, memory):
    mock.script([DEPLOY, LOOK_UP, OTHER], message("One is out."))
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
    command = [sys.executable, shipping.__file__, checkpoints, str(log), json.dumps([decision])]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    assert (ended.stdout.strip(), deployed(log)) == ("That is settled.", shipped)


@pytest.mark.parametrize("version", ["responses/v1", "v1"])
@pytest.mark.parametrize("approve", [True, False], ids=["approve", "deny"])
async def test_hosted_mcp(mock, chat, ask, version, approve):
    shipped = []
    mock.mcp("prod", {"deploy": lambda ref: shipped.append(ref) or f"{ref} is live"})
    mock.script([mcp_call("prod", "deploy", {"ref": "v2"}), message("Done as asked.")])
    if not approve:
        mock.script(message("Done as asked."))
    tool = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}
    model = chat(output_version=version, use_previous_response_id=True).bind_tools([tool])
    asked = await ask(model, "Ship v2.")
    waiting = [each for block in asked.content if (each := block.get("value", block))["type"] == "mcp_approval_request"]
    answer = {"type": "mcp_approval_response", "approval_request_id": waiting[0]["id"], "approve": approve}
    done = await ask(model, [HumanMessage("Ship v2."), asked, HumanMessage([answer])])
    assert (done.text, shipped) == ("Done as asked.", ["v2"] if approve else [])
