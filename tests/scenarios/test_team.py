"""A planner hands over to ops, right and wrong, and who spoke is recognised: with the unmodified `openai-agents`."""

import asyncio
from dataclasses import replace

import openai
import pytest

from harness.items import function_call, message, reasoning

pytestmark = pytest.mark.asyncio


async def deploy(ref: str) -> str:
    """Put a version into production."""
    return f"{ref} is live"


def team(agents, client, input_filter=None, told=str, model="gpt-4.1"):
    """Return a planner who can hand over to ops; the filter decides what ops sees of the talk."""
    made = agents.OpenAIResponsesModel(model, client)
    ops = agents.Agent("Ops", instructions=told("You are ops."), model=made, tools=[agents.function_tool(deploy)])
    transfer = agents.handoff(ops, input_filter=input_filter)
    return agents.Agent("Planner", instructions=told("You are the planner."), model=made, handoffs=[transfer])


def script(mock):
    mock.when(instructions="the planner", tools="transfer_to_ops").script(function_call("transfer_to_ops", {}))
    mock.when(instructions="are ops", tools="deploy").script(
        function_call("deploy", {"ref": "v2"}), message("v2 is live.")
    )


def spoken(mock):
    """Who spoke to the API, and how it ended."""
    return [(exchange.request.body["instructions"], exchange.status) for exchange in mock.exchanges]


STORY = [("You are the planner.", 200), ("You are ops.", 200), ("You are ops.", 200)]


async def test_the_planner_hands_over_and_ops_deploys(mock, agents, async_client):
    script(mock)
    result = await agents.Runner.run(team(agents, async_client), "Ship v2.")
    assert (result.final_output, result.last_agent.name) == ("v2 is live.", "Ops")
    assert spoken(mock) == STORY
    calls = [item["name"] for item in mock.exchanges[2].request.body["input"] if item.get("type") == "function_call"]
    assert calls == ["transfer_to_ops", "deploy"]


async def test_the_same_story_as_a_stream(mock, agents, async_client):
    script(mock)
    run = agents.Runner.run_streamed(team(agents, async_client), "Ship v2.")
    events = [event async for event in run.stream_events()]
    named = [event.name for event in events if event.type == "run_item_stream_event"]
    speakers = [event.new_agent.name for event in events if event.type == "agent_updated_stream_event"]
    assert named == ["handoff_requested", "handoff_occured", "tool_called", "tool_output", "message_output_created"]
    assert speakers == ["Planner", "Ops"]
    assert (run.final_output, spoken(mock)) == ("v2 is live.", STORY)


async def test_a_reasoning_planner_keeps_its_thoughts_with_its_call(mock, agents, async_client):
    mock.when(instructions="the planner").script([reasoning("**Delegating**"), function_call("transfer_to_ops", {})])
    mock.when(instructions="are ops").script(message("Nothing to do."))
    result = await agents.Runner.run(team(agents, async_client, model="gpt-5"), "Ship v2.")
    assert result.final_output == "Nothing to do."
    types = [item.get("type", item.get("role")) for item in mock.exchanges[1].request.body["input"]]
    assert types == ["user", "reasoning", "function_call", "function_call_output"]


def without_calls(data):
    """A filter with the classic bug: the call of the hand-off goes, its output stays."""
    return replace(data, new_items=tuple(item for item in data.new_items if item.type != "handoff_call_item"))


@pytest.mark.harness(unused="allow")
async def test_a_filter_that_takes_half_of_the_hand_off_away_is_refused(mock, agents, async_client):
    script(mock)
    with pytest.raises(openai.BadRequestError) as caught:
        await agents.Runner.run(team(agents, async_client, without_calls), "Ship v2.")
    call_id = mock.exchanges[0].answer.body["output"][0]["call_id"]
    words = f"No tool call found for function call output with call_id {call_id}."
    assert caught.value.body["message"] == words
    assert spoken(mock) == [STORY[0], ("You are ops.", 400)]


@pytest.mark.harness(unused="allow")
async def test_a_history_cut_to_its_last_items_is_refused(mock, agents, async_client):
    def newest(data):
        return agents.run.ModelInputData(data.model_data.input[-1:], data.model_data.instructions)

    script(mock)
    config = agents.RunConfig(call_model_input_filter=newest)
    with pytest.raises(openai.BadRequestError, match="No tool call found for function call output with call_id"):
        await agents.Runner.run(team(agents, async_client), "Ship v2.", run_config=config)
    assert spoken(mock) == [STORY[0], ("You are ops.", 400)]


async def test_two_runs_of_a_team_share_nothing_but_their_script(mock, agents, async_client):
    mock.when(instructions="the planner").script(message("First."), message("Second."))
    answers = [(await agents.Runner.run(team(agents, async_client), "Ship v2.")).final_output for _ in range(2)]
    assert answers == ["First.", "Second."]
    assert [len(exchange.request.body["input"]) for exchange in mock.exchanges] == [1, 1]


def spoke(mock):
    return {name: [exchange.number for exchange in exchanges] for name, exchanges in mock.lanes.items()}


def prompted_team(agents, client, input_filter=None):
    """Return a team of which each is told about hand-offs in the words of the framework."""
    told = agents.extensions.handoff_prompt.prompt_with_handoff_instructions
    return team(agents, client, input_filter, told)


@pytest.mark.parametrize("options", [{}, {"auto_previous_response_id": True}], ids=["replay", "chain"])
async def test_a_hand_off_leads_from_lane_to_lane(mock, agents, async_client, options):
    mock.script(function_call("transfer_to_ops", {}), function_call("deploy", {"ref": "v2"}), message("Live."))
    await agents.Runner.run(prompted_team(agents, async_client), "Ship v2.", **options)
    assert spoke(mock) == {"planner": [1], "ops": [2, 3]}
    [led] = mock.flow.hand_offs
    assert (led.number, led.by, led.to, led.name) == (2, "planner", "ops", "transfer_to_ops")


async def test_a_later_run_goes_on_in_its_lane(mock, agents, async_client):
    mock.script(function_call("transfer_to_ops", {}), message("Live."), message("Bye."))
    result = await agents.Runner.run(prompted_team(agents, async_client), "Ship v2.")
    history = [*result.to_input_list(), {"role": "user", "content": "Bye."}]
    await agents.Runner.run(result.last_agent, history)
    assert spoke(mock) == {"planner": [1], "ops": [2, 3]}


async def test_a_filtered_hand_off_has_its_lane_but_no_call(mock, agents, async_client):
    mock.script(function_call("transfer_to_ops", {}), message("Live."))
    await agents.Runner.run(
        prompted_team(agents, async_client, agents.extensions.handoff_filters.remove_all_tools), "Ship v2."
    )
    assert spoke(mock) == {"planner": [1], "ops": [2]}
    assert mock.flow.hand_offs == []


async def test_an_agent_as_a_tool_has_a_lane_of_its_own(mock, agents, async_client):
    model = agents.OpenAIResponsesModel("gpt-4.1", async_client)
    critic = agents.Agent("Critic", instructions="You are a critic.", model=model)
    ask = critic.as_tool("ask_critic", "Ask the critic.")
    writer = agents.Agent("Writer", instructions="You are a writer.", model=model, tools=[ask])
    mock.when(instructions="writer").script(function_call("ask_critic", {"input": "Good?"}), message("It is good."))
    mock.when(instructions="critic").script(message("Good."))
    await agents.Runner.run(writer, "Write.")
    assert spoke(mock) == {"writer": [1, 3], "critic": [2]}
    assert mock.flow.hand_offs == []


async def test_agents_at_the_same_time_keep_to_their_lanes(mock, agents, async_client):
    model = agents.OpenAIResponsesModel("gpt-4.1", async_client)
    names = ("red", "green", "blue")
    for name in names:
        mock.when(instructions=name).script(function_call("deploy", {"ref": name}), message("Done."))
    tools = [agents.function_tool(deploy)]
    crew = [agents.Agent(name, instructions=f"You are {name}.", model=model, tools=tools) for name in names]
    await asyncio.gather(*(agents.Runner.run(agent, "Ship it.") for agent in crew))
    assert {name: len(exchanges) for name, exchanges in mock.lanes.items()} == dict.fromkeys(names, 2)
