"""What a turn costs does not depend on how much was said before it: counted in calls and in bytes, not in time."""

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from harness.items import function_call, message
from harness.server.mock_api import MockApi
from tests.support import in_process
from tests.support.in_process import user
from tests.support.slow import slow_except
from tests.support.tools import functions

MORE = 1.15
"""How many times the calls and bytes of an early turn a late one may have; ids and tables vary a little."""
INSTRUCTIONS = "word " * 900
"""More than 1,024 tokens, so that the prompt cache takes part from the first turn."""


@pytest.fixture
def post() -> Callable[..., Any]:
    """Sends a request that must be taken; the model calls `f` and, given its output, answers."""

    def answer(call: Any) -> list[Any]:
        sent = call.request.body["input"]
        return [message("Done.")] if sent[-1].get("type") == "function_call_output" else [function_call("f", {})]

    api = MockApi(fallback=answer)

    def send(path: str, body: Any) -> Any:
        answered = in_process.post(api, body, path)
        assert answered.status == 200, answered.body
        return answered.body

    return send


def play(post: Callable[..., Any], turns: int, follow: Callable[[Any], Any]) -> Iterator[None]:
    """Turns of a conversation in which each other one answers a call; one a step."""
    last: Any = None
    for number in range(turns):
        said: Any = user("Go on.")
        if number % 2:
            said = {"type": "function_call_output", "call_id": last["output"][0]["call_id"], "output": "ok"}
        body = {"model": "gpt-4.1", "instructions": INSTRUCTIONS, "tools": functions("f"), "input": [said]}
        last = post("/v1/responses", {**body, **follow(last)})
        yield


def count_calls(steps: Iterator[None], turns: int) -> int:
    """Return the calls of functions of the next turns."""
    count = 0

    def note(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        skip(steps, turns)
    finally:
        sys.setprofile(before)
    return count


def count_bytes(steps: Iterator[None], turns: int) -> int:
    """Return the bytes that the next turns leave behind."""
    tracemalloc.start()
    try:
        skip(steps, turns)
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def skip(steps: Iterator[None], turns: int) -> None:
    for _ in range(turns):
        next(steps)


def assert_flat(steps: Iterator[None], turns: int) -> None:
    skip(steps, 40)
    calls, kept = count_calls(steps, 20), count_bytes(steps, 40)
    skip(steps, turns - 160)
    assert count_calls(steps, 20) <= MORE * calls
    assert count_bytes(steps, 40) <= MORE * kept


@pytest.mark.parametrize("turns", slow_except([0], [400, 1_000]))
def test_a_chain_of_hundreds_of_turns(post: Callable[..., Any], turns: int) -> None:
    assert_flat(play(post, turns, lambda last: {"previous_response_id": last["id"]} if last else {}), turns)


@pytest.mark.parametrize("turns", slow_except([0], [400, 5_000]))
def test_a_conversation_of_thousands_of_items(post: Callable[..., Any], turns: int) -> None:
    named = {"conversation": post("/v1/conversations", {})["id"]}
    assert_flat(play(post, turns, lambda _: named), turns)
