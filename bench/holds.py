"""`python -m bench.holds [--worlds N]`: the longest time that `responses-harness serve` serves nobody.

A probe in the server's event loop is due every millisecond; a hold is the CPU time between two of its calls, so other
processes of the machine do not count: that of the loop, and that of all threads, which includes one that does not let
the loop have its turn. It is printed for every answer of the control plane about N Worlds (one of them with a full
journal), with the longest time that a client of another World waits meanwhile, which asks for responses one after the
other; and for requests of ever new keys at 5,000 a second, with the time that their clients wait.
"""

import argparse
import asyncio
import mmap
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from statistics import quantiles

from bench.soak import close, connect, request, work
from tests.support.servers.served import Served, serving

BEAT = 0.001
JOURNAL = 1_000
PER_SECOND, SECONDS, CONNECTIONS = 5_000, 12, 16
HEAD = "GET /_harness/{} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sk-0\r\nConnection: close\r\n\r\n"
ANSWERS = (
    *("health", "worlds", "worlds", "view/run", "view/run", "view/case?id={name}", "metrics", "openapi.json", "docs"),
    *("view", "rules", "exchanges", "unused", "losses", "losses?strict=true", "flow", "said", "calls", "retries"),
    *("approvals", "agents", "usage", "cache", "path", "deliveries", "waiting", "report"),
    "report?verbose=true&client=strict",
)
"""What is asked for in turn; the first `worlds` loads the control plane, the second `view/run` finds all as it was."""


def watch(file: str) -> None:
    """Note the longest hold of this process's server in a file: CPU seconds of its loop, then of all its threads."""
    from harness.server.transport.stoppable_server import StoppableServer

    with open(file, "r+b") as opened:
        noted = mmap.mmap(opened.fileno(), 16)
    main_loop = StoppableServer.main_loop

    async def watched(self: StoppableServer) -> None:
        loop = asyncio.get_running_loop()
        own, all_threads = time.thread_time(), time.process_time()

        def beat() -> None:
            nonlocal own, all_threads
            longest = struct.unpack("dd", noted)
            own, own_before = time.thread_time(), own
            all_threads, all_before = time.process_time(), all_threads
            noted[:] = struct.pack("dd", max(longest[0], own - own_before), max(longest[1], all_threads - all_before))
            loop.call_later(BEAT, beat)

        beat()
        await main_loop(self)

    StoppableServer.main_loop = watched  # type: ignore[method-assign]


class Probe:
    """Reads what `watch` has noted in another process."""

    def __init__(self, file: Path) -> None:
        file.write_bytes(bytes(16))
        with file.open("r+b") as opened:
            self._noted = mmap.mmap(opened.fileno(), 16)

    def read(self) -> str:
        """Return the longest hold since the last call, in milliseconds."""
        time.sleep(5 * BEAT)
        own, all_threads = struct.unpack("dd", self._noted)
        self._noted[:] = bytes(16)
        return f"{own * 1e3:9.1f} {all_threads * 1e3:9.1f}"


@contextmanager
def watched(*options: str) -> Iterator[tuple[Served, Probe]]:
    """Start a server with a probe."""
    with tempfile.TemporaryDirectory() as folder:
        probe = Probe(file := Path(folder, "longest"))
        with serving(*options, patch=f"from bench.holds import watch; watch({str(file)!r})") as served:
            yield served, probe


class Waiter:
    """A client that asks for one response after the other, in a thread, and notes the longest wait."""

    def __init__(self, served: Served) -> None:
        self._wire, self._longest, self._count = served.say(), 0.0, 0
        threading.Thread(target=self._ask, daemon=True).start()

    def _ask(self) -> None:
        sent = request(1)
        while True:
            begun = time.perf_counter()
            try:
                self._wire.sendall(sent)
                self._wire.recv(1 << 16)
            except OSError:  # the server has ended
                return
            self._longest, self._count = max(self._longest, time.perf_counter() - begun), self._count + 1
            time.sleep(BEAT)

    def read(self) -> str:
        """Return the longest wait since the last call, in milliseconds, and the number of answers."""
        longest, count, self._longest, self._count = self._longest, self._count, 0.0, 0
        return f"{longest * 1e3:9.1f} {count:6}"


def ask(served: Served, path: str) -> tuple[int, float]:
    """Ask for a path; return the size of the answer, and the seconds that it took."""
    begun, size = time.perf_counter(), 0
    with served.say(HEAD.format(path).encode()) as wire:
        wire.settimeout(120)
        head = wire.recv(1 << 16)
        assert b" 200 " in head.splitlines()[0], head
        size = len(head)
        while more := wire.recv(1 << 20):
            size += len(more)
    return size, time.perf_counter() - begun


def measure_answers(worlds: int) -> None:
    """Print the longest hold during each answer of the control plane."""
    with watched("--metrics") as (served, probe):
        wires = connect(served)
        work(wires, 0, worlds, worlds)
        work(wires, 0, JOURNAL, 1)
        close(wires)
        time.sleep(2)
        probe.read()
        waiter = Waiter(served)
        name = f"key-{blake2b(b'sk-0', digest_size=6).hexdigest()}"
        print(f"{'answer':36} {'bytes':>10} {'seconds':>8} {'loop ms':>9} {'all ms':>9} {'wait ms':>9} {'waits':>6}")
        for path in ANSWERS:
            size, seconds = ask(served, path.format(name=name))
            print(f"{path:36} {size:10,} {seconds:8.2f} {probe.read()} {waiter.read()}", flush=True)


async def ask_with_new_keys(port: int, first: int, step: int) -> list[float]:
    """Send requests with keys of their own over one connection, at its share of the rate; return their seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begun, took = time.perf_counter(), []
    for number in range(PER_SECOND * SECONDS // step):
        await asyncio.sleep(max(0.0, begun + number * step / PER_SECOND - time.perf_counter()))
        sent = time.perf_counter()
        writer.write(request(first + number * step))
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
        took.append(time.perf_counter() - sent)
    writer.close()
    return took


async def measure_new_keys(served: Served) -> tuple[float, list[float]]:
    begun = time.perf_counter()
    shares = await asyncio.gather(
        *(ask_with_new_keys(served.port, 1_000_000 + number, CONNECTIONS) for number in range(CONNECTIONS))
    )
    took = [seconds for share in shares for seconds in share]
    return len(took) / (time.perf_counter() - begun), took


def print_new_keys() -> None:
    """Print the longest hold while new keys come, and the time that their clients wait."""
    with watched() as (served, probe):
        wires = connect(served)
        work(wires, 0, 1_000, 1)  # what is only done once
        close(wires)
        probe.read()
        rate, took = asyncio.run(measure_new_keys(served))
        hold = probe.read()
    ordered = quantiles(took, n=100)
    print(
        f"{rate:,.0f} new keys a second: median {ordered[49] * 1e3:.1f} ms, p99 {ordered[98] * 1e3:.1f} ms, "
        f"longest {max(took) * 1e3:.1f} ms; longest hold {hold.strip()} ms (loop, all threads)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=10_000, metavar="N")
    parser.add_argument("--only", choices=("answers", "keys"))
    chosen = parser.parse_args()
    if chosen.only != "keys":
        measure_answers(chosen.worlds)
    if chosen.only != "answers":
        print_new_keys()


if __name__ == "__main__":
    sys.exit(main())
