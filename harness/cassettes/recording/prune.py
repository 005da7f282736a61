"""Removes the exchanges of a cassette that nothing replays any more."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from harness.cassettes.format.interaction import CassetteHeader
from harness.cassettes.format.serializer import dump_cassette
from harness.cassettes.recording.writer import lock_cassette, read_cassette, replace_file


def count_unused(path: Path, used: Collection[int]) -> int:
    """How many exchanges over HTTP have none of these numbers, from 0."""
    plain = [interaction for interaction in read_cassette(path).interactions if not interaction.frames]
    return sum(number not in used for number in range(len(plain)))


def prune_cassette(path: Path, used: Collection[int]) -> int:
    """Remove all exchanges over HTTP but those with these numbers, from 0, and return how many; WebSockets stay."""
    with lock_cassette(path):
        content = read_cassette(path)
        plain = [interaction for interaction in content.interactions if not interaction.frames]
        sockets = [interaction for interaction in content.interactions if interaction.frames]
        kept = [interaction for number, interaction in enumerate(plain) if number in used]
        if len(kept) < len(plain):
            replace_file(path, dump_cassette(content.header or CassetteHeader(), [*kept, *sockets]))
        return len(plain) - len(kept)
