"""Long conversations that the framework shortens: by a window, without old calls, in a summary."""

import pytest
from agent_framework import (
    Agent,
    SelectiveToolCallCompactionStrategy,
    SlidingWindowStrategy,
    SummarizationStrategy,
    ToolResultCompactionStrategy,
    TruncationStrategy,
)
from given import get_weather
from story import SEALED

from harness.items import function_call, message, reasoning

CITIES = ("Paris", "Oslo", "Rome", "Lima", "Bern")
STRATEGIES = {
    "window": lambda client: SlidingWindowStrategy(keep_last_groups=3),
    "truncation": lambda client: TruncationStrategy(max_n=6, compact_to=3),
    "without-old-calls": lambda client: SelectiveToolCallCompactionStrategy(keep_last_tool_call_groups=1),
    "calls-as-text": lambda client: ToolResultCompactionStrategy(keep_last_tool_call_groups=1),
    "summary": lambda client: SummarizationStrategy(client=client, target_count=3, threshold=2),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_compaction(mock, openai, run, strategy):
    mock.when(tools="get_weather").script(*[turn for city in CITIES for turn in turns(city)])
    if strategy == "summary":
        mock.script(summary)
    how = STRATEGIES[strategy](openai)
    agent = Agent(openai, tools=[get_weather], default_options=SEALED, compaction_strategy=how)
    session = agent.create_session()
    for city in CITIES:
        result = await run(agent, f"How is {city}?", session=session)
        assert result.messages[-1].text == f"In {city} it is mild."
    assert len(mock.exchanges[-1].request.body["input"]) < 20, "nothing was left out"


def summary(request):
    while True:
        yield message("They spoke of the weather.")


def turns(city):
    look = function_call("get_weather", {"city": city})
    return [reasoning("**Looking up**"), message("I look it up."), look], message(f"In {city} it is mild.")
