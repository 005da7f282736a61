"""The access log of `responses-harness serve`, on stderr: a line a request, JSON or text, without keys and bodies."""

from __future__ import annotations

import select
from collections.abc import Callable
from datetime import UTC, datetime

import orjson

from harness.core.errors import COMMAND
from harness.core.text import escape_controls
from harness.server.observe.observed import ObservedRequest, Observer

RenderLine = Callable[[ObservedRequest], bytes]


def write_lines(write: Callable[[bytes], object], render: RenderLine) -> Observer:
    """Create an observer that writes a line for each request; after a failed write it writes no more."""
    is_open = True

    def log(observed: ObservedRequest) -> None:
        nonlocal is_open
        if not is_open:
            return
        try:
            write(render(observed))
        except OSError:
            is_open = False

    return log


def write_refusals(write: Callable[[bytes], object], descriptor: int) -> Observer:
    """Create an observer that writes a line for each unexpected refusal and each request that cannot be answered.

    Refusals that a script asked for are expected. A line that cannot be written without blocking is dropped, so that
    nothing waits for a slow reader.
    """
    log = write_lines(write, render_text)

    def log_refused(observed: ObservedRequest) -> None:
        if observed.answer.status >= 400 and not observed.answer.expected and _has_room(descriptor):
            log(observed)

    return log_refused


def _has_room(descriptor: int) -> bool:
    """Return whether a line can be written without a wait; True where the system cannot tell."""
    try:
        return bool(select.select((), (descriptor,), (), 0)[1])
    except (OSError, ValueError):
        return True


def render_text(observed: ObservedRequest) -> bytes:
    """Format a request as text: `harness: POST /v1/responses 400: Missing … (missing_required_parameter)`."""
    said = observed.clean(" ".join(str(observed.error.get("message", "")).split()))
    rule = f" ({observed.answer.rule})" if observed.answer.rule else ""
    why = f": {said}{rule}" if observed.answer.status >= 400 else f" {observed.model}".rstrip()
    return (
        escape_controls(f"{COMMAND}: {observed.method} {observed.path} {observed.answer.status}{why}").encode() + b"\n"
    )


def render_json(observed: ObservedRequest) -> bytes:
    """Format a request as a line of JSON."""
    fields = {
        "time": datetime.fromtimestamp(observed.began, UTC).isoformat(timespec="milliseconds"),
        "method": observed.method,
        "path": observed.path,
        "operation": observed.operation,
        "dialect": observed.dialect,
        "status": observed.answer.status,
        "rule": observed.answer.rule,
        "model": observed.model or None,
        "stream": observed.answer.events is not None,
        "duration_ms": round(observed.seconds * 1000, 3),
        "request_id": observed.request_id or None,
        "world": observed.world or None,
    }
    return orjson.dumps(fields) + b"\n"
