"""`python -m bench [--write] [--rounds N] [--seconds S] [--connections C]`."""

import argparse
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

from bench import inside, rounds, sample, servers, startup
from bench.servers import Server, SkipError
from bench.wire import Captured, capture


def loads(options: argparse.Namespace, folder: Path) -> tuple[list[rounds.Row], list[str]]:
    """Return the rows and notes of the servers under load."""
    answers, notes, running = sample.captured(), [], list[Server]()
    with ExitStack() as children:
        for start in (lambda: servers.ours(folder), lambda: servers.aimock(folder)):
            try:
                running.append(children.enter_context(start()))
            except SkipError as why:
                notes.append(str(why))
        answered = {s.name: {kind: capture(s.port, kind) for kind in rounds.WHAT} for s in running}
        answers = answered.get("ours", answers)
        running.append(children.enter_context(servers.bare(answers, folder)))
        split = children.enter_context(servers.bare(answers, folder, split=True))
        answered["bare"] = {kind: capture(running[-1].port, kind) for kind in rounds.WHAT}
        rows = []
        for kind in rounds.WHAT:
            under_load = [*running, split] if kind == "stream" else list(running)
            series = rounds.interleave(kind, under_load, options.rounds, options.seconds, options.connections)
            rows += rounds.load_rows(rounds.WHAT[kind], series)
            notes.append(f"client, {rounds.WHAT[kind]}: {rounds.ceiling(series['bare'])}")
        notes += [
            f"{name} answers {' and '.join(a.shape() for a in kinds.values())}" for name, kinds in answered.items()
        ]
        notes += [f"{name} says another text" for name, kinds in answered.items() if not says_the_text(kinds)]
        notes.append("start of the process to its first connection: " + ", ".join(started(s) for s in running))
    return rows, notes


def says_the_text(kinds: dict[str, Captured]) -> bool:
    return all(answer.text == sample.TEXT for answer in kinds.values())


def started(server: Server) -> str:
    return f"{server.name} {server.started * 1e3:,.0f} ms"


def contract_rows(notes: list[str]) -> tuple[list[rounds.Row], bool]:
    """Return the rows about the contract, and whether its cost grows linearly."""
    try:
        costs = inside.check_costs()
    except SkipError as why:
        notes.append(f"contract.check is skipped: {why}")
        return [], True
    exponent = inside.growth(costs)
    linear = exponent <= inside.STEEPEST
    rows = [
        rounds.plain_row(f"contract.check, {size:,} input items", f"{cost:,.0f} µs") for size, cost in costs.items()
    ]
    verdict = "linear" if linear else "NOT LINEAR"
    return [*rows, rounds.plain_row("its growth, 100 to 1,000", f"n^{exponent:.2f}, {verdict}")], linear


def test_rows(folder: Path, notes: list[str]) -> list[rounds.Row]:
    rows = []
    try:
        first, following = inside.fixture_costs(folder)
        rows.append(rounds.plain_row("fixtures mock and client, first test", f"{first:,.1f} ms"))
        rows.append(rounds.plain_row("fixtures mock and client, following", f"{following:,.1f} ms"))
    except SkipError as why:
        notes.append(f"fixtures and HTTP tests are skipped: {why}")
    empty, http = inside.suite_costs(folder)
    if http is not None:
        rows.append(rounds.plain_row("200 HTTP tests, pytest -n 2", f"{http:,.1f} s"))
    rows.append(rounds.plain_row("200 empty tests, pytest -n 2", f"{empty:,.1f} s"))
    unused = startup.unused_cost(folder, 30)
    return [*rows, rounds.plain_row("an empty test, plugin unused, to without it", f"× {unused:.2f}")]


def machine() -> str:
    """Describe the cores and the versions that determine the rates."""
    parts = [f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"]
    parts += [f"{name} {version(name)}" for name in ("uvicorn", "starlette", "pytest")]
    if shutil.which("node"):
        node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
        parts += [f"Node {node.removeprefix('v')}", f"aimock {servers.AIMOCK_VERSION}"]
    return ", ".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into bench/README.md")
    parser.add_argument("--rounds", type=int, default=9, help="rounds per workload (9)")
    parser.add_argument("--seconds", type=float, default=1.2, help="seconds per server and round (1.2)")
    parser.add_argument("--connections", type=int, default=16, help="connections of the client (16)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        rows, notes = loads(options, Path(name))
        contract, linear = contract_rows(notes)
        rows += contract + test_rows(Path(name), notes)
    how = f"{options.rounds} rounds of {options.seconds} s per server, {options.connections} connections"
    text = rounds.markdown(rows, [machine(), f"{how}; took {time.perf_counter() - begun:.0f} s", *notes])
    print(text)
    if options.write:
        rounds.write(text)
    return 0 if linear else 1


if __name__ == "__main__":
    sys.exit(main())
