"""The metrics of all workers of a server: each counts in files of one folder, and any of them can sum them up."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from harness.core.exchange import Answer
from harness.server.observe.metrics import metrics_answer


class WorkerMetrics(Collector):
    """Sums the metrics in a `folder`; `update` adds what this process does not count request by request.

    Counters of a worker that has ended still count, its gauges do not.
    """

    def __init__(self, folder: Path, update: Callable[[], Awaitable[object]]) -> None:
        self._folder = folder
        self._update = update

    async def answer(self) -> Answer:
        """Answer with the sums in the text format of Prometheus."""
        await self._update()
        registry = CollectorRegistry()
        registry.register(self)
        return metrics_answer(generate_latest(registry))

    def describe(self) -> list[Metric]:
        """Return nothing, as the metrics depend on the files."""
        return []

    def collect(self) -> Iterable[Metric]:
        """Merge the metric families of all files."""
        files = sorted(file for file in self._folder.glob("*.db") if _counts(file))
        merge: Callable[[Iterable[str]], Iterable[Metric]] = MultiProcessCollector.merge
        return merge(map(str, files))


def _counts(file: Path) -> bool:
    """Return whether a file, `gauge_livesum_PID.db` or `counter_PID.db`, is part of the sums."""
    return not file.name.startswith("gauge_live") or _is_running(int(file.stem.rpartition("_")[2]))


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
