"""`harness serve --log json`: one JSON object a line on stderr for each request, without keys and bodies."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import orjson

from harness.server.observe.observed import ObservedRequest, Observer


def log_json(write: Callable[[bytes], object]) -> Observer:
    """The observer that writes a line for each request; where nobody reads them, the rest is dropped."""
    is_open = True

    def log(one: ObservedRequest) -> None:
        nonlocal is_open
        if not is_open:
            return
        try:
            write(render_line(one))
        except OSError:
            is_open = False

    return log


def render_line(one: ObservedRequest) -> bytes:
    """A request as a line."""
    fields = {
        "time": datetime.fromtimestamp(one.began, UTC).isoformat(timespec="milliseconds"),
        "method": one.method,
        "path": one.path,
        "operation": one.operation,
        "dialect": one.dialect,
        "status": one.answer.status,
        "rule": one.answer.rule,
        "model": one.model or None,
        "stream": one.answer.events is not None,
        "duration_ms": round(one.seconds * 1000, 3),
        "request_id": one.request_id or None,
        "world": one.world or None,
    }
    return orjson.dumps(fields) + b"\n"
