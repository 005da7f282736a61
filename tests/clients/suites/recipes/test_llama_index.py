"""The recipe for LlamaIndex, as docs/cookbook/llama-index.md shows it."""

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAIResponses

from harness.items import function_call, message


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"18 degrees in {city}"


async def test_a_tool_is_called(mock):
    mock.script(function_call("get_weather", {"city": "Paris"}), message("Mild."))
    llm = OpenAIResponses(model="gpt-5.6-sol", api_base=mock.base_url, api_key=mock.api_key)
    answer = await FunctionAgent(tools=[get_weather], llm=llm).run("Weather in Paris?")
    assert str(answer) == "Mild."
    assert mock.calls.named("get_weather").times(1)
