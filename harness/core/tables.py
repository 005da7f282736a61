"""Tables that a package keeps in every World for its own objects; the World's store knows only their names."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from harness.core.registry import Registry

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TableKind(Generic[T]):
    """A table by name."""

    name: str


class Tables(Protocol):
    """What has the declared tables."""

    def table(self, kind: TableKind[T]) -> MutableMapping[str, T]:
        """Return the table of a kind."""


TABLES: Registry[TableKind[Any]] = Registry("table")
"""All declared tables by name."""
BOUNDED_TABLES: list[str] = []
"""The names of those that keep only their newest entries where responses are limited."""


def declare_table(name: str, *, is_bounded: bool = False) -> TableKind[Any]:
    """Declare a table that every World has."""
    if is_bounded:
        BOUNDED_TABLES.append(name)
    return TABLES.add(name, TableKind(name))
