"""Python's garbage collector while nothing that is made can be garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Iterator[None]:
    """Collect no garbage in a `with` block, such as one that only imports or parses.

    Beside the objects of a large library each collection takes tens of milliseconds.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
