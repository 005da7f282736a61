"""One deadline for work that waits for somebody else: a server that trickles bytes resets every timeout of a socket."""

import socket
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import TypeVar

T = TypeVar("T")
STOP_SECONDS = 1.0
"""Seconds that stopped work gets to end, so that nothing it holds changes any more."""


def run_within(seconds: float, work: Callable[[], T], stop: Callable[[], None]) -> T:
    """Run `work` in a thread and return its result; after `seconds`, call `stop`, which ends it, and raise TimeoutError.

    Work that `stop` does not end is left behind.
    """
    done: Future[T] = Future()
    thread = Thread(target=partial(copy_context().run, _finish, done, work), name="responses-harness-work", daemon=True)
    thread.start()
    try:
        return done.result(seconds)
    except BaseException:
        if not done.done():
            stop()
            thread.join(STOP_SECONDS)
        raise


def _finish(done: Future[T], work: Callable[[], T]) -> None:
    try:
        done.set_result(work())
    except BaseException as problem:
        done.set_exception(problem)


def shut_down(*connections: socket.socket) -> None:
    """End connections that another thread reads from or writes to."""
    for connection in connections:
        with suppress(OSError):
            # The method of the plain socket, since that of a TLS socket is not safe in another thread.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
