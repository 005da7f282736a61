"""`counted`: wraps a tool of the code under test, and records each execution."""

from __future__ import annotations

import functools
import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast

from harness.core.errors import ConfigError
from harness.core.exchange import ToolRun, ToolRuns

RECORDINGS: list[ToolRuns] = []
"""The recordings of running tests, which receive the executions, and the turns of chat UIs, in this process."""
_NAMES_BY_MODULE: dict[str, set[str]] = defaultdict(set)
"""The names of the counted functions that each module defines."""
_TESTS: list[tuple[str, str]] = []
"""The module and the function of each running test."""
_LOOPS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_BEGUN: ContextVar[int] = ContextVar("begun", default=0)
"""The length of the journal when the counted tool began that runs in this context; 0 if none does."""
P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Counted(Protocol, Generic[P, R_co]):
    """A function that records its executions: `runs` has the arguments of each by name, oldest first."""

    runs: list[dict[str, Any]]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Run the function and record it."""


def counted(function: Callable[P, R]) -> Counted[P, R]:
    """Wrap a tool so that it records each execution: `deploy.runs == [{"ref": "v2"}]` for a function `deploy`.

    Name, signature, docstring and annotations are kept, and a coroutine function stays one, so that frameworks derive
    the same schema from it. An execution is recorded when it begins, whether it succeeds or not. Its return value is
    compared with the output that the model was sent (the loss `output-invented`). Executions by the test function itself,
    or by another counted tool, repeat no call (the loss `output-twice`).
    """
    if not callable(function):
        raise ConfigError(f"counted({function!r}): pass the function itself, before a framework turns it into a tool.")
    try:
        signature = inspect.signature(function)
    except ValueError as problem:
        raise ConfigError(f"counted({function!r}): {problem}. Wrap it in your own function.") from problem
    runs: list[dict[str, Any]] = []
    name = _declare(function)

    @contextmanager
    def recorded(args: tuple[Any, ...], kwargs: dict[str, Any], caller: FrameType) -> Iterator[Callable[[R], R]]:
        bound = signature.bind(*args, **kwargs)
        arguments = dict(bound.arguments)
        runs.append(arguments)
        bound.apply_defaults()
        until, begun = max((recording.exchange_count for recording in RECORDINGS[-1:]), default=0), _BEGUN.get()
        after = until if _is_test(caller) else begun
        # Failed until it has returned, so that an exception needs no handler here.
        finished = ToolRun(name, arguments, None, True, bound.arguments, after, until)

        def finish(returned: R) -> R:
            nonlocal finished
            finished = finished._replace(returned=returned, failed=False)
            return returned

        _BEGUN.set(until)
        try:
            yield finish
        finally:
            _BEGUN.set(begun)
            # A World within another's test has an own journal, and so own runs.
            for recording in RECORDINGS[-1:]:
                recording.finished.append(finished)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def run(*args: Any, **kwargs: Any) -> Any:
            with recorded(args, kwargs, sys._getframe(1)) as finish:
                return finish(await function(*args, **kwargs))
    else:

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with recorded(args, kwargs, sys._getframe(1)) as finish:
                return finish(function(*args, **kwargs))

    made = cast("Counted[P, R]", run)
    made.runs = runs
    return made


def _is_test(caller: FrameType) -> bool:
    """Return whether a running test calls from its own function."""
    while caller.f_code.co_name in _LOOPS and caller.f_back:
        caller = caller.f_back
    return (caller.f_globals.get("__name__"), caller.f_code.co_name) in _TESTS[-1:]


def _declare(function: Callable[..., Any]) -> str:
    """Register the name of a tool with the running tests and with its module."""
    name = getattr(function, "__name__", "")
    _NAMES_BY_MODULE[getattr(function, "__module__", "")].add(name)
    for recording in RECORDINGS:
        recording.names.add(name)
    return name


@contextmanager
def record_runs(runs: ToolRuns, module: str, function: str = "") -> Iterator[None]:
    """Record executions of all counted functions in a `with` block, for a test of this module and function.

    The names of those in `module` are known at once.
    """
    runs.names |= _NAMES_BY_MODULE.get(module, set())
    RECORDINGS.append(runs)
    _TESTS.append((module, function))
    try:
        yield
    finally:
        RECORDINGS.remove(runs)
        _TESTS.remove((module, function))
