"""What `harness serve` writes to stderr about requests, a line each, without keys and bodies: JSON, or for people."""

from __future__ import annotations

import select
from collections.abc import Callable
from datetime import UTC, datetime

import orjson

from harness.core.text.printable import escape_controls
from harness.server.observe.observed import ObservedRequest, Observer

RenderLine = Callable[[ObservedRequest], bytes]


def write_lines(write: Callable[[bytes], object], render: RenderLine) -> Observer:
    """Make the observer that writes a line for each request; where nobody reads them, the rest is dropped."""
    is_open = True

    def log(one: ObservedRequest) -> None:
        nonlocal is_open
        if not is_open:
            return
        try:
            write(render(one))
        except OSError:
            is_open = False

    return log


def write_refusals(write: Callable[[bytes], object], descriptor: int) -> Observer:
    """Make the observer that writes a line for each unexpected refusal and each request that cannot be answered.

    A refusal is unexpected unless a script refuses. A line for which there is no room now is dropped, so that nothing waits
    for a slow reader.
    """
    log = write_lines(write, render_text)

    def log_refused(one: ObservedRequest) -> None:
        if one.answer.status >= 400 and not one.answer.asked and _has_room(descriptor):
            log(one)

    return log_refused


def _has_room(descriptor: int) -> bool:
    """Tell whether a line can be written without a wait; True where the system cannot tell."""
    try:
        return bool(select.select((), (descriptor,), (), 0)[1])
    except (OSError, ValueError):
        return True


def render_text(one: ObservedRequest) -> bytes:
    """Write a request as a line for people: `harness: POST /v1/responses 400: Missing … (missing_required_parameter)`."""
    said = one.clean(" ".join(str(one.error.get("message", "")).split()))
    rule = f" ({one.answer.rule})" if one.answer.rule else ""
    why = f": {said}{rule}" if one.answer.status >= 400 else f" {one.model}".rstrip()
    return escape_controls(f"harness: {one.method} {one.path} {one.answer.status}{why}").encode() + b"\n"


def render_json(one: ObservedRequest) -> bytes:
    """Write a request as a line of JSON."""
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
