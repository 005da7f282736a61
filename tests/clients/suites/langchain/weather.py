"""What the models of the suite are asked about: a tool, calls of it, a structured answer."""

from __future__ import annotations

from langchain_core.tools import tool
from pydantic import BaseModel

from harness.items import function_call

PARIS = function_call("get_weather", {"city": "Paris"})
OSLO = function_call("get_weather", {"city": "Oslo"})


class Forecast(BaseModel):
    """The weather to come."""

    city: str
    degrees: int


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: mild"
