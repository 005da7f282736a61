"""A Redis server for all tests here, and servers that share a prefix of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count

import pytest

from tests.support.servers.redis_server import serving_redis
from tests.support.servers.served import Served, serving

Start = Callable[..., Served]


@pytest.fixture(scope="session")
def redis_port() -> Iterator[int]:
    with serving_redis() as port:
        yield port


_PREFIXES = count(1)


@pytest.fixture
def store(redis_port: int) -> tuple[str, ...]:
    """The options of servers that share a prefix of their own."""
    return ("--store", f"redis://127.0.0.1:{redis_port}/0", "--store-prefix", f"t{next(_PREFIXES)}")


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a server that ends with the test."""
    with ExitStack() as until_the_end:
        yield lambda *options: until_the_end.enter_context(serving(*options))
