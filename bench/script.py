"""What our server says in the benchmark: `python -m harness serve --script bench/script.py`."""

from collections.abc import Iterator
from typing import Any

from bench.sample import TEXT
from harness.items import message

SAID = message(TEXT)


def script(_request: object) -> Iterator[Any]:
    while True:
        yield SAID
