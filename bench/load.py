"""Generates load: keep-alive connections in a separate process, each of which sends a request when it has its answer.

    python -m bench.load PORT KIND SECONDS CONNECTIONS KEYS

prints a `Load` as JSON. An answer other than 200, or a closed connection, ends it with exit code 1.
"""

import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import httptools

from bench.wire import numbered, request_bytes

WARM_UP = 0.3
"""The number of seconds before counting starts."""


@dataclass(frozen=True)
class Load:
    """The answers per second, the share of a core that the client used, and all answers including the warm-up."""

    rate: float
    client_cpu: float
    answers: int


class Tally:
    def __init__(self, failed: asyncio.Future[str]) -> None:
        self.done = 0
        self.failed = failed

    def fail(self, why: str) -> None:
        if not self.failed.done():
            self.failed.set_result(why)


class Connection(asyncio.Protocol):
    """One connection; httptools finds the end of an answer, whether by length or by chunks."""

    def __init__(self, wires: Iterator[bytes], tally: Tally) -> None:
        self.wires = wires
        self.tally = tally
        self.parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(next(self.wires))

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        if (status := self.parser.get_status_code()) != 200:
            self.tally.fail(f"an answer is {status}")
        else:
            self.tally.done += 1
            self.transport.write(next(self.wires))

    def connection_lost(self, exc: Exception | None) -> None:
        self.tally.fail(f"the server closed a connection: {exc}")


async def run(port: int, kind: str, seconds: float, connections: int, keys: int) -> Load:
    loop = asyncio.get_running_loop()
    tally = Tally(loop.create_future())
    wires = [numbered(request_bytes(port, kind, number)) for number in range(keys)]
    for number in range(connections):
        await loop.create_connection(partial(Connection, wires[number % keys], tally), "127.0.0.1", port)
    await asyncio.wait([tally.failed], timeout=WARM_UP)
    done, cpu, wall = tally.done, time.process_time(), time.perf_counter()
    await asyncio.wait([tally.failed], timeout=seconds)
    took = time.perf_counter() - wall
    if tally.failed.done():
        raise SystemExit(f"port {port}, {kind}: {tally.failed.result()}")
    return Load((tally.done - done) / took, (time.process_time() - cpu) / took, tally.done)


def measure(port: int, kind: str, seconds: float, connections: int, keys: int = 1) -> Load:
    """Run one round in a child process, its connections sharing `keys` API keys. RuntimeError if it fails."""
    command = [sys.executable, "-m", "bench.load", str(port), kind, str(seconds), str(connections), str(keys)]
    child = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 20, check=False)
    if child.returncode:
        raise RuntimeError(child.stderr.strip())
    return Load(**json.loads(child.stdout))


def main() -> None:
    port, kind, seconds, connections, keys = sys.argv[1:]
    gc.disable()
    try:
        from uvloop import new_event_loop
    except ImportError:
        new_event_loop = asyncio.new_event_loop  # type: ignore[assignment]
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        load = runner.run(run(int(port), kind, float(seconds), int(connections), int(keys)))
    print(json.dumps(asdict(load)))


if __name__ == "__main__":
    main()
