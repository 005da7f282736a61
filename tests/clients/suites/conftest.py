"""What the tests of the suites share, in whatever environment they run: a fixture for programs in Node, and a record.

With `--environment NAME` only the tests run that have a cell in it; `--outcomes FILE` gets a line of JSON for each.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import harness

OURS = Path(harness.__file__).parent
SECTION = "responses-harness"
NODE_MODULES = Path(sys.prefix) / "node_modules"
NODE = str(own) if (own := Path(sys.executable).with_name("node")).exists() else "node"
SECONDS = 60


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--environment", help="run only the tests that are to run in this environment")
    parser.addoption("--outcomes", type=Path, help="write how each test ended to this file")
    parser.addoption("--node-modules", type=Path, default=NODE_MODULES, help="the npm packages of the environment")


@pytest.fixture
def node(mock: Any, request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Any]:
    """Run a program of the suite's folder in Node, led to the mock: `node("chat.mjs", question="hi")`.

    Its input is JSON in `process.argv[2]`, its result the JSON on the last line it prints. All `*.mjs` lie side by side.
    """
    (tmp_path / "node_modules").symlink_to(request.config.getoption("--node-modules"))
    for file in request.path.parent.glob("*.mjs"):
        shutil.copy(file, tmp_path)

    def run(program: str, **input: Any) -> Any:
        command = [NODE, str(tmp_path / program), json.dumps(input)]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
        assert ended.returncode == 0, f"{program} ended with {ended.returncode}:\n{ended.stderr or ended.stdout}"
        lines = ended.stdout.splitlines()
        assert lines, f"{program} printed no result:\n{ended.stderr}"
        return json.loads(lines[-1])

    return run


@pytest.fixture
def play(node: Callable[..., Any]) -> Callable[..., Any]:
    """Play a flow of the suite's `flows.mjs`, at once: `play("text", …)` is its result."""
    return lambda flow, **given: node("flows.mjs", flow=flow, **given)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The file in which an agent notes what it has deployed."""
    return tmp_path / "deployed.txt"


@pytest.fixture
def shipped(mock: Any) -> list[str]:
    """What a server `prod` of tools, which the API calls, has deployed."""
    done: list[str] = []

    def deploy(ref: str) -> str:
        done.append(ref)
        return f"{ref} is live"

    mock.mcp("prod", {"deploy": deploy})
    return done


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is not to run in the environment."""
    if environment := config.getoption("--environment"):
        out = [item for item in items if _cells(item).get(_cell(item), {}).get(environment) == "not run"]
        config.hook.pytest_deselected(items=out)
        items[:] = [item for item in items if item not in out]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write down a phase of a test that says something: its body, or what else went wrong.

    What the harness says of a failure is an assertion of its own, and its section of the report.
    """
    own = [str(call.excinfo.value)] if call.excinfo and _is_own(call.excinfo) else []  # the plugin cuts the frames off
    report = yield
    file = item.config.getoption("--outcomes")
    if file and (report.when == "call" or not report.passed):
        told = {
            "test": item.name,
            "cell": _cell(item),
            "outcome": report.outcome,
            "seconds": round(report.duration, 2),
            "says": [*own, *(text for title, text in report.sections if title == SECTION)],
            "text": report.longreprtext,
            "losses": _losses(item),
            "refusals": _expected_refusals(item),
        }
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(told) + "\n")
    return report


def _is_own(caught: pytest.ExceptionInfo[BaseException]) -> bool:
    """Return whether it is the harness that judged: an assertion in its code, or `pytest.fail` of its plugin."""
    if not isinstance(caught.value, AssertionError | pytest.fail.Exception):
        return False
    frames = [entry.path for entry in caught.traceback if "_pytest" not in str(entry.path)]
    return bool(frames) and OURS in Path(str(frames[-1])).parents


def _losses(item: pytest.Item) -> list[str]:
    """Return the losses of a test, without those that its marker names."""
    world = getattr(item, "funcargs", {}).get("mock")
    marker = item.get_closest_marker("harness")
    named = marker.kwargs.get("losses", ()) if marker else ()
    return [f"{lost.loss}: {lost.message}" for lost in getattr(world, "losses", ()) if lost.loss not in named]


def _expected_refusals(item: pytest.Item) -> int:
    """How many refusals of a test were expected."""
    if (mock := getattr(item, "funcargs", {}).get("mock")) is None:
        return 0
    unexpected = {exchange.number for exchange in mock.world.refusals.unexpected}
    refused = (exchange for exchange in mock.exchanges if exchange.answer.rule and exchange.status >= 400)
    return sum(exchange.number not in unexpected for exchange in refused)


def _cell(item: pytest.Item) -> str:
    """Return the cell of a test: that of its parameters, else of its function."""
    return item.name if item.name in _cells(item) else getattr(item, "originalname", None) or item.name


def _cells(item: pytest.Item) -> dict[str, dict[str, str]]:
    return _table(item.path.parent / "suite.toml")


@cache
def _table(file: Path) -> dict[str, dict[str, str]]:
    cells: dict[str, dict[str, str]] = tomllib.loads(file.read_text(encoding="utf-8")).get("cells", {})
    return cells
