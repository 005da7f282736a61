"""openai-agents over a WebSocket: turns with tools on one connection, replayed and chained, stored and not."""

import pytest
from agents import Agent, ModelSettings, responses_websocket_session
from given import get_weather
from story import OSLO, PARIS

from harness import surfaced
from harness.items import message

SETTINGS = [ModelSettings(), ModelSettings(store=False)]


@pytest.mark.parametrize("settings", SETTINGS, ids=["stored", "unstored"])
@pytest.mark.parametrize("memory", [{}, {"auto_previous_response_id": True}], ids=["replay", "chain"])
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
