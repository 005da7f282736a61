"""Optimizations only: without this package every answer is the same. HARNESS_FAST_PATH=0 switches it off."""

from __future__ import annotations

import os
from functools import cache


@cache
def is_enabled() -> bool:
    """Return whether the fast path is on; the environment decides when the process starts."""
    return os.environ.get("HARNESS_FAST_PATH") != "0"
