"""`python -m bench.suite [-n TESTS] [-r ROUNDS]`: what a test suite costs with the mock; takes a minute.

Each test makes a client of the openai SDK and two calls over HTTP, the second with the output of a function call: to the
mock, or to a blind server on loopback, an ASGI app in uvicorn that answers constants. Prints the minimum of all rounds,
run in turns: the CPU seconds of a pytest run, and the CPU milliseconds per test (the median after the first ten),
including the server's.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.servers import ROOT

COMMON = """
import openai
import pytest

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
TOOL = {"type": "function", "name": "get_weather", "parameters": CITY, "strict": True}

def ask(client):
    first = client.responses.create(model="gpt-4.1", input="Weather?", tools=[TOOL])
    output = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": "18 degrees"}
    more = {"model": "gpt-4.1", "previous_response_id": first.id, "input": [output], "tools": [TOOL]}
    assert client.responses.create(**more).output_text == "It is mild."
"""
SCRIPT = """
from harness.items import function_call, message

def script(mock):
    mock.script(function_call("get_weather", {"city": "Paris"}, call_id="call_1"), message("It is mild."))
"""
OVER_HTTP = f"""{COMMON}{SCRIPT}
@pytest.mark.parametrize("number", range(TESTS))
def test_it(mock, number):
    script(mock)
    with openai.OpenAI(max_retries=0) as client:
        ask(client)
"""
BLIND = f"""{COMMON}
import json
import socket
import threading
import uvicorn

CALL = {{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_weather", "arguments": "{{}}"}}
PART = {{"type": "output_text", "text": "It is mild.", "annotations": [], "logprobs": []}}
MESSAGE = {{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [PART]}}

def answer(item):
    rest = {{"parallel_tool_calls": True, "tool_choice": "auto", "tools": [TOOL], "status": "completed", "created_at": 1}}
    return json.dumps({{"id": "resp_1", "object": "response", "model": "gpt-4.1", "output": [item], **rest}}).encode()

FIRST, SECOND = answer(CALL), answer(MESSAGE)

async def app(scope, receive, send):
    body = (await receive())["body"]
    answered = SECOND if b"function_call_output" in body else FIRST
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answered)).encode())]
    await send({{"type": "http.response.start", "status": 200, "headers": [*headers, (b"connection", b"close")]}})
    await send({{"type": "http.response.body", "body": answered}})

@pytest.fixture(scope="session")
def port():
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http="httptools", lifespan="off", log_level="warning", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={{"sockets": [listening]}}, daemon=True)
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join()

@pytest.mark.parametrize("number", range(TESTS))
def test_it(port, number):
    with openai.OpenAI(api_key="sk-1", base_url=f"http://127.0.0.1:{{port}}/v1", max_retries=0) as client:
        ask(client)
"""
CLOCK = """
import json
import os
import time
from statistics import median

import pytest

FIRST = 10
taken = []

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    begun = time.process_time()
    result = yield
    taken.append(time.process_time() - begun)
    return result

def pytest_unconfigure(config):
    with open(os.environ["BENCH_SUITE"], "w") as file:
        json.dump(median(taken[FIRST:]) * 1e3, file)
"""
WITHOUT_A_LOOK = "a blind server"
SUITES: Mapping[str, str] = {"the mock": OVER_HTTP, WITHOUT_A_LOOK: BLIND}


def run(folder: Path, source: str, tests: int) -> tuple[float, float]:
    """Run a suite; return its CPU seconds, and the CPU milliseconds per test."""
    (folder / "conftest.py").write_text(CLOCK)
    (folder / "test_suite.py").write_text(source.replace("TESTS", str(tests)))
    file = folder / "milliseconds.json"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "BENCH_SUITE": str(file),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    options = ["-q", "-p", "responses_harness_pytest", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, str(folder / "test_suite.py")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"the generated tests fail:\n{ended.stdout[-2000:]}{ended.stderr[-1000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(file.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.suite", description=__doc__)
    parser.add_argument("-n", type=int, default=300, help="tests of a suite (300)")
    parser.add_argument("-r", type=int, default=5, help="rounds (5)")
    options = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in SUITES}
    with TemporaryDirectory() as folder:
        for _ in range(options.r):
            for name, source in SUITES.items():
                found[name].append(run(Path(folder), source, options.n))
    least = {name: (min(run[0] for run in runs), min(run[1] for run in runs)) for name, runs in found.items()}
    all_of_blind, each_of_blind = least[WITHOUT_A_LOOK]
    print(f"| {options.n} tests of two calls | all | × | a test | × |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, (seconds, cost) in least.items():
        ratios = seconds / all_of_blind, cost / each_of_blind
        print(f"| {name} | {seconds:.1f} s | {ratios[0]:.2f} | {cost:.1f} ms | {ratios[1]:.2f} |")


if __name__ == "__main__":
    main()
