"""Clients to examine: the reference one, and variants of it that are broken in one way. Adapters by `TARGET + class`."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import ClassVar

from harness.examine.adapter import Adapter, Declaration
from harness.examine.adapters.openai_python import OpenAIAdapter
from harness.examine.results import Cell, ClientResult, ExaminationResults, Verdict, report_results
from harness.examine.task import Outcome, Task
from harness.report.formats import render_report, write_report

TARGET = f"{__name__}:"


class LastMessageOnly(OpenAIAdapter):
    """Shows only the last word of what was said."""

    async def run(self, task: Task) -> Outcome:
        outcome = await super().run(task)
        return Outcome(texts=[text.split(".")[-2] + "." for text in outcome.texts])


class Dying(Adapter):
    """Ends its process in the middle of a task."""

    package: ClassVar = "dying"
    streams: ClassVar = (False,)

    async def run(self, task: Task) -> Outcome:
        sys.stderr.write("no strength left\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


class Sleeping(Adapter):
    """Never answers; makes the file that `SLEEPING_SIGN` names when it has been asked."""

    package: ClassVar = "sleeping"
    streams: ClassVar = (False,)

    async def run(self, task: Task) -> Outcome:
        if sign := os.environ.get("SLEEPING_SIGN"):
            Path(sign).touch()
        time.sleep(600)
        raise AssertionError


def cell(
    case: str, verdict: Verdict = "pass", mode: str = "plain,replay", severity: str = "must", *reasons: str
) -> Cell:
    return Cell(case=case, severity=severity, mode=mode, verdict=verdict, reasons=reasons)


def write_results(results: ExaminationResults, file: Path) -> None:
    """Write results to a file, in the format of its suffix."""
    write_report(report_results(results), file, file.suffix)


def render_results(results: ExaminationResults, suffix: str) -> str:
    """Render results in the format of a suffix."""
    return render_report(report_results(results), suffix)


def results(*cells: Cell, client: str = "mine 1.0", complete: bool = True) -> ExaminationResults:
    """Results of one client with these cells."""
    facts = {"severity": "must", "title": "A title", "does": "It does.", "source": "a source", "shows": "This."}
    cases = {cell.case: {"id": cell.case, "area": cell.case.partition("/")[0], **facts, "needs": []} for cell in cells}
    result = ClientResult(
        declared=Declaration(client=client), adapter="mine:Adapter", seconds=1.5, complete=complete, cells=cells
    )
    return ExaminationResults((result,), cases)
