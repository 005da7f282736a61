"""Suspends Python's garbage collector while nothing collectable is created."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collection() -> Iterator[None]:
    """Suspend garbage collection within a `with` block, such as one that only imports or parses.

    With the objects of a large library in memory, each collection takes tens of milliseconds.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
