"""What agents are given: a tool that needs no leave, and ways in which the next turn knows of the last."""

import pytest
from agent_framework import tool

KEPT, STATELESS = {}, {"store": False}
MEMORIES = pytest.mark.parametrize("options", [KEPT, STATELESS], ids=["kept", "stateless"])


@tool(approval_mode="never_require")
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: mild"
