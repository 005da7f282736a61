"""Notes the client errors that a test catches itself, with `pytest.raises`, `pytest.RaisesGroup` or `assertRaises`.

The test thereby expects the refusal behind such an error: one that carries the answer (`error.response.headers` as in
openai, httpx and requests, or `error.headers`), or has one that does as its cause, its context or a member of its
group.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.world.refusals import RefusalLedger


@contextmanager
def note_caught_errors(refusals: RefusalLedger) -> Iterator[None]:
    """Note the errors that a test catches during a `with` block."""

    def note(error: BaseException | None) -> None:
        for related in _related_errors(error):
            with suppress(Exception):  # any class may be raised, with anything as its `response`
                refusals.note_caught(_answer_headers(related))

    case = getattr(sys.modules.get("unittest.case"), "_AssertRaisesContext", None)
    with ExitStack() as stack:
        stack.enter_context(_replaced(pytest.ExceptionInfo, "fill_unfilled", lambda own: _noting_fill(own, note)))
        if case is not None:
            stack.enter_context(_replaced(case, "__exit__", lambda own: _noting_exit(own, note)))
        yield


def _noting_fill(fill: Callable[..., Any], note: Callable[[BaseException | None], None]) -> Callable[..., Any]:
    """Wrap `ExceptionInfo.fill_unfilled`, through which `pytest.raises` receives the expected error."""

    def fill_unfilled(self: Any, exc_info: Any) -> Any:
        note(exc_info[1])
        return fill(self, exc_info)

    return fill_unfilled


def _noting_exit(leave: Callable[..., Any], note: Callable[[BaseException | None], None]) -> Callable[..., Any]:
    """Wrap the `__exit__` of `assertRaises`, which returns True if it takes the error."""

    def leave_block(self: Any, kind: Any, error: BaseException | None, traceback: Any) -> Any:
        if taken := leave(self, kind, error, traceback):
            note(error)
        return taken

    return leave_block


@contextmanager
def _replaced(owner: Any, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    own = getattr(owner, name)
    setattr(owner, name, wrap(own))
    try:
        yield
    finally:
        setattr(owner, name, own)


def _related_errors(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, its causes and contexts, and the members of groups, each once."""
    waiting, seen = [error], set[int]()
    while waiting:
        if (each := waiting.pop()) is None or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [each.__cause__, each.__context__]
        waiting += each.exceptions if isinstance(each, BaseExceptionGroup) else ()


def _answer_headers(error: BaseException) -> Any:
    response = getattr(error, "response", None)
    return getattr(error if response is None else response, "headers", {})
