"""Checks the keyword arguments of functions that a test calls, and suggests the nearest name for an unknown one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from harness.core.errors import ScriptError
from harness.core.registry import suggest_name
from harness.core.text.shorten import show

P = ParamSpec("P")
T = TypeVar("T")


def named_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function raise a ScriptError for an unknown keyword: `when(instruction=…): … Did you mean …`.

    A function with `**kwargs` is returned unchanged.
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
                raise ScriptError(
                    f"{function.__name__}({name}=…): no argument {show(name)}. {suggest_name(name, known)}"
                )
        return function(*args, **kwargs)

    return checked
