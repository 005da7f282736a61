"""How long the processor works on something, so that a bound holds on a busy machine too."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class CpuTime:
    """Seconds of this thread, 0 until the block has ended."""

    seconds: float = 0.0


@contextmanager
def cpu_time() -> Iterator[CpuTime]:
    """Measure this thread alone, with the garbage collector at rest.

    A full collection of a process that ran thousands of tests takes a second, and belongs to none of them.
    """
    spent, was_on = CpuTime(), gc.isenabled()
    gc.disable()
    began = time.thread_time()
    try:
        yield spent
    finally:
        spent.seconds = time.thread_time() - began
        if was_on:
            gc.enable()
