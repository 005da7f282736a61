"""Observers of the requests to `responses-harness serve`: `--log json|text`, `--metrics`, `--otel`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import typer

from harness.core.errors import require_extra

if TYPE_CHECKING:
    from harness.server.asgi import App
    from harness.server.mock_api import MockApi
    from harness.server.observe.observed import Observer

LOG_FORMATS = ("json", "text")
STDERR = 2


def check_observers(log: str, *, metrics: bool, otel: bool) -> None:
    """Raise BadParameter for an unknown log format, ConfigError for missing packages."""
    if log and log not in LOG_FORMATS:
        raise typer.BadParameter(f"--log {log}: pass {' or '.join(LOG_FORMATS)}.")
    if metrics:
        require_extra("--metrics", "prometheus-client", "metrics", "prometheus_client")
    if otel:
        from harness.server.observe.spans import check_packages

        check_packages()


def watch_app(app: App, log: str, *, metrics: bool, otel: bool) -> None:
    """Observe the requests to an app, and make it answer Prometheus."""
    observers: list[Observer] = []
    if metrics:
        from harness.server.observe.metrics import Metrics

        counted = Metrics(app.api, lambda: app.open_streams)
        observers.append(counted.note)
        app.metrics = counted.answer
    add_observers(app.api, log, otel=otel, more=observers, tells_refusals=True)


def add_observers(
    api: MockApi, log: str, *, otel: bool, more: Sequence[Observer] = (), tells_refusals: bool = False
) -> None:
    """Log and trace the requests to a mock as the options say.

    Without a log, refused requests are still reported if `tells_refusals`.
    """
    observers = [*more]
    if otel:
        from harness.server.observe.spans import make_provider, trace_requests

        observers.append(trace_requests(make_provider()))
    if log:
        from harness.server.observe.access_log import render_json, render_text, write_lines

        observers.append(write_lines(partial(os.write, STDERR), render_json if log == "json" else render_text))
    only_refused = not observers
    if tells_refusals and not log:
        from harness.server.observe.access_log import write_refusals

        observers.append(write_refusals(partial(os.write, STDERR), STDERR))
    if observers:
        from harness.server.observe.observed import observe

        observe(api, observers, only_refused=only_refused)
