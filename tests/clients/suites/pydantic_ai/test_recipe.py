"""The recipe for Pydantic AI, as docs/cookbook/pydantic-ai.md shows it."""

from pydantic import BaseModel
from pydantic_ai import Agent

from harness.items import function_call


class Forecast(BaseModel):
    city: str
    degrees: int


agent = Agent("openai-responses:gpt-5.6-sol", output_type=Forecast, defer_model_check=True)


@agent.tool_plain
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"18 degrees in {city}"


async def test_the_forecast_is_what_the_model_says(mock):
    mock.script(
        function_call("get_weather", {"city": "Paris"}),
        function_call("final_result", {"city": "Paris", "degrees": 18}),
    )
    result = await agent.run("Weather in Paris?")
    assert result.output == Forecast(city="Paris", degrees=18)
    assert [call.name for call in mock.calls] == ["get_weather", "final_result"]


async def test_arguments_that_do_not_fit_are_asked_for_again(mock):
    mock.script(
        function_call("get_weather", {"town": "Paris"}, off_schema=True),
        function_call("final_result", {"city": "Paris", "degrees": 18}),
    )
    result = await agent.run("Weather in Paris?")
    assert result.output.degrees == 18
