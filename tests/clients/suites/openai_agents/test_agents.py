"""openai-agents: its results, nested histories, guardrails, runs that go on elsewhere, hosted MCP, a WebSocket."""

import json

import pytest
import shipping
from agents import (
    Agent,
    FileSearchTool,
    GuardrailFunctionOutput,
    HostedMCPTool,
    InputGuardrailTripwireTriggered,
    ModelSettings,
    RunConfig,
    Runner,
    function_tool,
    input_guardrail,
    responses_websocket_session,
)
from shipping import get_weather, look_up
from story import (
    CITED,
    DEPLOY,
    FORECAST,
    LOOK_UP,
    MILD,
    OSLO,
    PARIS,
    REMOTE,
    Forecast,
    decisions,
    deployed,
    outputs,
    run_program,
)

from harness import surfaced
from harness.items import function_call, message, reasoning

MEMORY = pytest.mark.parametrize("memory", [{}, {"auto_previous_response_id": True}], ids=["replay", "chain"])
MCP = {
    "type": "mcp",
    "server_label": "prod",
    "server_url": "https://mcp.example.org/sse",
    "require_approval": "always",
}


@function_tool
def deploy(ref: str) -> str:
    """Put a version into production."""
    return f"{ref} is live"


async def test_parallel_tools(mock, model, run):
    mock.script([PARIS, OSLO], message("Both are mild."))
    result = await run(Agent("Clerk", model=model, tools=[get_weather]), "Paris and Oslo?")
    assert (result.final_output, outputs(mock.exchanges[1])) == ("Both are mild.", ["Paris: mild", "Oslo: mild"])
    surfaced(result, mock.replies)


async def test_structured_output(mock, model, run):
    mock.script(message(FORECAST))
    result = await run(Agent("Clerk", model=model, output_type=Forecast), "How is Paris?")
    assert result.final_output == MILD
    surfaced(result, mock.replies)


async def test_citations_are_kept_in_the_next_turn(mock, model, run):
    mock.script(CITED, message("In the fridge."))
    store = mock.vector_store(mock.file("guide.txt", "Store it cold."))
    clerk = Agent("Clerk", model=model, tools=[FileSearchTool([store], include_search_results=True)])
    first = await run(clerk, "How is it stored?")
    surfaced(first, mock.replies, only={"text", "annotations"})
    second = await run(clerk, [*first.to_input_list(), {"role": "user", "content": "Where?"}])
    assert second.final_output == "In the fridge."


async def test_reasoning_of_a_stored_response_is_replayed(mock, thinking, run):
    mock.script([reasoning("**Looking up**"), PARIS], message("It is mild."))
    result = await run(Agent("Clerk", model=thinking, tools=[get_weather]), "How is Paris?")
    assert result.final_output == "It is mild."
    surfaced(result, mock.replies)


async def test_hand_off_with_nested_history(mock, model, run):
    mock.when(instructions="planner").script(LOOK_UP, function_call("transfer_to_ops", {}))
    mock.when(instructions="ops").script(DEPLOY, message("v2 is out."))
    ops = Agent("Ops", handoff_description="Deploys.", instructions="You are ops.", model=model, tools=[deploy])
    planner = Agent("Planner", instructions="You are the planner.", model=model, tools=[look_up], handoffs=[ops])
    config = RunConfig(tracing_disabled=True, nest_handoff_history=True)
    result = await run(planner, "Ship v2.", run_config=config)
    assert result.final_output == "v2 is out."


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


@pytest.mark.parametrize("settings", [ModelSettings(), ModelSettings(store=False)], ids=["stored", "unstored"])
@MEMORY
async def test_socket(mock, settings, memory):
    mock.script([PARIS, OSLO], message("Both are mild."), message("It will rain."))
    clerk = Agent("Clerk", model="gpt-4.1", tools=[get_weather], model_settings=settings)
    async with responses_websocket_session(api_key=mock.api_key, base_url=mock.base_url) as session:
        first = await session.run(clerk, "Paris and Oslo?", **memory)
        if memory:
            second = await session.run(clerk, "Tomorrow?", previous_response_id=first.last_response_id, **memory)
        else:
            second = await session.run(clerk, [*first.to_input_list(), {"role": "user", "content": "Tomorrow?"}])
    surfaced(second, mock.replies)
    assert (first.final_output, second.final_output) == ("Both are mild.", "It will rain.")
    assert {exchange.request.method for exchange in mock.exchanges} == {"WS"}
