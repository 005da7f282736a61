"""`python -m bench.recording`: how recording delays the first byte for the client, and whether it preserves chunks.

Every round asks the same API three times: directly, recorded in process, and through `responses-harness record`. The
API, the recorder and the client are separate processes. A ratio compares two times of the same round.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

import httpx2

from bench import slow
from bench.servers import Server, free_port, serving
from harness.cassettes.recording.vcr import use_cassette
from harness.cassettes.recording.writer import read_cassette

WAITS = (0, 10, 50, 200)
"""The times in milliseconds that the API takes until its first byte."""
ROUNDS, REQUESTS = 9, 5
HEAD = ("the API takes", "directly", "in process", "through the proxy", "chunks in process", "through the proxy")


class Heard(NamedTuple):
    """The seconds until the first byte, and the number of chunks."""

    first: float
    chunks: int


def ask(client: httpx2.Client, port: int) -> Heard:
    """Send one request and read its answer to the end."""
    begun = time.perf_counter()
    body = {"model": "gpt-4.1", "input": "hi", "stream": True}
    with client.stream("POST", f"http://127.0.0.1:{port}/v1/responses", json=body) as answer:
        chunks = answer.iter_raw()
        next(chunks)
        first = time.perf_counter() - begun
        return Heard(first, 1 + sum(1 for _ in chunks))


def asked(port: int) -> Heard:
    """Send some requests over an open connection; return the median time and the minimum number of chunks."""
    with httpx2.Client() as client:
        ask(client, port)
        several = [ask(client, port) for _ in range(REQUESTS)]
    return Heard(median(sample.first for sample in several), min(sample.chunks for sample in several))


def taped(port: int, folder: Path) -> Heard:
    """Do the same, recorded in process; the chunks are counted in the cassette."""
    file = folder / "it.yaml"
    with use_cassette(file, "all"):
        heard = asked(port)
    return Heard(heard.first, min(len(take.chunks) for take in read_cassette(file).interactions))


@contextmanager
def recorder(upstream: Server, folder: Path) -> Iterator[Server]:
    port = free_port()
    command = [sys.executable, "-m", "harness", "record", "--upstream", f"http://127.0.0.1:{upstream.port}/v1"]
    listen = ["--listen", f"127.0.0.1:{port}", "--into", str(folder / "proxy.yaml")]
    with serving("responses-harness record", [*command, *listen], port) as running:
        yield running


def row(wait: int, folder: Path) -> tuple[str, ...]:
    port = free_port()
    with ExitStack() as held:
        api = held.enter_context(serving("slow", [sys.executable, "-m", "bench.slow", str(port), str(wait)], port))
        proxy = held.enter_context(recorder(api, folder))
        rounds = [(asked(api.port), taped(api.port, folder), asked(proxy.port)) for _ in range(ROUNDS)]
    plain, inside, passed = zip(*rounds, strict=True)
    times = [
        median(sample.first / alone.first for sample, alone in zip(samples, plain, strict=True))
        for samples in (inside, passed)
    ]
    kept = [f"{min(sample.chunks for sample in samples)} of {slow.CHUNKS}" for samples in (inside, passed)]
    return (
        f"{wait} ms",
        f"{median(sample.first for sample in plain) * 1e3:.1f} ms",
        *(f"{time:.2f} ×" for time in times),
        *kept,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        for cells in (HEAD, ("---",) * len(HEAD), *(row(wait, Path(name)) for wait in WAITS)):
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
