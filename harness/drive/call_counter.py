"""`counted`: a tool of the code under test that remembers each time it was really run."""

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
    """A function that remembers: `runs` has the arguments of each execution by name, oldest first."""

    runs: list[dict[str, Any]]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Run it."""


def counted(function: Callable[P, R]) -> Counted[P, R]:
    """A tool that remembers each time it is run, say `deploy.runs == [{"ref": "v2"}]` of a function `deploy`.

    Name, signature, docstring and annotations stay, and a coroutine function stays one, so frameworks derive the same
    schema from it. A run counts from its beginning, whether it ends well or not.
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
