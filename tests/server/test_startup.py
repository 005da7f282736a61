"""What a process has imported and compiled when it begins to serve; `python -m bench.startup` measures the time."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.cli import COMMANDS

ROOT = Path(__file__).parents[2]
NEEDED_LATER = (
    *("fastapi", "jsonschema", "starlette"),  # the control plane, the first refusal
    *("websockets", "PIL", "multipart"),
    *("httpx", "httpx2", "vcr", "rich", "openai", "prometheus_client", "opentelemetry"),
    *("harness.cassettes", "harness.live", "harness.verify.judge_files", "harness.explain.find_causes"),
)
WHEN_LISTENING = """
import json, sys
from harness.cli import main
from harness.server.transport.stoppable_server import StoppableServer

def tell(server, sockets):
    from harness.contract import schema
    counts = {"compiled": schema.validator.cache_info().currsize, "loaded": schema.load.cache_info().currsize}
    print(json.dumps({"modules": sorted(sys.modules), **counts}))

StoppableServer.run = tell
sys.argv = ["harness", "serve", "--port", "0"]
main()
"""
AFTER_A_RESPONSE = """
import json, sys
from harness.contract import schema
from harness.core.exchange import ReceivedRequest
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk

api = MockApi(fallback=small_talk)
body = b'{"model": "gpt-4.1", "input": "hi"}'
headers = {"authorization": "Bearer sk-1", "content-type": "application/json"}
answer = api.handle(ReceivedRequest("POST", "/v1/responses", headers, raw=body))
print(json.dumps({
    "status": answer.status,
    "compiled": schema.validator.cache_info().currsize,
    "modules": sorted(sys.modules),
}))
"""


def run_program(program: str) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def imported(told: Any) -> set[str]:
    return {name for name in NEEDED_LATER if name in told["modules"]}


@pytest.mark.slow
def test_a_server_listens_before_it_has_imported_or_compiled_what_it_needs_later() -> None:
    told = run_program(WHEN_LISTENING)
    assert not imported(told)
    assert not {f"harness.cli.{name}" for name in COMMANDS if name != "serve"}.intersection(told["modules"])
    assert told["compiled"] == told["loaded"] == 0


@pytest.mark.slow
def test_an_accepted_request_compiles_only_its_own_schema() -> None:
    told = run_program(AFTER_A_RESPONSE)
    assert told["status"] == 200
    assert not imported(told)
    assert told["compiled"] <= 2  # that of the request, and of the items of an answer
