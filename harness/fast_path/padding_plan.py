"""The paddings of all deltas of an item at once: `harness.answers.padding` makes the same, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct

from harness.answers.padding import NOISE, PLACES, STEP, WIDTH

_BYTES = NOISE.encode()
_IN_ORDER = b"".join(_BYTES[(start := STEP * n % PLACES) : start + WIDTH] for n in range(2 * PLACES))
"""The noise of deltas that follow each other, WIDTH bytes each; twice all places, so that a run may begin at any."""
_INVERSE = pow(STEP, -1, PLACES)


class PaddingPlan:
    """The paddings of an item's deltas, whatever its id: `lengths` by the numbers of the events, from `first` on.

    An event that is no delta has None.
    """

    __slots__ = ("_runs",)

    def __init__(self, first: int, lengths: Sequence[int | None]) -> None:
        self._runs = [
            (first + start, Struct("".join(map(_field, lengths[start : start + PLACES]))))
            for start in range(0, len(lengths), PLACES)
        ]

    def paddings(self, start: int) -> Iterator[bytes]:
        """Cut out the padding of each delta, in order; the noise of the item begins at `start`."""
        for first, fields in self._runs:
            yield from fields.unpack_from(_IN_ORDER, (start * _INVERSE + first) % PLACES * WIDTH)


def _field(length: int | None) -> str:
    """Make the field of a struct that takes so much of the WIDTH bytes of an event."""
    return f"{WIDTH}x" if length is None else f"{length}s{WIDTH - length}x"
