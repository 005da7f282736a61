"""`python -m bench.worst_cases [WORDS…]`: the cost of the most expensive requests; a line per case, bytes → ms, growth.

Everything runs in process, so that only the mock is measured. WORDS select the cases whose names contain one of them.
"""

import math
import sys
import time
from collections.abc import Callable, Sequence

from bench.worst_bodies import BODIES, KIB, OTHERS, Build
from bench.worst_histories import HISTORIES

SIZES = (16 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB)
"""The approximate numbers of bytes that the client sends."""
HOPELESS_SECONDS = 3.0
"""A case that takes longer is not measured at larger sizes."""
STEEP, DEAR_MS = 1.15, 250.0
"""The exponent of growth and the cost beyond which a case is marked."""


def cpu_ms(build: Build, size: int) -> tuple[int, float]:
    """Return the bytes of a case, and the minimum CPU time of up to three calls in ms, each in a World of its own."""
    least, sent = math.inf, 0
    for _ in range(3):
        sent, call = build(size)
        least = min(least, _time(call))
        if least > 0.3:
            break
    return sent, least * 1e3


def _time(call: Callable[[], object]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def exponent(points: Sequence[tuple[int, float]]) -> float:
    """Return the slope of ms over bytes on a log-log scale, by least squares over the three largest sizes."""
    logs = [(math.log(size), math.log(max(ms, 1e-3))) for size, ms in points[-3:]]
    mean_x, mean_y = (sum(axis) / len(logs) for axis in zip(*logs, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread if spread else 0.0


def measure(name: str, build: Build, sizes: Sequence[int] = SIZES, dear_ms: float | None = DEAR_MS) -> str:
    """Measure a case and return its line; without `dear_ms` only the growth marks it."""
    points: list[tuple[int, float]] = []
    for size in sizes:
        points.append(cpu_ms(build, size))
        if points[-1][1] > HOPELESS_SECONDS * 1e3 * (1 if dear_ms else 10):
            break
    slope = exponent(points)
    cells = "  ".join(f"{sent / KIB:6,.0f}K {ms:9.2f}" for sent, ms in points)
    mark = "  !" if (dear_ms and points[-1][1] > dear_ms) or (slope > STEEP and points[-1][1] > 20) else ""
    return f"{name:30} {cells}  n^{slope:.2f}{mark}"


def main(words: Sequence[str]) -> None:
    cases = BODIES | OTHERS | HISTORIES
    print(f"{'case':30} KiB and ms of CPU at four sizes, growth; ! where it is steep or dear")
    for name, build in cases.items():
        if not words or any(word in name for word in words):
            print(measure(name, build), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
