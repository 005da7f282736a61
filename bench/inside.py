"""Measures costs within a test run: a contract check, a fixture, 200 tests."""

import importlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from bench.servers import ROOT, SkipError
from bench.wire import HEADERS
from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.core.exchange import Request
from harness.world.world import World

SIZES = (10, 100, 1000)
STEEPEST = 1.2
"""The maximum exponent, from 100 to 1,000 items, that counts as linear: 1.0 is linear, 2.0 is quadratic."""

TESTS = """
import pytest
{imports}

@pytest.mark.parametrize("number", range({count}))
def test_answer({fixtures}number):
    {body}
"""
USING = {
    "imports": "from harness.items import message",
    "fixtures": "mock, client, ",
    "body": 'mock.script(message("Hi."))\n'
    '    assert client.responses.create(model="gpt-4.1", input="Hello?").output_text == "Hi."',
}
EMPTY = {"imports": "", "fixtures": "", "body": "assert number >= 0"}
SETUPS = """
import json, os

def pytest_runtest_logreport(report):
    if report.when == "setup" and (path := os.environ.get("BENCH_SETUPS")):
        with open(path, "a") as file:
            print(json.dumps(report.duration), file=file)
"""


def need(*modules: str) -> None:
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as why:  # an unfinished package can fail in any way, which must not cost the other rows
            raise SkipError(f"{module} cannot be imported ({type(why).__name__}: {why})") from why


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


def run_tests(folder: Path, texts: Mapping[str, str], count: int, *options: str, **environ: str) -> float:
    """Return the seconds that pytest takes for `count` generated tests. RuntimeError if one fails."""
    (folder / "conftest.py").write_text(SETUPS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_generated.py").write_text(TESTS.format(count=count, **texts))
    plugins = [
        "-p",
        "xdist",
        "-p",
        "no:cacheprovider",
        *(["-p", "harness.pytest_plugin.plugin"] if texts is USING else []),
    ]
    own = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTHONPATH": str(ROOT)}
    env = {**os.environ, **own, **environ}
    begun = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", *plugins, *options, "test_generated.py"]
    run = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    took = time.perf_counter() - begun
    if run.returncode:
        raise RuntimeError(f"the generated tests fail:\n{run.stdout[-2000:]}{run.stderr[-1000:]}")
    return took


def fixture_costs(folder: Path) -> tuple[float, float]:
    """Return the milliseconds to set up `mock` and `client`, for the first test and as the median of the following."""
    need("harness.pytest_plugin.plugin", "harness.items", "openai")
    file = folder / "setups"
    run_tests(folder, USING, 50, BENCH_SETUPS=str(file))
    first, *following = [float(line) * 1e3 for line in file.read_text().split()]
    return first, median(following)


def suite_costs(folder: Path) -> tuple[float, float | None]:
    """Return the seconds of 200 tests under `pytest -n 2`: empty ones, and HTTP tests (None without the plugin)."""
    empty = run_tests(folder, EMPTY, 200, "-n", "2")
    try:
        need("harness.pytest_plugin.plugin", "harness.items", "openai")
    except SkipError:
        return empty, None
    return empty, run_tests(folder, USING, 200, "-n", "2")
