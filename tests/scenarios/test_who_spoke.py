"""Who spoke to the API, recognised without help from the unmodified `openai-agents`."""

from __future__ import annotations

import asyncio

import pytest
from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, function_tool, handoff
from agents.extensions import handoff_filters
from agents.extensions.handoff_prompt import prompt_with_handoff_instructions

from harness.items import function_call, message

pytestmark = pytest.mark.asyncio

QUIET = RunConfig(tracing_disabled=True)


@function_tool
async def deploy(ref: str) -> str:
    """Put a version into production."""
    return f"{ref} is live"


def spoke(mock):
    return {name: [exchange.number for exchange in exchanges] for name, exchanges in mock.lanes.items()}


def team(client, input_filter=None):
    """Return a planner who can hand over to ops, each told about hand-offs in the words of the framework."""
    model = OpenAIResponsesModel("gpt-4.1", client)
    ops = Agent("Ops", instructions=prompt_with_handoff_instructions("You are ops."), model=model, tools=[deploy])
    planner = prompt_with_handoff_instructions("You are the planner.")
    return Agent("Planner", instructions=planner, model=model, handoffs=[handoff(ops, input_filter=input_filter)])


@pytest.mark.parametrize("options", [{}, {"auto_previous_response_id": True}], ids=["replay", "chain"])
async def test_a_hand_off_leads_from_lane_to_lane(mock, async_client, options):
    mock.script(function_call("transfer_to_ops", {}), function_call("deploy", {"ref": "v2"}), message("Live."))
    await Runner.run(team(async_client), "Ship v2.", run_config=QUIET, **options)
    assert spoke(mock) == {"planner": [1], "ops": [2, 3]}
    [led] = mock.flow.hand_offs
    assert (led.number, led.by, led.to, led.name) == (2, "planner", "ops", "transfer_to_ops")


async def test_a_later_run_goes_on_in_its_lane(mock, async_client):
    mock.script(function_call("transfer_to_ops", {}), message("Live."), message("Bye."))
    result = await Runner.run(team(async_client), "Ship v2.", run_config=QUIET)
    history = [*result.to_input_list(), {"role": "user", "content": "Bye."}]
    await Runner.run(result.last_agent, history, run_config=QUIET)
    assert spoke(mock) == {"planner": [1], "ops": [2, 3]}


async def test_a_filtered_hand_off_has_its_lane_but_no_call(mock, async_client):
    mock.script(function_call("transfer_to_ops", {}), message("Live."))
    await Runner.run(team(async_client, handoff_filters.remove_all_tools), "Ship v2.", run_config=QUIET)
    assert spoke(mock) == {"planner": [1], "ops": [2]}
    assert mock.flow.hand_offs == []


async def test_an_agent_as_a_tool_has_a_lane_of_its_own(mock, async_client):
    model = OpenAIResponsesModel("gpt-4.1", async_client)
    critic = Agent("Critic", instructions="You are a critic.", model=model)
    ask = critic.as_tool("ask_critic", "Ask the critic.")
    writer = Agent("Writer", instructions="You are a writer.", model=model, tools=[ask])
    mock.when(instructions="writer").script(function_call("ask_critic", {"input": "Good?"}), message("It is good."))
    mock.when(instructions="critic").script(message("Good."))
    await Runner.run(writer, "Write.", run_config=QUIET)
    assert spoke(mock) == {"writer": [1, 3], "critic": [2]}
    assert mock.flow.hand_offs == []


async def test_agents_at_the_same_time_keep_to_their_lanes(mock, async_client):
    model = OpenAIResponsesModel("gpt-4.1", async_client)
    names = ("red", "green", "blue")
    for name in names:
        mock.when(instructions=name).script(function_call("deploy", {"ref": name}), message("Done."))
    agents = [Agent(name, instructions=f"You are {name}.", model=model, tools=[deploy]) for name in names]
    await asyncio.gather(*(Runner.run(agent, "Ship it.", run_config=QUIET) for agent in agents))
    assert {name: len(exchanges) for name, exchanges in mock.lanes.items()} == dict.fromkeys(names, 2)
