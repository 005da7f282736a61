"""Default limits on how much is kept, and for how long; the oldest entries are dropped first."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, MutableMapping, MutableSequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
_SPARE = 64
"""The part of a full collection that is dropped at once, as a fraction 1/64.

Each drop costs a walk over what was dropped before; but the memory of only a few objects is still in the CPU's cache
when the next request reuses it.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most `exchanges` in a World's journal, `responses` in its store, and `worlds`; None is unlimited."""

    exchanges: int | None = None
    responses: int | None = None
    worlds: int | None = None


UNLIMITED = Limits()
SERVER_LIMITS = Limits(1_000, 10_000, 10_000)
"""The default limits of a server."""
STORED_SECONDS = 24 * 60 * 60
"""Default seconds that a store shared by servers keeps an unused World."""
STALE_DAYS = 90
"""Default age in days at which a recording is stale."""


def drop_oldest(kept: MutableSequence[T], most: int | None) -> None:
    """Drop the first elements of a list longer than `most`."""
    if most is not None and len(kept) > most:
        del kept[: len(kept) - most + most // _SPARE]


def drop_before(kept: MutableMapping[int, T], number: int) -> None:
    """Drop the entries with numbers below `number`; these come first in the table."""
    for old in [*takewhile(number.__gt__, kept)]:
        del kept[old]


def oldest_beyond(table: Mapping[K, object], most: int | None) -> list[K]:
    """Return the keys of the oldest entries beyond `most`, which are to be dropped."""
    if most is None or len(table) <= most:
        return []
    return list(islice(table, len(table) - most + most // _SPARE))
