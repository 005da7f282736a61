"""What the red tests share: the marker that says what their reports must say, a tool, and an agent."""

from collections.abc import Callable
from typing import Any

import openai
import pytest

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cause(title, fix=, place=): parts of the first cause of a red test's report")


@pytest.fixture
def ask() -> Callable[..., Any]:
    """Ask the model as an application does, with a client that is made while the test runs."""

    def ask(input: Any = "Weather in Paris?", **members: Any) -> Any:
        return openai.OpenAI(max_retries=0).responses.create(**{"model": "gpt-4.1", "input": input, **members})

    return ask


@pytest.fixture
def swallow(ask: Callable[..., Any]) -> Callable[..., Any]:
    """Ask as an application that goes on when a request fails."""

    def swallow(*args: Any, **members: Any) -> Any:
        try:
            return ask(*args, **members)
        except openai.OpenAIError:
            return None

    return swallow


@pytest.fixture
def weather() -> dict[str, Any]:
    return WEATHER
