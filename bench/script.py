"""What our server says in the benchmark: `python -m harness serve --script bench/script.py`."""

from collections.abc import Iterator
from typing import Any

from bench.sample import TEXT
from harness.items import message


def forever(_request: object) -> Iterator[Any]:
    while True:
        yield message(TEXT)


script = forever  # the place to adapt: it must answer any number of requests with the same message
