"""The padding of text deltas (`obfuscation`): noise that follows from the item's id, so that it is the same in every run.

A delta is padded to a multiple of 16 characters. Its noise begins at a place that its item and its number decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from struct import Struct
from zlib import crc32

from harness.core.ids import ALPHANUMERIC_TABLE

WIDTH = 16
STARTS = 16
_STEP = 61
_PLACES = 4096
_NOISE = b"".join(blake2b(b"%d" % n).digest() for n in range(_PLACES // 64 + 1)).translate(ALPHANUMERIC_TABLE)
_IN_ORDER = b"".join(_NOISE[(at := _STEP * n % _PLACES) : at + WIDTH] for n in range(2 * _PLACES))
"""The noise of deltas that follow each other, WIDTH bytes each; twice all places, so that a run may begin at any."""
_INVERSE = pow(_STEP, -1, _PLACES)


class PaddingPlan:
    """The paddings of an item's deltas, whatever its id: `lengths` by the numbers of the events, from `first` on.

    An event that is no delta has None.
    """

    __slots__ = ("_runs",)

    def __init__(self, first: int, lengths: Sequence[int | None]) -> None:
        self._runs = [
            (first + start, Struct("".join(map(_field, lengths[start : start + _PLACES]))))
            for start in range(0, len(lengths), _PLACES)
        ]

    def paddings(self, start: int) -> Iterator[bytes]:
        """The padding of each delta, in order, of an item whose noise begins at a place (see `find_start`)."""
        for first, fields in self._runs:
            yield from fields.unpack_from(_IN_ORDER, (start * _INVERSE + first) % _PLACES * WIDTH)


def find_start(id: str) -> int:
    """The place of the noise at which that of the item with this id begins, one of STARTS."""
    return crc32(id.encode()) % STARTS * (_PLACES // STARTS)


def padding_length(piece: str) -> int:
    """How many characters a piece of text lacks to a multiple of WIDTH."""
    return -len(piece) % WIDTH


def _field(length: int | None) -> str:
    """A field of a struct: so much of the WIDTH bytes of an event."""
    return f"{WIDTH}x" if length is None else f"{length}s{WIDTH - length}x"
