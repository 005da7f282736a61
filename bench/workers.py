"""Measures the gain of workers and the cost of a store: the rate for each, relative to one worker in memory.

    python -m bench.workers [--rounds 5] [--seconds 1.5]

Every server has a turn in each round, and a ratio compares two rates of the same round; the table has the median,
minimum and maximum of all rounds. Each body is new, since one worker answers identical requests at more than half the
rate that the client can send on two cores. It starts `redis-server` itself.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from bench.load import measure
from bench.rounds import interleave, spread
from bench.servers import Server, end, free_port, serving, wait_for, write_script

CONNECTIONS = 16
PAIRS = [(workers, store) for store in ("memory", "redis") for workers in (1, 2)]


@contextmanager
def redis(folder: str) -> Iterator[int]:
    """Run `redis-server` on a free port, without persistence."""
    if shutil.which("redis-server") is None:
        raise SystemExit("redis-server is not installed: apt-get install redis-server")
    port = free_port()
    command = ["redis-server", "--port", str(port), "--save", "", "--appendonly", "no"]
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        wait_for(port, child, "redis-server")
        yield port
    finally:
        end(child)


@contextmanager
def ours(workers: int, store: str, script: Path) -> Iterator[Server]:
    """Run `harness serve` with this number of workers and this store."""
    port, name = free_port(), f"{workers} {store.partition(':')[0]}"
    command = [sys.executable, "-m", "harness", "serve", "--port", str(port), "--script", str(script)]
    with serving(name, [*command, "--workers", str(workers), "--store", store], port) as server:
        yield server


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5)
    options = parser.parse_args()
    print("| answers  | keys | workers | store  |     rate | × one in memory  | × one, this store |")
    print("|----------|------|---------|--------|----------|------------------|-------------------|")
    with tempfile.TemporaryDirectory() as folder:
        script = write_script(Path(folder))
        for kind in ("json, numbered", "stream, numbered"):
            for keys in (CONNECTIONS, 1):
                _measure(kind, keys, folder, script, options)


def _measure(kind: str, keys: int, folder: str, script: Path, options: argparse.Namespace) -> None:
    """Print the lines for one kind of answer, using new, empty servers."""
    with ExitStack() as stack:
        url = f"redis://127.0.0.1:{stack.enter_context(redis(folder))}"
        stores = {"memory": "memory", "redis": url}
        places = [f"{stores[store]}/{workers}" if store == "redis" else store for workers, store in PAIRS]
        servers = [
            stack.enter_context(ours(workers, place, script)) for (workers, _), place in zip(PAIRS, places, strict=True)
        ]
        series = interleave(kind, servers, options.rounds, options.seconds, CONNECTIONS, partial(measure, keys=keys))
    for workers, store in PAIRS:
        own = series[f"{workers} {store}"]
        ratios = [own.over(series["1 memory"]), own.over(series[f"1 {store}"])]
        shown = [f"{ratio.mid:.2f} ({ratio.low:.2f}–{ratio.high:.2f})" for ratio in ratios]
        rate, said = f"{spread(own.rates).mid:,.0f}/s", kind.partition(",")[0]
        print(
            f"| {said:8} | {keys:4} | {workers:7} | {store:6} | {rate:>8} | {shown[0]:16} | {shown[1]:17} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
