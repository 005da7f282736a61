"""Registering something for the time of a test."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from harness.items.kind import CALL_OF_OUTPUT, CLIENT_CALL_NAMES, INPUT_ITEMS, ITEMS


@contextmanager
def restored(*tables: dict[str, Any]) -> Iterator[None]:
    """Tables are afterwards as they were before."""
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, members in zip(tables, before, strict=True):
            table.clear()
            table.update(members)


@contextmanager
def restored_items() -> Iterator[None]:
    """Items that are declared meanwhile are forgotten."""
    with restored(ITEMS, INPUT_ITEMS, CALL_OF_OUTPUT, CLIENT_CALL_NAMES):
        yield
