"""The metrics of the workers of a server are one page: what they have counted, and what those that run have open."""

from __future__ import annotations

import re
import sys

import pytest

from tests.support.processes import run

PROGRAM = """
import asyncio, json, os, sys
from pathlib import Path
os.environ["PROMETHEUS_MULTIPROC_DIR"] = sys.argv[1]
from harness.cluster.worker_metrics import WorkerMetrics
from harness.core.exchange import ReceivedRequest
from harness.core.limits import Limits
from harness.items import message
from harness.server.mock_api import MockApi
from harness.server.observe.metrics import Metrics
from harness.server.observe.observed import observe

def serve(requests, keys):
    api = MockApi(fallback=lambda _: [message("Hello.")], limits=Limits(worlds=2))
    metrics = Metrics(api)
    observe(api, [metrics.note])
    body = json.dumps({"model": "gpt-4.1", "input": "hi"}).encode()
    for number in range(requests):
        headers = {"authorization": f"Bearer sk-{number % keys}"}
        api.handle(ReceivedRequest("POST", "/v1/responses", headers, raw=body))
    asyncio.run(metrics.update())
    return metrics

wait, tell = os.pipe(), os.pipe()
ending = os.fork()
if not ending:
    serve(5, 3)
    os._exit(0)
os.waitpid(ending, 0)
running = os.fork()
if not running:
    serve(4, 2)
    os.write(tell[1], b".")
    os.read(wait[0], 1)
    os._exit(0)
os.read(tell[0], 1)
metrics = serve(2, 1)
print(asyncio.run(WorkerMetrics(Path(sys.argv[1]), metrics.update).answer()).body.decode())
os.write(wait[1], b".")
os.waitpid(running, 0)
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What one process says of itself, of another that runs and of one that has ended."""
    folder = tmp_path_factory.mktemp("metrics")
    return run([sys.executable, "-c", PROGRAM, str(folder)], check=True).stdout


def value(page: str, name: str, labels: str = "") -> float:
    [found] = re.findall(rf"^{name}{re.escape(labels)} (\S+)$", page, re.M)
    return float(found)


POSTS = '{dialect="openai",operation="POST /responses",status="200"}'


@pytest.mark.parametrize(
    ("name", "labels", "sum_of_all"),
    [
        ("harness_requests_total", POSTS, 5 + 4 + 2),
        ("harness_request_duration_seconds_count", '{operation="POST /responses"}', 5 + 4 + 2),
        ("harness_request_duration_seconds_bucket", '{le="+Inf",operation="POST /responses"}', 5 + 4 + 2),
        ("harness_worlds_dropped_total", "", 3),
    ],
)
def test_what_a_process_has_counted_stays_when_it_has_ended(page: str, name: str, labels: str, sum_of_all: int) -> None:
    assert value(page, name, labels) == sum_of_all


@pytest.mark.parametrize(
    ("name", "sum_of_running"),
    [("harness_worlds", 2 + 1), ("harness_exchanges_kept", 4 + 2), ("harness_streams_open", 0)],
)
def test_what_is_open_is_that_of_processes_that_run(page: str, name: str, sum_of_running: int) -> None:
    assert value(page, name) == sum_of_running


def test_there_is_one_build_and_the_longest_uptime(page: str) -> None:
    assert len(re.findall(r"^harness_build_info\{.*\} 1\.0$", page, re.M)) == 1
    assert 0 < value(page, "harness_uptime_seconds") < 60


def test_every_metric_keeps_its_type_and_its_words(page: str) -> None:
    assert "# HELP harness_requests_total Requests answered.\n# TYPE harness_requests_total counter\n" in page
    assert "# HELP harness_worlds Worlds that are open.\n# TYPE harness_worlds gauge\n" in page
    assert "# TYPE harness_request_duration_seconds histogram\n" in page
    assert not re.search(r"\bpid=", page)
