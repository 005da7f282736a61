"""How much is kept, and for how long, unless an option says otherwise: of each kind the oldest goes first."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, MutableMapping, MutableSequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
_SPARE = 64
"""What is full loses this part of it at once. Each time costs a walk over what was dropped before; but the memory of a few
objects is still near when the next request takes it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """At most this many `exchanges` in the journal of a World, `responses` in its store, and `worlds`; None: all."""

    exchanges: int | None = None
    responses: int | None = None
    worlds: int | None = None


UNLIMITED = Limits()
SERVER_LIMITS = Limits(1_000, 10_000, 10_000)
"""What a server keeps that is not told otherwise."""
STORED_SECONDS = 24 * 60 * 60
"""How long a store that servers share keeps a World that nobody uses, unless it is told otherwise."""
STALE_DAYS = 90
"""Days after which a recording is stale, unless a command is told otherwise."""


def drop_oldest(kept: MutableSequence[T], most: int | None) -> None:
    """Drop the first of a list that has more than `most`."""
    if most is not None and len(kept) > most:
        del kept[: len(kept) - most + most // _SPARE]


def drop_before(kept: MutableMapping[int, T], number: int) -> None:
    """Drop the entries of a table with lower numbers; those stand first."""
    for old in [*takewhile(number.__gt__, kept)]:
        del kept[old]


def oldest_beyond(table: Mapping[K, object], most: int | None) -> list[K]:
    """Return the keys of the oldest entries beyond `most`, which are to be dropped."""
    if most is None or len(table) <= most:
        return []
    return list(islice(table, len(table) - most + most // _SPARE))
