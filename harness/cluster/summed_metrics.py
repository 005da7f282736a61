"""The metrics of all workers of a server: each writes its own into a folder, and the one that is asked adds them up."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from harness.core.exchange import Answer
from harness.server.observe.metrics import CONTENT_TYPE

_GREATEST = ("harness_build_info", "harness_uptime_seconds")
"""Of these the greatest value is told, not the sum."""
_CREATED = "_created"
_COUNTS = ("counter", "histogram")
"""The types whose values stay when a worker has ended."""


class SummedMetrics(Collector):
    """The metrics of this worker and of those that write into the same `folder`, where a file is named by its process."""

    def __init__(self, own: Callable[[], Answer], folder: Path) -> None:
        self._own = own
        self._folder = folder

    def write(self) -> None:
        """Tell the others; they see a file whole or not at all."""
        made = self._folder / f"{os.getpid()}.new"
        made.write_bytes(self._own().body)
        made.replace(made.with_suffix(".prom"))

    def answer(self) -> Answer:
        """The sums in the text format."""
        self.write()
        registry = CollectorRegistry()
        registry.register(self)
        return Answer(200, generate_latest(registry), {"content-type": CONTENT_TYPE, "cache-control": "no-store"})

    def describe(self) -> list[Metric]:
        """Nothing: what there is depends on the files."""
        return []

    def collect(self) -> Iterator[Metric]:
        """The families of all files, added up."""
        families: dict[str, Metric] = {}
        values: dict[str, dict[tuple[str, frozenset[tuple[str, str]]], float]] = {}
        for file in sorted(self._folder.glob("*.prom")):
            is_running = _is_running(int(file.stem))
            for family in text_string_to_metric_families(file.read_text()):
                if family.name.endswith(_CREATED) or not (is_running or family.type in _COUNTS):
                    continue
                families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                into = values.setdefault(family.name, {})
                for sample in family.samples:
                    at = sample.name, frozenset(sample.labels.items())
                    before = into.get(at, 0.0)
                    into[at] = max(before, sample.value) if family.name in _GREATEST else before + sample.value
        for name, family in families.items():
            for (sample_name, labels), value in values[name].items():
                family.add_sample(sample_name, dict(sorted(labels)), value)
            yield family


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
