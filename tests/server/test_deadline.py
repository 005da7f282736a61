"""A deadline for work that waits for somebody else: its result, its error, or an end in time."""

import socket
import threading
from contextvars import ContextVar

import pytest

from harness.server.deadline import run_within, shut_down

NAME: ContextVar[str] = ContextVar("NAME", default="")


def nothing() -> None:
    raise AssertionError("work in time is not stopped")


def test_work_in_time_gives_its_result_in_the_context_of_its_caller():
    token = NAME.set("caller")
    assert run_within(60, NAME.get, nothing) == "caller"
    NAME.reset(token)


def test_work_in_time_raises_its_own_error():
    with pytest.raises(LookupError, match="mine"):
        run_within(60, raise_lookup, nothing)


def raise_lookup() -> None:
    raise LookupError("mine")


def test_late_work_is_stopped_and_has_ended_before_the_error_comes():
    stopped, ended = threading.Event(), threading.Event()

    def work() -> None:
        stopped.wait()
        ended.set()

    with pytest.raises(TimeoutError):
        run_within(0.1, work, stopped.set)
    assert ended.is_set()


def test_work_that_nothing_ends_is_left_behind():
    let_go = threading.Event()
    with pytest.raises(TimeoutError):
        run_within(0.1, let_go.wait, lambda: None)
    let_go.set()


def test_a_connection_that_is_shut_down_ends_its_reader():
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(TimeoutError):
        run_within(0.1, lambda: ours.recv(1), lambda: shut_down(ours))
    shut_down(ours)  # a closed one is no error
