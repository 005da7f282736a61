"""What agents are given: tools."""

from agents import function_tool


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: mild"


@function_tool
def deploy(ref: str) -> str:
    """Put a version into production."""
    return f"{ref} is live"


@function_tool
def look_up(ref: str) -> str:
    """Return what a version contains."""
    return f"{ref}: two fixes"
