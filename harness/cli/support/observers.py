"""What `harness serve` tells of its requests: `--log json`, `--metrics`, `--otel`."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from harness.server.mock_api import MockApi
    from harness.server.observe.metrics import Metrics
    from harness.server.observe.observed import Observer

LOG_FORMATS = ("json",)
STDERR = 2


def add_observers(api: MockApi, log: str, *, metrics: bool, otel: bool) -> Metrics | None:
    """Let the requests to a mock be logged, counted and traced as the options say; returns the metrics if there are any.

    Without any of the options nothing is imported, and no request costs more. ConfigError when packages are missing.
    """
    if log and log not in LOG_FORMATS:
        raise typer.BadParameter(f"--log {log}: it is {' or '.join(LOG_FORMATS)}.")
    if not (log or metrics or otel):
        return None
    from harness.server.observe.observed import observe

    observers: list[Observer] = []
    counted: Metrics | None = None
    if metrics:
        from harness.server.observe.metrics import Metrics

        counted = Metrics(api)
        observers.append(counted.note)
    if otel:
        from harness.server.observe.spans import make_provider, trace_requests

        observers.append(trace_requests(make_provider()))
    if log:
        from harness.server.observe.access_log import log_json

        observers.append(log_json(partial(os.write, STDERR)))
    observe(api, observers)
    return counted
