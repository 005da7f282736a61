"""Runs pytest in forks of this process, and prints what comes of it."""

import os
import pickle
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CPU_SECONDS = 120
OPTIONS = ["-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
OUT = os.dup(1)


@dataclass
class Loop:
    """Runs something in place of the tests of a pytest session, once they are collected."""

    function: Callable[[pytest.Session], Any]
    result: Any = "no test was collected"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run it, unless a module could not be collected."""
        self.result = "a module cannot be imported" if session.testsfailed else self.function(session)
        return True


def in_child(function: Callable[[], Any], seconds: float = CPU_SECONDS) -> tuple[bool, Any]:
    """Return whether a process with so much CPU time came to an end by itself, and what the function returned in it."""
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        written = Path(folder, "returned")
        if not (child := os.fork()):
            code = 1
            try:
                resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
                signal.alarm(int(10 * seconds))  # for what waits forever
                os.environ["PYTEST_DEBUG_TEMPROOT"] = folder  # sessions beside each other may fail to share one
                with open(os.devnull, "w") as nowhere:
                    os.dup2(nowhere.fileno(), 1)
                    os.dup2(nowhere.fileno(), 2)
                written.write_bytes(pickle.dumps(function()))
                code = 0
            finally:  # a change of the plugin may raise anything
                os._exit(code)
        _, status = os.waitpid(child, 0)
        return (True, pickle.loads(written.read_bytes())) if status == 0 else (False, None)


def in_session(arguments: Iterable[str], function: Callable[[pytest.Session], Any]) -> Any:
    """Collect tests, and return what a function makes of them."""
    loop = Loop(function)
    pytest.main([*OPTIONS, *arguments], plugins=[loop])
    return loop.result


def first_failing(session: pytest.Session, tests: Iterable[str]) -> str:
    """Return the first of these tests that fails."""
    items = {item.nodeid: item for item in session.items}
    wanted = [items[test] for test in tests if test in items]
    for item, following in zip(wanted, [*wanted[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return item.nodeid
    return ""


def say(line: str) -> None:
    """Print a line at once, wherever pytest sends what is printed."""
    os.write(OUT, f"{line}\n".encode())
