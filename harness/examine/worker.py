"""Runs a Python adapter as a command: `python -m harness.examine.worker MODULE:CLASS`.

It writes its declaration to stdout, then for each line `{"task": {…}}` on stdin a line `{"outcome": {…}, "leaked": 0}`.
The client's own output goes to stderr.
"""

import asyncio
import json
import os
import sys
from collections import Counter
from dataclasses import asdict
from importlib import import_module
from typing import Any, TextIO

from harness.examine.adapter import Adapter
from harness.examine.task import Outcome, Task

CANNOT_START = 3
"""The exit code if the adapter cannot be loaded; the reason is on stderr."""
GRACE = 0.05
"""The number of seconds that asyncio tasks have to end after the last prompt."""


def load(target: str) -> Adapter:
    """Load an adapter given as `MODULE:ATTRIBUTE`, a class, function or object."""
    module, _, attribute = target.partition(":")
    found: Any = import_module(module)
    for name in attribute.split("."):
        found = getattr(found, name)
    made = found if isinstance(found, Adapter) else found()
    if not isinstance(made, Adapter):
        raise TypeError(f"{target} makes a {type(made).__name__}, which is not a harness.examine.adapter.Adapter")
    return made


def main(target: str) -> int:
    """Do the tasks on stdin until it ends; return the exit code."""
    # The client's own output must not mix with the outcomes.
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
    kept: Counter[str] = Counter()
    with asyncio.Runner() as runner:
        for line in sys.stdin:
            task = Task.from_json(json.loads(line)["task"])
            _write(out, runner.run(_run(adapter, task, kept)))
    return 0


async def _run(adapter: Adapter, task: Task, kept: Counter[str]) -> dict[str, Any]:
    """Do a task, and count the asyncio tasks that it left running, beyond those of earlier tasks (`kept`)."""
    outcome = await adapter.run(task)
    if not isinstance(outcome, Outcome):
        raise TypeError(f"{type(adapter).__name__}.run returned a {type(outcome).__name__}, not an Outcome")
    if under_way := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(under_way, timeout=GRACE)
    left = Counter(
        str(getattr(left_task.get_coro(), "__qualname__", left_task))
        for left_task in asyncio.all_tasks() - {asyncio.current_task()}
    )
    # One task of each kind may live as long as the process, since some clients have a background worker.
    leaked = sum(count - max(kept[name], 1) for name, count in left.items() if count > max(kept[name], 1))
    kept |= left
    return {"outcome": asdict(outcome), "leaked": leaked}


def _write(out: TextIO, value: dict[str, Any]) -> None:
    out.write(json.dumps(value) + "\n")
    out.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
