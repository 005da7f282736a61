"""When each event of a recorded stream arrived."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from harness.cassettes.format.interaction import Chunk

_FRAME_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_DATA = re.compile(rb"(?:^|[\r\n])data:")


def find_event_times(chunks: Sequence[Chunk]) -> tuple[float, ...]:
    """Find how many seconds after the first data each event of a stream was whole; empty where no times were recorded."""
    if len(chunks) < 2 or chunks[0][0] == chunks[-1][0]:
        return ()
    body, ends = b"".join(data for _, data in chunks), list(accumulate(len(data) for _, data in chunks))
    times, start = [], 0
    for end in [*(match.end() for match in _FRAME_END.finditer(body)), len(body)]:
        if _DATA.search(body, start, end):
            times.append(chunks[bisect_left(ends, end)][0] - chunks[0][0])
        start = end
    return tuple(times)
