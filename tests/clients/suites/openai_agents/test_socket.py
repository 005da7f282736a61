"""openai-agents over a WebSocket: turns with tools on one connection, replayed and chained, stored and not."""

from __future__ import annotations

import pytest
from agents import Agent, ModelSettings, function_tool, responses_websocket_session

from harness import surfaced
from harness.items import function_call, message

SETTINGS = [ModelSettings(), ModelSettings(store=False)]


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: mild"


@pytest.mark.parametrize("settings", SETTINGS, ids=["stored", "unstored"])
@pytest.mark.parametrize("memory", [{}, {"auto_previous_response_id": True}], ids=["replay", "chain"])
async def test_socket(mock, settings, memory):
    calls = [function_call("get_weather", {"city": city}) for city in ("Paris", "Oslo")]
    mock.script(calls, message("Both are mild."), message("It will rain."))
    clerk = Agent("Clerk", model="gpt-4.1", tools=[get_weather], model_settings=settings)
    async with responses_websocket_session(api_key=mock.api_key, base_url=mock.base_url) as session:
        first = await session.run(clerk, "Paris and Oslo?", **memory)
        if memory:
            second = await session.run(clerk, "Tomorrow?", previous_response_id=first.last_response_id, **memory)
        else:
            second = await session.run(clerk, [*first.to_input_list(), {"role": "user", "content": "Tomorrow?"}])
    surfaced(second, mock.said)
    assert (first.final_output, second.final_output) == ("Both are mild.", "It will rain.")
    assert {exchange.request.method for exchange in mock.exchanges} == {"WS"}
