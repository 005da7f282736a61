"""The story of a deployment that waits for a human: the run stops, is put away as JSON, and goes on or not."""

import json

import openai
import pytest

from harness.items import function_call, message
from tests.support.clients import broken
from tests.support.clients.broken import BrokenAsyncOpenAI

pytestmark = pytest.mark.asyncio

LIVE = "v2 is live"


class Ops:
    """An agent whose only tool needs approval, and the record of what it really deployed."""

    def __init__(self, agents, client):
        self.agents, self.deployed = agents, []

        @agents.function_tool(needs_approval=True)
        async def deploy(ref: str) -> str:
            """Put a version into production."""
            self.deployed.append(ref)
            return f"{ref} is live"

        model = agents.OpenAIResponsesModel("gpt-4.1", client)
        self.agent = agents.Agent("Ops", instructions="You are ops.", model=model, tools=[deploy])

    async def run(self, given, **options):
        return await self.agents.Runner.run(self.agent, given, **options)

    async def decide(self, result, *approved):
        """Put the state of a stopped run away as JSON, and decide on each call that is still open."""
        state = await self.agents.RunState.from_json(self.agent, json.loads(json.dumps(result.to_state().to_json())))
        for item, leave in zip(state.get_interruptions(), approved, strict=False):
            (state.approve if leave else state.reject)(item)
        return state


@pytest.fixture
def ops(agents, async_client):
    return Ops(agents, async_client)


def deploy(ref, call_id):
    return function_call("deploy", {"ref": ref}, call_id=call_id)


def outputs(mock):
    """Return the outputs of the last request, by `call_id`."""
    sent = mock.exchanges[-1].request.body["input"]
    return {item["call_id"]: item["output"] for item in sent if item.get("type") == "function_call_output"}


async def test_the_run_stops_before_the_tool_and_asks_nothing_more(mock, ops):
    mock.script(deploy("v2", "call_1"))
    result = await ops.run("Ship v2.")
    assert [(item.name, item.arguments) for item in result.interruptions] == [("deploy", '{"ref":"v2"}')]
    assert (result.final_output, ops.deployed, len(mock.exchanges)) == (None, [], 1)


async def test_approved_it_goes_on_and_deploys_once(mock, ops):
    mock.script(deploy("v2", "call_1"), message("Done."))
    result = await ops.run(await ops.decide(await ops.run("Ship v2."), True))
    assert (result.final_output, ops.deployed) == ("Done.", ["v2"])
    assert outputs(mock) == {"call_1": LIVE}
    assert [exchange.status for exchange in mock.exchanges] == [200, 200]


async def test_a_decision_that_is_missing_stops_the_run_again(mock, ops):
    mock.script([deploy("v2", "call_1"), deploy("v3", "call_2")], message("Both."))
    result = await ops.run(await ops.decide(await ops.run("Ship both."), True))
    assert [item.call_id for item in result.interruptions] == ["call_2"]
    assert len(mock.exchanges) == 1
    assert (await ops.run(await ops.decide(result, True))).final_output == "Both."
    assert (sorted(ops.deployed), outputs(mock)) == (["v2", "v3"], {"call_1": LIVE, "call_2": "v3 is live"})


async def test_a_chain_goes_on_where_it_stopped(mock, ops):
    mock.script(deploy("v2", "call_1"), message("Done."))
    state = await ops.decide(await ops.run("Ship v2.", auto_previous_response_id=True), True)
    assert (await ops.run(state)).final_output == "Done."
    second = mock.exchanges[1].request.body
    assert second["previous_response_id"] == mock.exchanges[0].answer.body["id"]
    assert [item["type"] for item in second["input"]] == ["function_call_output"]


async def test_a_new_question_over_an_open_call_is_refused(mock, ops, async_client):
    mock.script(deploy("v2", "call_1"))
    result = await ops.run("Ship v2.")
    with pytest.raises(openai.BadRequestError, match=r"No tool output found for function call call_1\."):
        await ops.run("Well?", previous_response_id=result.last_response_id)
    assert (ops.deployed, [exchange.status for exchange in mock.exchanges]) == ([], [200, 400])


async def test_a_client_that_loses_an_approved_output_is_refused(mock, agents):
    mock.script([deploy("v2", "call_1"), deploy("v3", "call_2")])
    client = BrokenAsyncOpenAI(broken.drops_a_tool_output, base_url=mock.base_url, api_key=mock.api_key, max_retries=0)
    async with client:
        ops = Ops(agents, client)
        state = await ops.decide(await ops.run("Ship both."), True, True)
        with pytest.raises(openai.BadRequestError, match=r"No tool output found for function call call_2\."):
            await ops.run(state)
    assert [exchange.status for exchange in mock.exchanges] == [200, 400]
