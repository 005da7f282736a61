"""Computes the answers of the control plane beside the event loop, so that it goes on serving the clients under test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

import orjson
from fastapi import Request, Response

from harness.server.control_plane.requests import join_rows

_Made = TypeVar("_Made")


def worker_of(request: Request) -> Worker:
    """Return the worker of the control plane that received a request."""
    worker: Worker = request.app.state.worker
    return worker


class Worker:
    """Runs functions in a thread, one at a time: several would leave the event loop less of the processor."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()

    async def run(self, make: Callable[[], _Made]) -> _Made:
        """Return what a function makes; it must read no more of a World than a snapshot of it."""
        async with self._turn:
            return await asyncio.to_thread(make)

    def wrap(self, handler: Callable[..., Any]) -> Callable[..., Awaitable[Response]]:
        """Turn a function into a FastAPI handler that runs in a thread and sends the result as JSON."""

        @wraps(handler)
        async def handle(**given: Any) -> Response:
            return await self.run(lambda: _render(handler(**given)))

        # Resolved here: an older FastAPI looks up the names of annotations in this module.
        vars(handle)["__signature__"] = signature(handler, eval_str=True)
        return handle


def _render(made: Any) -> Response:
    """Encode a value as FastAPI does; a list entry by entry, since nothing else runs while one is encoded."""
    content = join_rows(map(_encode, made)) if isinstance(made, list) else _encode(made)
    return Response(content, media_type="application/json")


def _encode(made: Any) -> bytes:
    try:
        return orjson.dumps(made)
    except orjson.JSONEncodeError:  # an integer beyond 64 bits
        return json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()
