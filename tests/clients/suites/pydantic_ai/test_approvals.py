"""Deferred tools of pydantic-ai: denied, with other arguments, twice, in another process, elsewhere."""

from __future__ import annotations

import pytest
import shipping
from pydantic_ai import Agent, CallDeferred, DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from story import DEPLOY, DEPLOY_V3, LOOK_UP, deployed, run_program

from harness.items import function_call, message, reasoning


@pytest.fixture
def ship(log, run, memory):
    """Ship it: a run that stops for leave, then one with the decisions, which are given in the order of the calls."""

    async def play(*decisions, prompt=None):
        agent = shipping.shipper(log)
        asked = await run(agent, "Ship it.", model_settings=memory)
        ids = [call.tool_call_id for call in asked.output.approvals]
        results = DeferredToolResults(approvals=dict(zip(ids, decisions, strict=True)))
        given = () if prompt is None else (prompt,)
        history = asked.all_messages()
        return await run(agent, *given, message_history=history, deferred_tool_results=results, model_settings=memory)

    return play


async def test_denied(mock, log, ship):
    mock.script(DEPLOY, message("It was not shipped."))
    result = await ship(ToolDenied("Not on a Friday."))
    assert (result.output, deployed(log)) == ("It was not shipped.", [])
    assert mock.calls[0].outputs[0][1] == "Not on a Friday."


async def test_other_arguments(mock, log, ship):
    mock.script(DEPLOY, message("v2.1 is out."))
    result = await ship(ToolApproved(override_args={"ref": "v2.1"}))
    assert (result.output, deployed(log)) == ("v2.1 is out.", ["v2.1"])


async def test_gated_twice(mock, log, run, memory):
    mock.script(DEPLOY, DEPLOY_V3, message("Both are out."))
    agent, result, more = shipping.shipper(log), None, {}
    while result is None or isinstance(result.output, DeferredToolRequests):
        result = await run(agent, *([] if more else ["Ship both."]), model_settings=memory, **more)
        if isinstance(result.output, DeferredToolRequests):
            results = DeferredToolResults(approvals={call.tool_call_id: True for call in result.output.approvals})
            more = {"message_history": result.all_messages(), "deferred_tool_results": results}
    assert (result.output, deployed(log)) == ("Both are out.", ["v2", "v3"])


async def test_user_speaks_as_he_approves(mock, log, ship):
    mock.script(DEPLOY, message("v2 is out, and it is noted."))
    result = await ship(True, prompt="Note it too.")
    assert (result.output, deployed(log)) == ("v2 is out, and it is noted.", ["v2"])


@pytest.mark.parametrize(
    ("memory", "decision", "shipped"),
    [("replay", "approve", ["v2"]), ("unstored", "deny", []), ("chain", "approve", ["v2"])],
    indirect=["memory"],
)
async def test_resumed_in_a_new_process(mock, log, tmp_path, memory, decision, shipped):
    mock.script([LOOK_UP], [reasoning("**Shipping**"), LOOK_UP, DEPLOY], message("That is settled."))
    asked = await shipping.shipper(log).run("Ship v2.", model_settings=memory)
    files = [tmp_path / "messages.json", tmp_path / "requests.json"]
    files[0].write_bytes(asked.all_messages_json())
    files[1].write_bytes(shipping.REQUESTS.dump_json(asked.output))
    said = run_program(shipping.__file__, *files, log, decision)
    assert (said, deployed(log)) == ("That is settled.", shipped)


async def test_call_done_elsewhere(mock, model, run):
    mock.script([function_call("print_page", {"number": 1}), LOOK_UP], message("It is printed."))
    agent = Agent(model, output_type=[str, DeferredToolRequests])

    @agent.tool_plain
    def print_page(number: int) -> str:
        raise CallDeferred

    @agent.tool_plain
    def look_up(ref: str) -> str:
        return f"{ref}: two fixes"

    asked = await run(agent, "Print it.")
    results = DeferredToolResults(calls={call.tool_call_id: "done" for call in asked.output.calls})
    result = await run(agent, message_history=asked.all_messages(), deferred_tool_results=results)
    assert result.output == "It is printed."
