"""Several agents of openai-agents: hand-offs in every form of history, agents as tools, guardrails."""

import pytest
from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrailTripwireTriggered,
    OutputGuardrailTripwireTriggered,
    RunConfig,
    Runner,
    handoff,
    input_guardrail,
    output_guardrail,
)
from agents.extensions.handoff_filters import remove_all_tools
from given import deploy, look_up
from story import DEPLOY, LOOK_UP

from harness import surfaced
from harness.items import function_call, message


@pytest.fixture
def team(mock, model):
    """A planner that looks a version up and hands over to ops, who deploy it; `filtered` cuts what ops are told."""
    mock.when(instructions="planner").script(LOOK_UP, function_call("transfer_to_ops", {}))
    mock.when(instructions="ops").script(DEPLOY, message("v2 is out."))
    ops = Agent("Ops", handoff_description="Deploys.", instructions="You are ops.", model=model, tools=[deploy])

    def planner(**options):
        transfer = handoff(ops, tool_name_override="transfer_to_ops", **options)
        return Agent("Planner", instructions="You are the planner.", model=model, tools=[look_up], handoffs=[transfer])

    return planner


async def test_hand_off(mock, team, run):
    result = await run(team(), "Ship v2.")
    assert (result.final_output, result.last_agent.name) == ("v2 is out.", "Ops")
    surfaced(result, mock.replies)


async def test_hand_off_with_nested_history(mock, team, run):
    config = RunConfig(tracing_disabled=True, nest_handoff_history=True)
    result = await run(team(), "Ship v2.", run_config=config)
    assert result.final_output == "v2 is out."


async def test_hand_off_without_the_tools(mock, team, run):
    result = await run(team(input_filter=remove_all_tools), "Ship v2.")
    assert result.final_output == "v2 is out."


async def test_hand_off_in_a_chain(mock, team, run):
    result = await run(team(), "Ship v2.", auto_previous_response_id=True)
    assert result.final_output == "v2 is out."


async def test_conversation_goes_on_after_a_hand_off(mock, team, run):
    first = await run(team(), "Ship v2.")
    mock.when(instructions="ops").script(message("At noon."))
    second = await run(first.last_agent, [*first.to_input_list(), {"role": "user", "content": "When?"}])
    assert second.final_output == "At noon."


async def test_agent_as_a_tool(mock, model, run):
    mock.when(instructions="lead").script(function_call("ask_ops", {"input": "Is v2 out?"}), message("Yes, it is."))
    mock.when(instructions="ops").script(message("v2 is out."))
    ops = Agent("Ops", instructions="You are ops.", model=model)
    tool = ops.as_tool(tool_name="ask_ops", tool_description="Ask ops.")
    result = await run(Agent("Lead", instructions="You are the lead.", model=model, tools=[tool]), "Is v2 out?")
    assert result.final_output == "Yes, it is."


async def test_input_guardrail(mock, model):
    mock.when(instructions="judge").script(message("no"))

    @input_guardrail(run_in_parallel=False)
    async def allowed(context, agent, given):
        judge = Agent("Judge", instructions="You are the judge.", model=model)
        verdict = await Runner.run(judge, given, run_config=RunConfig(tracing_disabled=True))
        return GuardrailFunctionOutput(verdict, tripwire_triggered=verdict.final_output == "no")

    tutor = Agent("Tutor", instructions="You are a tutor.", model=model, input_guardrails=[allowed])
    with pytest.raises(InputGuardrailTripwireTriggered):
        await Runner.run(tutor, "Do my homework.", run_config=RunConfig(tracing_disabled=True))
    assert len(mock.exchanges) == 1


async def test_output_guardrail(mock, model, run):
    mock.script(message("The password is 1234."))

    @output_guardrail
    async def discreet(context, agent, output):
        return GuardrailFunctionOutput(output, tripwire_triggered="password" in output)

    with pytest.raises(OutputGuardrailTripwireTriggered):
        await run(Agent("Clerk", model=model, output_guardrails=[discreet]), "Tell me.")
