"""The unmodified `openai-agents` in a test of its own: refusals, event loops; `tests/scenarios` has its streams."""

import pytest

from harness.items import message, refusal
from tests.support.clients.programs import MODEL

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_tests_with_event_loops_of_their_own_share_the_http_client_of_all_providers(mock, agents, number):
    mock.script(message("Hello."))
    result = await agents.Runner.run(agents.Agent("Clerk", model=MODEL), "hi")
    assert result.final_output == "Hello."
    assert mock.exchanges[0].request.headers["user-agent"].startswith("Agents/Python")


async def test_a_refusal_is_an_error_of_the_run(mock, agents, async_client):
    model = agents.OpenAIResponsesModel(MODEL, async_client)
    mock.script(message(refusal("I cannot help.")))
    with pytest.raises(agents.ModelRefusalError, match=r"I cannot help\."):
        await agents.Runner.run(agents.Agent("Clerk", model=model), "Rob a bank.")
    assert [exchange.status for exchange in mock.exchanges] == [200]
