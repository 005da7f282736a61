"""Counts the Python calls of the mock for one request in a test whose code makes its own `openai.OpenAI()`.

Prints one line per form of the request: calls, functions and modules of the harness, in the test's thread and the
server's, and how deep they nest. With `--modules` also the calls of each module, so that two versions can be compared.
"""

import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

WARM_UP = 6
"""The number of requests before those that are counted, which fill all caches."""
COUNTED = 5
"""The number of requests that are counted; the least disturbed by the server's clock is printed."""
SETTLED = 0.03
"""Seconds after an answer in which the server finishes with its connection."""
TESTS = """
import openai
import pytest
from harness.items import message

pytestmark = pytest.mark.harness(refusals="allow", losses="allow", unused="allow")
CALL = {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": "{}"}
FILE = {"role": "assistant", "content": [{"type": "input_file", "file_id": "file-1"}]}
AGENT = {"kind": "prompt", "model": "gpt-4o", "instructions": "Help."}

@pytest.fixture(autouse=True)
def answers(mock):
    mock.script(message("Hello there."), repeat=True)

def count_refused(counted, item):
    def ask(number):
        with pytest.raises(openai.BadRequestError):
            openai.OpenAI().responses.create(model="gpt-4.1", input=[{"role": "user", "content": f"hi {number}"}, item])
    counted(ask)

def test_plain(counted):
    counted(lambda number: openai.OpenAI().responses.create(model="gpt-4.1", input=f"hi {number}"))

def test_streamed(counted):
    counted(lambda number: [*openai.OpenAI().responses.create(model="gpt-4.1", input=f"hi {number}", stream=True)])

def test_refused_by_a_rule(counted):
    count_refused(counted, CALL)

def test_refused_by_the_schema(counted):
    count_refused(counted, FILE)

def test_agent_of_a_project(mock, counted):
    endpoint = mock.project_endpoint
    project = openai.OpenAI(base_url=endpoint, default_query={"api-version": "v1"})
    project.post("/agents", body={"name": "helper", "definition": AGENT}, cast_to=object)
    agent = {"agent_reference": {"type": "agent_reference", "name": "helper"}}
    def ask(number):
        openai.OpenAI(base_url=f"{endpoint}/openai/v1").responses.create(input=f"hi {number}", extra_body=agent)
    counted(ask)
"""


class CallCounter:
    """Counts calls of the harness's functions, by module and name, in all threads that start while it is active."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str, int]] = Counter()
        self.depth = 0
        self.is_counting = False
        self._depths: Counter[int] = Counter()

    def note(self, frame: Any, event: str, _: Any) -> None:
        """Handle a profile event of the interpreter."""
        if event not in ("call", "return") or not self.is_counting:
            return
        module, thread = frame.f_globals.get("__name__", ""), threading.get_ident()
        if not module.startswith("harness"):
            return
        self._depths[thread] += 1 if event == "call" else -1
        if event == "call":
            self.depth = max(self.depth, self._depths[thread])
            self.calls[module, frame.f_code.co_qualname, frame.f_code.co_firstlineno] += 1

    @property
    def modules(self) -> Counter[str]:
        """The calls by module."""
        counted: Counter[str] = Counter()
        for (module, _, _), count in self.calls.items():
            counted[module] += count
        return counted

    def __str__(self) -> str:
        sizes = f"{self.calls.total()} calls, {len(self.calls)} functions, {len(self.modules)} modules"
        return f"{sizes}, depth {self.depth}"


class TracePlugin:
    """A plugin of pytest whose fixture `counted` counts the calls of a request; `found` has them by test."""

    def __init__(self) -> None:
        self.found: dict[str, CallCounter] = {}
        self._counter = CallCounter()

    def note(self, *event: Any) -> None:
        """Pass a profile event to the counter of the current request."""
        self._counter.note(*event)

    @pytest.fixture
    def counted(self, request: pytest.FixtureRequest) -> Any:
        """Return what calls a function with the numbers of requests, and keeps the least count."""

        def count(ask: Any) -> None:
            for number in range(WARM_UP):
                ask(number)
            counters = [CallCounter() for _ in range(COUNTED)]
            for number, counter in enumerate(counters, WARM_UP):
                time.sleep(SETTLED)
                with self._counting(counter):
                    ask(number)
                    time.sleep(SETTLED)
            self.found[request.node.name] = min(counters, key=lambda counter: counter.calls.total())

        return count

    @contextmanager
    def _counting(self, counter: CallCounter) -> Iterator[None]:
        self._counter, counter.is_counting = counter, True
        yield
        counter.is_counting = False


def trace() -> dict[str, CallCounter]:
    """Run the tests and return the counts, by the name of the test."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    plugin = TracePlugin()
    threading.setprofile(plugin.note)
    sys.setprofile(plugin.note)
    try:
        with tempfile.TemporaryDirectory() as folder:
            (file := Path(folder) / "test_traced.py").write_text(TESTS)
            options = ["-q", "-p", "responses_harness_pytest", "-p", "no:cacheprovider", "--rootdir", folder]
            ended = pytest.main([*options, str(file)], plugins=[plugin])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    if ended:
        raise SystemExit("the traced tests failed")
    return plugin.found


def main() -> None:
    """Print the counts."""
    for name, counter in trace().items():
        print(f"{name.removeprefix('test_').replace('_', ' ')}: {counter}")
        if "--modules" in sys.argv:
            for module, count in sorted(counter.modules.items()):
                print(f"  {count:3} {module}")


if __name__ == "__main__":
    main()
