"""A Redis server for all tests here, and servers that share a prefix of it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
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


UNLOOKING = "from responses_harness_cluster import replicas; replicas.LOOK_SECONDS = 3600"
"""Lets a server notice what the store has lost by the requests of clients alone, not by looking there each second."""


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a server that ends with the test."""
    with ExitStack() as until_the_end:
        yield lambda *options, **how: until_the_end.enter_context(serving(*options, **how))


@pytest.fixture
def start_unlooking(start: Start) -> Start:
    """Starts a server that notices a loss only with the next request."""
    return partial(start, patch=UNLOOKING)
