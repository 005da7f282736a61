"""A worker that never comes back to its event loop is ended, and so is all that waits for it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.processes import children, wait_until
from tests.support.servers.json_client import ask, create
from tests.support.servers.live_server import request_head
from tests.support.servers.served import Served, serving

pytestmark = pytest.mark.slow

SPINNING = """
import harness.server.transport.connection as made
receive = made.HttpConnection.data_received
def spin(connection, data):
    while b"X-Spin" in data:
        pass
    receive(connection, data)
made.HttpConnection.data_received = spin
"""
QUICK = f"{SPINNING}\nfrom harness.cluster.workers import watchdog\nwatchdog.HANG_SECONDS = 1.5"


def make_spin(served: Served, pid: int) -> None:
    """Make the process of the key `sk-team` spin, and wait until it does."""
    before = ticks(pid)
    served.say(request_head(b"{}", "sk-team").replace(b"Host", b"X-Spin: y\r\nHost") + b"{}").detach()
    assert wait_until(lambda: ticks(pid) > before + 20, 20)


def ticks(pid: int) -> int:
    """How long a process has computed, in hundredths of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def has_ended(pid: int) -> bool:
    """Return whether a process runs no more."""
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_is_ended_and_started_again_while_the_others_answer() -> None:
    with serving("--workers", "2", patch=QUICK) as served:
        assert [create(served.port, key=key).status for key in ("sk-team", "sk-other")] == [200, 200]
        [first, _] = children(served.child.pid)
        make_spin(served, first)
        assert create(served.port, key="sk-other").status == 200
        assert not has_ended(first)
        assert wait_until(lambda: has_ended(first), 30)
        assert create(served.port).status == 200
        assert "a worker ended" in ask(served.port, "GET", "/_harness/report").json["verdict"]
        _, code, errors = served.end(signal.SIGTERM)
        assert code == 0
        assert "worker 1 has ended since it hung and is started again; what 1 of its keys had stored is lost." in errors


def test_that_computes_now_and_then_is_not_ended() -> None:
    """Each request takes longer than a turn may, but for all that is done in one."""
    busy = SPINNING.replace(
        "while b", "import time\n    end = time.process_time() + 0.4\n    while time.process_time() < end and b"
    )
    with serving(
        "--workers", "2", patch=f"{busy}\nfrom harness.cluster.workers import watchdog\nwatchdog.HANG_SECONDS = 1.5"
    ) as served:
        create(served.port, key="sk-team")
        pids = children(served.child.pid)
        for _ in range(6):
            make_spin(served, pids[0])
            assert create(served.port, key="sk-team").status == 200
        assert children(served.child.pid) == pids


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["alone", "with workers"])
def test_is_ended_by_one_signal(options: tuple[str, ...]) -> None:
    with serving(*options, patch=SPINNING) as served:
        create(served.port)
        make_spin(served, children(served.child.pid)[0] if options else served.child.pid)
        seconds, code, errors = served.end(signal.SIGTERM)
        assert seconds < 30
        assert code == (0 if options else 1)
        assert ("worker 1 was ended since it hung." if options else "the server hung.") in errors


def test_ends_with_its_first_process() -> None:
    with serving("--workers", "2", patch=QUICK) as served:
        create(served.port)
        pids = children(served.child.pid)
        make_spin(served, pids[0])
        served.child.kill()
        served.child.wait(10)
        assert wait_until(lambda: all(map(has_ended, pids)), 30)
