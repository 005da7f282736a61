"""Counts the Python calls that handle a request like earlier ones, from its bytes to those of the answer.

Prints one line per form of the answer, and with `--modules` one per module involved, so that two versions can be
compared.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from http.client import HTTPConnection
from typing import Any

from harness.core.limits import SERVER_LIMITS
from harness.items import message
from harness.server.asgi import serve_in_thread
from harness.server.mock_api import MockApi

KEY = "sk-trace"
WARM_UP = 6
"""The number of requests before the one that is counted, which fill all caches."""
FORMS: dict[str, dict[str, Any]] = {"plain": {}, "streamed": {"stream": True}}


class CallCounter:
    """Counts calls of the harness's functions, by module and name, in threads that start while it is active."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str, int]] = Counter()
        self.is_counting = False

    def note(self, frame: Any, event: str, _: Any) -> None:
        """Handle a profile event of the interpreter."""
        if self.is_counting and event == "call":
            module = frame.f_globals.get("__name__", "")
            if module.startswith("harness"):
                self.calls[module, frame.f_code.co_qualname, frame.f_code.co_firstlineno] += 1

    @property
    def modules(self) -> Counter[str]:
        """The calls by module."""
        counted: Counter[str] = Counter()
        for (module, _, _), count in self.calls.items():
            counted[module] += count
        return counted

    def __str__(self) -> str:
        return f"{self.calls.total()} calls, {len(self.calls)} functions, {len(self.modules)} modules"


def trace(members: dict[str, Any]) -> CallCounter:
    """Count the calls for the last of several requests that differ in their input."""
    counter = CallCounter()
    api = MockApi(limits=SERVER_LIMITS)
    api.open(KEY).script(message("Hello there."), repeat=True)
    threading.setprofile(counter.note)
    try:
        with serve_in_thread(api) as server:
            client = HTTPConnection("127.0.0.1", server.port)
            for number in range(WARM_UP):
                _ask(client, {"model": "gpt-4.1", "input": f"hi {number}", **members})
            counter.is_counting = True
            _ask(client, {"model": "gpt-4.1", "input": f"hi {WARM_UP}", **members})
            counter.is_counting = False
            client.close()
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]
    return counter


def _ask(client: HTTPConnection, body: dict[str, Any]) -> None:
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    client.request("POST", "/v1/responses", json.dumps(body), headers)
    answer = client.getresponse()
    answer.read()
    assert answer.status == 200, answer.status


def main() -> None:
    """Print the counts."""
    for name, members in FORMS.items():
        counter = trace(members)
        print(f"served, {name}: {counter}")
        if "--modules" in sys.argv:
            for module, count in sorted(counter.modules.items()):
                print(f"  {count:3} {module}")


if __name__ == "__main__":
    main()
