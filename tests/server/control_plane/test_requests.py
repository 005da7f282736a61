"""Answers of the control plane are computed beside the event loop, which serves the clients under test meanwhile."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from inspect import iscoroutinefunction
from typing import Any

import pytest
from pydantic import TypeAdapter

from harness.report import judge_world
from harness.server.control_plane import reads, view
from harness.server.control_plane.app import CONTROLS
from harness.server.control_plane.requests import Worker, _render
from harness.server.http_server import Server
from tests.support.servers.json_client import create, send

ON_THE_LOOP = ["/health", "/metrics", "/worlds", "/events", "/view/run", "/view/case", "/waiting"]
"""What is short, or walks over all Worlds in slices, or hands its work to the worker itself."""


class Held:
    """A function that waits until it is let go, and then calls another one."""

    def __init__(self, function: Any) -> None:
        self.function, self.begun, self.free = function, threading.Event(), threading.Event()

    def __call__(self, *args: Any, **given: Any) -> Any:
        self.begun.set()
        assert self.free.wait(20)
        return self.function(*args, **given)


@pytest.mark.parametrize(
    ("path", "module", "name", "count"),
    [
        ("/losses", reads, "losses_of", None),
        ("/report", judge_world, "find_causes", None),
        ("/view/run", view, "build_row", lambda run: run["cases"][0]["exchanges"]),
        ("/view/case?id=talk", view, "build_case", lambda case: case["row"]["exchanges"]),
    ],
)
def test_clients_are_served_while_an_answer_is_computed_of_what_was_there_before(
    server: Server, monkeypatch: pytest.MonkeyPatch, path: str, module: Any, name: str, count: Any
) -> None:
    send(server.port, "POST", "/_harness/world", {"name": "talk"}, key="sk-team")
    create(server.port)
    monkeypatch.setattr(module, name, held := Held(getattr(module, name)))
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(send, server.port, "GET", f"/_harness{path}", key="sk-team")
        assert held.begun.wait(20)
        answered = create(server.port)
        held.free.set()
        status, shown = asked.result(20)
    assert (answered.status, status) == (200, 200), shown
    if count:
        assert count(shown) == 1


def test_what_reads_a_world_runs_in_the_worker() -> None:
    assert [
        path for method, path, handler in CONTROLS if method == "GET" and iscoroutinefunction(handler)
    ] == ON_THE_LOOP


def test_one_function_runs_at_a_time() -> None:
    running = list[int]()

    def count() -> int:
        running.append(1)
        most = len(running)
        threading.Event().wait(0.01)
        running.pop()
        return most

    async def run_all() -> list[int]:
        worker = Worker()
        return list(await asyncio.gather(*(worker.run(count) for _ in range(5))))

    assert asyncio.run(run_all()) == [1] * 5


@pytest.mark.parametrize(
    "made",
    [
        [],
        [{"a": 1e-7, "é": "\u2028"}, {"b": [None, True, 2**70]}],
        ["a", "\x00", 1.5, 0.1],
        {"a": {"b": float("inf")}},
    ],
)
def test_an_answer_has_the_bytes_that_fastapi_would_send(made: Any) -> None:
    answer = _render(made)
    assert answer.body == TypeAdapter(Any).dump_json(made)
    assert answer.headers["content-type"] == "application/json"
