"""What all tests share; the suites below `clients/` run in environments of their own: `python -m tests.clients`."""

import functools
import gc
import importlib
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest
import typer.testing

pytest_plugins = ["pytester"]
pytest.register_assert_rewrite("tests.support", "tests.contract.evidence", "tests.end_to_end", "tests.verify")
collect_ignore = ["clients"]

# Workers and about a hundred children import the same modules: each compiles them once, not every time.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Coverage is measured in the processes that run tests; to measure what they start would take as long again.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.pop("COVERAGE_PROCESS_START", None)

# Every client loads the authorities that it trusts, 35 ms for those of a system; no test speaks to the world outside.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "support" / "authority.pem")

# A runner of commands builds all of them anew for each command line, which takes longer than most commands.
typer.testing._get_command = functools.cache(typer.testing._get_command)

# A job in the background ignores SIGINT, which some tests send to their own process.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

hypothesis.settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
hypothesis.settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def agents() -> ModuleType:
    """Return the package `openai-agents`, which traces nothing; imported by test modules, all workers would load it."""
    for name in ("handoff_filters", "handoff_prompt"):
        importlib.import_module(f"agents.extensions.{name}")
    package = importlib.import_module("agents")
    package.set_tracing_disabled(True)
    return package


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Yield one worker more than there are processors: tests of servers wait a lot."""
    return (yield) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, which finds nothing there and would visit it all again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)  # what tests leave is little, and soon visited more often than it is worth
