"""What a script says to a request, without a mock around it."""

from typing import Any

from harness.core.exchange import Request
from harness.items.kind import Item
from harness.world.api_call import ApiCall
from harness.world.script import Script
from harness.world.world import World


def ask(input: Any = "hi", **members: Any) -> ApiCall:
    """Return a request for a response, in a World of its own."""
    return ApiCall(Request("POST", "/responses", body={"model": "gpt-4.1", "input": input, **members}), World())


def texts(items: list[Item]) -> list[str]:
    """Return the texts of messages."""
    return [item.members["content"][0]["text"] for item in items]


def answer(script: Script, input: Any = "hi", **members: Any) -> str:
    """Return the text of the turn that a request takes."""
    (text,) = texts(script.next(ask(input, **members)).lines)
    return text
