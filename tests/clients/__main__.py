"""Run the client suites and print their matrix: `python -m tests.clients [SUITE…] [--only ENVIRONMENT]`.

Each suite runs in environments of its own, with the packages its `suite.toml` names. Ends with 1 when a cell is not as
that file says, with 2 when a suite cannot be used.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.core.errors import HarnessError
from harness.examine.results import ClientResult
from harness.examine.run_cases import select_cases
from tests.clients.behaviour import CASES, render_behaviour
from tests.clients.cells import GREEN, found
from tests.clients.coding import PROGRAMS, examine_agents
from tests.clients.matrix import Row, Run, played, runs
from tests.clients.publish import PAGE, examine_release, read_environments, render_page
from tests.clients.samples import SUITE, publish_samples

JOBS = (os.cpu_count() or 1) + 1
"""Environments at a time: one more than there are processors, as installing and clients wait a lot."""
WIDTH = 180
"""Columns of a matrix that is printed to no terminal."""
REASON = 160
"""Characters of a reason that are shown."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments say; returns the exit code."""
    said = _parser().parse_args(arguments)
    if said.publish and said.suites == [SUITE]:
        publish_samples()
        return 0
    if said.publish and said.behaviour:
        return _publish_behaviour(said.suites)
    if said.publish:
        return _publish(said.suites, said.only)
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    try:
        every = runs(found(said.suites), said.only)
    except HarnessError as problem:
        console.print(Text(str(problem)))
        return 2
    if said.list:
        console.print(_listed(every))
        return 0
    began = time.monotonic()
    rows: list[Row] = []
    for run, more in played(every, said.jobs):
        rows += more
        print(f"{time.monotonic() - began:4.0f} s  {run.suite.name} in {run.environment.name}", file=sys.stderr)
    if said.json:
        said.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n", encoding="utf-8")
    _show(console, rows, time.monotonic() - began)
    return 0 if rows and not any(row.fault for row in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.clients", description="Run the client suites.")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="folders of tests/clients/suites (default: all)")
    parser.add_argument(
        "--only", metavar="ENVIRONMENT", help="only the environments of this name; of --publish, the cases"
    )
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help=f"environments at a time (default: {JOBS})")
    parser.add_argument("--list", action="store_true", help="list suites, environments and packages, and run nothing")
    told = (
        "examine the releases of examined.toml (those of the adapters given) and write docs/results/clients.md; "
        f"of {SUITE}, write how the samples end, and their table in docs/foundry.md"
    )
    parser.add_argument("--publish", action="store_true", help=told)
    less = "with --publish: only what clients do on faults of streams, retries and timeouts; rows of others stay"
    parser.add_argument("--behaviour", action="store_true", help=less)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the matrix to a file")
    return parser


def _publish_behaviour(adapters: Sequence[str]) -> int:
    """Examine the releases of adapters in what the tables of behaviour are about, and write their rows."""
    every = [*_examine(adapters, CASES), *_examine_agents(adapters)]
    PAGE.write_text(render_behaviour(PAGE.read_text(encoding="utf-8"), every), encoding="utf-8")
    return 0


def _examine_agents(names: Sequence[str]) -> Iterator[ClientResult]:
    """Examine coding agents in what reaches a model of its reasoning, all of them unless some are given."""
    for done in examine_agents([name for name in PROGRAMS if not names or name in names]):
        print(f"{done.seconds:4.0f} s  {done.client}", file=sys.stderr, flush=True)
        yield done


def _examine(adapters: Sequence[str], cases: str) -> list[ClientResult]:
    """Examine one release after the other, those of all adapters unless some are given."""
    every = []
    for adapter, environment in read_environments():
        if not adapters or adapter in adapters:
            every.append(found := examine_release(adapter, environment, select_cases(cases)))
            print(f"{found.seconds:4.0f} s  {found.client}", file=sys.stderr, flush=True)
    return every


def _publish(adapters: Sequence[str], cases: str | None) -> int:
    """Examine one release after the other; without all of them, or with some cases only, the page is printed."""
    every = _examine(adapters, cases or "*")
    page = render_page(PAGE.read_text(encoding="utf-8"), every)
    if not cases:
        page = render_behaviour(page, [*every, *_examine_agents(adapters)])
    if adapters or cases:
        print(page)
    else:
        PAGE.write_text(page, encoding="utf-8")
    return 0


def _listed(every: Sequence[Run]) -> Table:
    table = Table("suite", "environment", "packages", "cells", box=None)
    for run in every:
        name = run.environment.name
        table.add_row(run.suite.name, name, ", ".join(run.packages), str(len(run.suite.expected(name))))
    return table


def _show(console: Console, rows: Sequence[Row], seconds: float) -> None:
    console.print(_matrix(rows))
    wrong = [row for row in rows if row.fault]
    for fault in dict.fromkeys(row.fault for row in wrong):
        tests = ", ".join(row.test for row in wrong if row.fault == fault)
        row = next(row for row in wrong if row.fault == fault)
        console.print(Text(f"\n{row.suite} in {row.environment}: {tests}\n{fault}"))
    console.print(f"\n{len(rows) - len(wrong)} of {len(rows)} cells as expected, in {seconds:.0f} s")
    console.print(Text("\n".join(_counts(rows))))


def _counts(rows: Sequence[Row]) -> Iterator[str]:
    """How many of the cells that are as expected are green or red, how many refusals they expect, what the red ones say."""
    right = [row for row in rows if not row.fault]
    refused = [row.refusals for row in right if row.verdict == GREEN and row.refusals]
    red = Counter((row.suite, row.expected) for row in right if row.verdict != GREEN)
    greens, counted = len(right) - red.total(), f"{len(refused)} of them with expected refusals ({sum(refused)} in all)"
    yield f"{greens} green, {counted}; {red.total()} red{':' if red else ''}"
    yield from (f"{count:4}  {suite}: {cause}" for (suite, cause), count in red.items())


def _matrix(rows: Sequence[Row]) -> Table:
    """Return a line for each test in each environment; parameter sets that came out alike share one."""
    table = Table("suite", "test", "environment", "release", "verdict", "", "seconds", "reason", box=None)
    alike: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        test = row.test.partition("[")[0]
        alike.setdefault((row.suite, row.environment, test, row.verdict, bool(row.fault)), []).append(row)
    for (_, _, test, *_), same in alike.items():
        row, count = same[0], f" ({len(same)})" if len(same) > 1 else ""
        verdict = Text(row.verdict, style={"green": "green", "red": "red"}.get(row.verdict, "yellow"))
        as_expected = Text("differs", style="bold red") if row.fault else Text("ok")
        cells = [row.suite, f"{test}{count}", row.environment, ", ".join(row.packages[:2])]
        seconds = Text(f"{sum(row.seconds for row in same):.1f}")
        table.add_row(*map(Text, cells), verdict, as_expected, seconds, Text(row.reason[:REASON]))
    return table


if __name__ == "__main__":
    sys.exit(main())
