"""Bytes with a few things changed at random, from inputs and words that a parser knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from tests.fuzz.parsers.targets import LARGEST, Parser

ODD = (b"", b"\0", b"\xff", b"\n", b"\r\n", b"\\", b'"', b"'", b"{", b"}", b"[", b"]", b":", b",", b"9" * 30, b" " * 99)


def mutated_inputs(parser: Parser, count: int, seed: str) -> Iterator[bytes]:
    """So many inputs, one to four things changed in each."""
    chance, seeds, words = Random(seed), parser.seeds(), (*ODD, *parser.words)
    for _ in range(count):
        data = chance.choice(seeds)
        for _ in range(chance.randint(1, 4)):
            data = _change(data, chance, seeds, words)[:LARGEST]
        yield data


def _change(data: bytes, chance: Random, seeds: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    start = chance.randint(0, len(data))
    end = min(len(data), start + chance.choice((0, 0, 1, 1, 5, 50, len(data))))
    other = chance.choice(seeds)
    put = chance.choice(
        (
            chance.choice(words),
            chance.choice(words),
            data[start:end] * 2,
            data[start:end] * chance.choice((9, 99)),
            bytes([chance.randrange(256)]),
            other[chance.randint(0, len(other)) :][: chance.choice((3, 30, 300))],
        )
    )
    return data[:start] + put + data[end:]
