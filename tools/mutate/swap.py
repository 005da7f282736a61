"""Gives functions of this process the code that they have with a change."""

import functools
import gc
import types
from collections import defaultdict
from typing import Any

from tools.mutate.change import Change


@functools.cache
def find_functions() -> tuple[dict[str, list[types.FunctionType]], list[Any]]:
    """Return the functions that there are, by their files, and the caches of the harness."""
    functions: dict[str, list[types.FunctionType]] = defaultdict(list)
    gc.unfreeze()
    held = gc.get_objects()
    for function in held:
        if isinstance(function, types.FunctionType):
            functions[function.__code__.co_filename].append(function)
    caches = [cache for cache in held if isinstance(cache, functools._lru_cache_wrapper)]
    gc.freeze()  # a fork shares what is not visited again
    return functions, [cache for cache in caches if cache.__module__.startswith("harness")]


def swap(change: Change) -> bool:
    """Give each function that a change is in its new code, in this process; return whether that is possible."""
    whole = change.file.read_text(encoding="utf-8")
    path = str(change.file.resolve())
    old, new = [codes_of(compile(text, path, "exec", dont_inherit=True)) for text in (whole, change.apply(whole))]
    functions = find_functions()[0][path]
    for function in functions:
        code = function.__code__
        try:
            function.__code__ = new[code.co_qualname][old[code.co_qualname].index(code)]
        except (LookupError, ValueError):  # it uses other names of the function around it
            return False
    return bool(functions)


def codes_of(code: types.CodeType) -> dict[str, list[types.CodeType]]:
    """Return the code of all functions, by their names in full."""
    found: dict[str, list[types.CodeType]] = {code.co_qualname: [code]}
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            for name, codes in codes_of(part).items():
                found.setdefault(name, []).extend(codes)
    return found
