"""Traces of tests: `--harness-trace=failed|all|off` writes one file per test, which `responses-harness view` opens.

A test that passes removes its trace of an earlier run, so the folder holds only the newest results.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.core.errors import COMMAND
from harness.core.text import pluralize
from harness.pytest_plugin.options import STARTED_STASH_KEY
from harness.report.report import WRONG_OUTCOMES, ReportCase, RunFacts
from harness.world.world import World

if TYPE_CHECKING:
    from harness.viewer.page_data import ShownCase

TRACE, PROBLEM = "trace", "trace_problem"
"""The members of a summary about a trace: its file, or why it could not be written."""
CAPTURED_STASH_KEY = pytest.StashKey[list[tuple[str, str]]]()
"""What a test printed and logged: pairs of a title and a text."""
_NO_CI = ("", "0", "false")


class TraceWriter:
    """Writes the traces of a run."""

    def __init__(self, config: pytest.Config) -> None:
        in_ci = os.environ.get("CI", "").lower() not in _NO_CI
        self.mode = config.getoption("--harness-trace") or ("failed" if in_ci else "off")
        self.folder = config.invocation_params.dir / config.getoption("--harness-trace-dir")
        self._root = config.rootpath
        self._command = ["pytest", *map(str, config.invocation_params.args)]
        self._began = config.stash[STARTED_STASH_KEY]

    def wants(self, outcome: str) -> bool:
        """Return whether a test with this outcome gets a trace."""
        return self.mode == "all" or (self.mode == "failed" and outcome in WRONG_OUTCOMES)

    def write(self, item: pytest.Item, case: ReportCase, world: World) -> dict[str, Any]:
        """Write the trace of a test, and return the members for its summary."""
        from harness.viewer.trace import write_trace

        facts = self.collect_facts("trace")
        try:
            return {TRACE: str(write_trace(self.folder, facts, show_test(item, case, world)))}
        except OSError as problem:
            return {
                PROBLEM: f"--harness-trace: {problem.filename or self.folder}: cannot be written: {problem.strerror}."
            }

    def collect_facts(self, source: str) -> RunFacts:
        """Return the facts of the run."""
        from harness.viewer.build_run import collect_facts

        return collect_facts(source, self._root, self._began, time.time() - self._began, self._command)

    def remove(self, item: pytest.Item) -> None:
        """Remove the trace of an earlier run of a test that gets none now."""
        if self.mode != "off" and self.folder.is_dir():
            from harness.viewer.trace import trace_file

            with suppress(OSError):
                trace_file(self.folder, item.nodeid).unlink()

    def list_lines(self, summaries: list[dict[str, Any]]) -> list[str]:
        """Return the lines about traces at the end of a run."""
        written = [summary[TRACE] for summary in summaries if TRACE in summary]
        if not written:
            return []
        shown = os.path.relpath(self.folder, Path.cwd())
        return [f"{pluralize(len(written), 'trace')}: {COMMAND} view {shown}"]


def show_test(item: pytest.Item, case: ReportCase, world: World) -> ShownCase:
    """Build the view of a test that has just ended; its findings are in its case."""
    from harness.viewer.build_run import show_world

    printed = item.stash.get(CAPTURED_STASH_KEY, [])
    return show_world(case, world, time.time() - case.seconds, str(item.config.rootpath), printed)
