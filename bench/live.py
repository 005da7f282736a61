"""`python -m bench.live`: what a follower of its events costs a server.

Measures the CPU time per answer at 1,000 requests a second, with and without a follower.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from statistics import median
from time import perf_counter

BODY = b'{"model":"gpt-4.1","input":"hi"}'
HEAD = (
    b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sk-live\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY)
)
FOLLOW = b"GET /_harness/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
SCRIPT = "script: [ {message: hello there} ]\nrepeat: true\n"
CONNECTIONS, PER_SECOND, SECONDS, ROUNDS = 8, 1000, 8, 5


def cpu_seconds(pid: int) -> float:
    """Read the CPU time that a process has used."""
    numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


async def ask(port: int) -> int:
    """Send requests over one connection at its share of the rate; return their number."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begun, asked = perf_counter(), 0
    while perf_counter() - begun < SECONDS:
        writer.write(HEAD + BODY)
        length = re.search(rb"content-length: (\d+)", await reader.readuntil(b"\r\n\r\n"))
        assert length
        await reader.readexactly(int(length[1]))
        asked += 1
        await asyncio.sleep(max(0.0, begun + asked * CONNECTIONS / PER_SECOND - perf_counter()))
    writer.close()
    return asked


@asynccontextmanager
async def following(port: int) -> AsyncIterator[None]:
    """Follow the server's events during a `with` block."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(FOLLOW)

    async def drain() -> None:
        while await reader.read(65536):
            pass

    drained = asyncio.ensure_future(drain())
    try:
        yield
    finally:
        drained.cancel()
        writer.close()
        with suppress(asyncio.CancelledError):
            await drained


async def measure(pid: int, port: int) -> tuple[float, float]:
    """Return the CPU time per answer in µs, and the answers per second."""
    before = cpu_seconds(pid)
    asked = sum(await asyncio.gather(*(ask(port) for _ in range(CONNECTIONS))))
    return (cpu_seconds(pid) - before) / asked * 1e6, asked / SECONDS


async def compare(pid: int, port: int) -> None:
    """Measure with and without a follower in turns, and print the medians."""
    await measure(pid, port)
    alone, followed = [], []
    for _ in range(ROUNDS):
        alone.append(await measure(pid, port))
        async with following(port):
            followed.append(await measure(pid, port))
    for name, rows in (("alone", alone), ("followed", followed)):
        cpu, rate = (median(column) for column in zip(*rows, strict=True))
        print(f"{name:<9} {rate:,.0f}/s  {cpu:.0f} µs CPU per answer")


def main() -> None:
    """Start a server, compare, and stop it."""
    with tempfile.TemporaryDirectory() as folder:
        (script := Path(folder, "script.yaml")).write_text(SCRIPT)
        command = [sys.executable, "-m", "harness", "serve", "--port", "0", "--script", str(script)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            found = re.search(r":(\d+)", server.stdout.readline())
            assert found
            try:
                asyncio.run(compare(server.pid, int(found[1])))
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
