"""Measures how long the contract takes to check a request, by the number of its input items."""

import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from bench.wire import HEADERS
from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.core.exchange import Request
from harness.world.world import World

SIZES = (10, 100, 1000)
STEEPEST = 1.2
"""The maximum exponent, from 100 to 1,000 items, that counts as linear: 1.0 is linear, 2.0 is quadratic."""


def conversation(count: int) -> list[dict[str, Any]]:
    """Build `count` valid input items (a multiple of 5): messages in three forms, calls with their outputs."""
    items: list[dict[str, Any]] = []
    for number in range(count // 5):
        call = f"call_{number}"
        items += [
            {"role": "user", "content": "What is the weather in Paris?"},
            {"type": "function_call", "call_id": call, "name": "get_weather", "arguments": '{"city":"Paris"}'},
            {"type": "function_call_output", "call_id": call, "output": "18 degrees"},
            {"role": "assistant", "content": "It is 18 degrees in Paris."},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Thanks."}]},
        ]
    return items


def checker(items: list[dict[str, Any]]) -> Callable[[], object]:
    """Return a function that checks a request with these input items; the only place that knows the contract's API."""
    body = {"model": "gpt-4.1", "input": items}
    raw = json.dumps(body).encode()
    request = Request(
        "POST", "/responses", HEADERS, body=body, raw=raw, operation="POST /responses", schema="CreateResponse"
    )
    world = World(api_key=HEADERS["authorization"].removeprefix("Bearer "))
    return lambda: check(WorldCall(request, world)).violation


def verify(items: list[dict[str, Any]]) -> None:
    """Ensure that a whole check is measured: it accepts the items, and refuses an output without its call."""
    if refusal := checker(items)():
        raise RuntimeError(f"the contract refuses the benchmark's items: {refusal}")
    if not checker(items[2:])():
        raise RuntimeError("the contract takes an output without its call: it checks nothing")


def best(call: Callable[[], object], seconds: float = 0.7) -> float:
    """Return the minimum time of a call in microseconds."""
    least, until = math.inf, time.perf_counter() + seconds
    while (begun := time.perf_counter()) < until:
        call()
        least = min(least, time.perf_counter() - begun)
    return least * 1e6


def check_costs() -> dict[int, float]:
    """Measure `harness.contract.check.check` in microseconds, by number of input items."""
    verify(conversation(SIZES[0]))
    return {size: best(checker(conversation(size))) for size in SIZES}


def growth(costs: Mapping[int, float]) -> float:
    """Return the exponent of the growth from the middle to the largest size."""
    _, middle, most = SIZES
    return math.log(costs[most] / costs[middle]) / math.log(most / middle)
