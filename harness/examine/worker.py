"""Runs a Python adapter as a command: `python -m harness.examine.worker MODULE:CLASS`.

It writes its declaration, then for each line `{"task": {…}}` on stdin a line `{"outcome": {…}, "leaked": 0}` on stdout.
What the client itself prints goes to stderr.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from importlib import import_module
from typing import Any, TextIO

from harness.examine.adapter import Adapter
from harness.examine.task import Task

CANNOT_START = 3
"""The exit code when there is no such adapter; the reason stands on stderr."""


def load(target: str) -> Adapter:
    """The adapter of a class, function or object `MODULE:ATTRIBUTE`."""
    module, _, attribute = target.partition(":")
    found: Any = import_module(module)
    for name in attribute.split("."):
        found = getattr(found, name)
    made = found if isinstance(found, Adapter) else found()
    if not isinstance(made, Adapter):
        raise TypeError(f"{target} makes a {type(made).__name__}, which is no harness.examine.adapter.Adapter")
    return made


def main(target: str) -> int:
    """Answer the tasks on stdin until it ends."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.path.insert(0, os.getcwd())
    try:
        adapter = load(target)
        declared = adapter.declare().as_json()
    except Exception as problem:
        sys.stderr.write(f"{type(problem).__name__}: {problem}\n")
        return CANNOT_START
    _write(out, declared)
    for line in sys.stdin:
        _write(out, asyncio.run(_run(adapter, Task.from_json(json.loads(line)["task"]))))
    return 0


async def _run(adapter: Adapter, task: Task) -> dict[str, Any]:
    outcome = await adapter.run(task)
    await asyncio.sleep(0)
    leaked = [each for each in asyncio.all_tasks() if each is not asyncio.current_task()]
    return {"outcome": outcome.as_json(), "leaked": len(leaked)}


def _write(out: TextIO, value: dict[str, Any]) -> None:
    out.write(json.dumps(value) + "\n")
    out.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
