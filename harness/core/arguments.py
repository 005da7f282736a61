"""Arguments of the functions that a test calls: one that a function does not have is told with the nearest name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from harness.core.errors import ScriptError
from harness.core.registry import suggest_name

P = ParamSpec("P")
T = TypeVar("T")


def named_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function raise a ScriptError for a name that it does not take: `when(instruction=…): … Did you mean …`.

    One that takes any name stays as it is.
    """
    own = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in own):
        return function
    known = [
        parameter.name
        for parameter in own
        if parameter.kind is not parameter.VAR_POSITIONAL and parameter.name != "self"
    ]

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        for name in kwargs:
            if name not in known:
                raise ScriptError(f"{function.__name__}({name}=…): no argument {name!r}. {suggest_name(name, known)}")
        return function(*args, **kwargs)

    return checked
