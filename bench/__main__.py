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

from bench import contract, rounds, servers, startup
from bench.servers import SkipError
from bench.wire import TEXT, capture


def loads(options: argparse.Namespace, folder: Path) -> tuple[list[rounds.Row], list[str]]:
    """Return the rows and notes of the servers under load."""
    rows, notes = list[rounds.Row](), list[str]()
    with ExitStack() as children:
        running = [children.enter_context(servers.ours(folder))]
        try:
            running.append(children.enter_context(servers.aimock(folder)))
        except SkipError as why:
            notes.append(str(why))
        answers = {kind: capture(running[0].port, kind) for kind in rounds.WHAT}
        running.append(children.enter_context(servers.bare(answers, folder)))
        for server in running:
            texts = {capture(server.port, kind).text for kind in rounds.WHAT}
            notes += [f"{server.name} says another text"] if texts != {TEXT} else []
        for kind, what in rounds.WHAT.items():
            series = rounds.interleave(kind, running, options.rounds, options.seconds, options.connections)
            rows += rounds.load_rows(what, series)
            notes.append(f"client, {what}: {rounds.ceiling(series['bare'])}")
    return rows, notes


def contract_rows() -> tuple[list[rounds.Row], bool]:
    """Return the rows about the contract, and whether its cost grows linearly."""
    costs = contract.check_costs()
    exponent = contract.growth(costs)
    linear = exponent <= contract.STEEPEST
    rows = [
        rounds.plain_row(f"contract.check, {size:,} input items", f"{cost:,.0f} µs") for size, cost in costs.items()
    ]
    verdict = "linear" if linear else "NOT LINEAR"
    return [*rows, rounds.plain_row("its growth, 100 to 1,000", f"n^{exponent:.2f}, {verdict}")], linear


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
        checked, linear = contract_rows()
        unused = startup.unused_cost(Path(name), 30)
    rows += [*checked, rounds.plain_row("an empty test, plugin unused, to without it", f"× {unused:.2f}")]
    how = f"{options.rounds} rounds of {options.seconds} s per server, {options.connections} connections"
    text = rounds.markdown(rows, [machine(), f"{how}; took {time.perf_counter() - begun:.0f} s", *notes])
    print(text)
    if options.write:
        rounds.write(text)
    return 0 if linear else 1


if __name__ == "__main__":
    sys.exit(main())
