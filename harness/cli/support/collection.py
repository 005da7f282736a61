"""The garbage collector of a process that serves the mock."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

COLLECTION_THRESHOLDS = (50_000, 5, 500)
"""New objects before a collection of the youngest generation, and how many of these before one of the next, and the next."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage seldom for the time of a `with` block, and what exists already not at all.

    What a World stores only grows, and is no garbage: the whole of it is looked at seldom, and a part of it is small, as no
    client is served meanwhile.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*COLLECTION_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
