"""The padding of text deltas (`obfuscation`): noise that follows from the item's id, so that it is the same in every run.

A delta is padded to a multiple of 16 characters. Its noise begins at a place that its item and its number decide.
"""

from __future__ import annotations

from hashlib import blake2b
from zlib import crc32

from harness.core.ids import ALPHANUMERIC_TABLE

WIDTH = 16
STARTS = 16
STEP = 61
PLACES = 4096
NOISE = b"".join(blake2b(b"%d" % n).digest() for n in range(PLACES // 64 + 1)).translate(ALPHANUMERIC_TABLE).decode()
"""The noise of all PLACES, and of WIDTH more, so that a padding may begin at the last one."""


def find_start(id: str) -> int:
    """Find the place at which the noise of the item with this id begins, one of STARTS."""
    return crc32(id.encode()) % STARTS * (PLACES // STARTS)


def make_padding(start: int, number: int, piece: str) -> str:
    """Make the padding of a piece of text in the event with this number; the noise of its item begins at `start`."""
    return cut_noise(start, number, -len(piece) % WIDTH)


def cut_noise(start: int, number: int, length: int) -> str:
    """Cut so much noise out for the event with this number."""
    place = (start + STEP * number) % PLACES
    return NOISE[place : place + length]
