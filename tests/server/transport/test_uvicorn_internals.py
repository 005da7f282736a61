"""What harness/server overrides or reads of `uvicorn.Server`: a version that moves one is named."""

import inspect
import time
from importlib.metadata import version

import pytest
import uvicorn

from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi

MOVED = f"uvicorn {version('uvicorn')} has no {{}} as harness/server uses it; adapt that"


@pytest.mark.parametrize(
    ("owner", "name", "parameters"),
    [
        (uvicorn.Server, "capture_signals", ["self"]),
        (uvicorn.Server, "main_loop", ["self"]),
        (uvicorn.Server, "on_tick", ["self", "counter"]),
        (uvicorn.Server, "shutdown", ["self", "sockets"]),
    ],
)
def test_what_is_overridden_is_there(owner: type, name: str, parameters: list[str]) -> None:
    method = getattr(owner, name, None)
    found = list(inspect.signature(method).parameters) if method else None
    assert found == parameters, MOVED.format(f"{owner.__name__}.{name}({', '.join(parameters)})")


def test_what_is_read_is_there() -> None:
    source = inspect.getsource(uvicorn.Server)
    missing = [
        name for name in ("should_exit", "force_exit", "server_state", "servers") if f"self.{name}" not in source
    ]
    assert not missing, MOVED.format(f"Server.{missing}")


def test_a_server_stops_without_waiting_for_its_tick() -> None:
    def seconds_to_stop() -> float:
        with serve_in_thread(MockApi()):
            begun = time.perf_counter()
        return time.perf_counter() - begun

    # uvicorn's own tick is 0.1 s, and its shutdown another; one of many is quick even on a busy machine
    assert any(seconds_to_stop() < 0.08 for _ in range(40))
