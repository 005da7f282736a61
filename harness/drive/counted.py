"""`counted`: wraps a tool of the code under test, and records each execution."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast

from harness.core.errors import ConfigError

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Counted(Protocol, Generic[P, R_co]):
    """A function that records its executions: `runs` has the arguments of each by name, oldest first."""

    runs: list[dict[str, Any]]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Run the function and record it."""


def counted(function: Callable[P, R]) -> Counted[P, R]:
    """A tool that records each execution, as in `deploy.runs == [{"ref": "v2"}]` for a function `deploy`.

    Name, signature, docstring and annotations are kept, and a coroutine function stays one, so that frameworks derive the
    same schema from it. An execution is recorded when it begins, whether it succeeds or not.
    """
    if not callable(function):
        raise ConfigError(f"counted({function!r}): give the function itself, before a framework makes a tool of it.")
    try:
        signature = inspect.signature(function)
    except ValueError as problem:
        raise ConfigError(f"counted({function!r}): {problem}. Wrap it in a function of your own.") from problem
    runs: list[dict[str, Any]] = []

    def note(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        runs.append(dict(signature.bind(*args, **kwargs).arguments))

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def run(*args: Any, **kwargs: Any) -> Any:
            note(args, kwargs)
            return await function(*args, **kwargs)
    else:

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            note(args, kwargs)
            return function(*args, **kwargs)

    made = cast("Counted[P, R]", run)
    made.runs = runs
    return made
