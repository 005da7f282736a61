"""How much a server keeps, so that it can run for days: of each kind the oldest goes first."""

from __future__ import annotations

from collections.abc import Mapping, MutableSequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
_SPARE = 16
"""What is full loses this part of it at once, since each time costs a walk over what was dropped before."""


@dataclass(frozen=True, slots=True)
class Limits:
    """At most this many `exchanges` in the journal of a World, `responses` in its store, and `worlds`; None: all."""

    exchanges: int | None = None
    responses: int | None = None
    worlds: int | None = None


UNLIMITED = Limits()


def drop_oldest(kept: MutableSequence[T], most: int | None) -> None:
    """Drop the first of a list that has more than `most`."""
    if most is not None and len(kept) > most:
        del kept[: len(kept) - most + most // _SPARE]


def oldest_beyond(table: Mapping[str, object], most: int | None) -> list[str]:
    """The keys of the first entries of a table that has more than `most`: those that have to go."""
    if most is None or len(table) <= most:
        return []
    return list(islice(table, len(table) - most + most // _SPARE))
