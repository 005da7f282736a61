"""`python -m bench.soak [-n REQUESTS] [--worlds KEYS]`: a server's memory and rate over many requests.

It runs one `responses-harness serve` with default options, keep-alive connections, and requests in batches of 32 per
connection, and prints a line for each tenth. With `--worlds` the requests use KEYS keys in turns, else one. At the end
the server takes turns with one that has just started, since the speed of a machine changes within minutes.
"""

import argparse
import socket
import statistics
import time
from pathlib import Path

from tests.support.servers.served import Served, serving

CONNECTIONS, BATCH = 4, 32
TURNS, TURN = 9, 25_600
"""The number of turns of the two servers at the end, and the number of requests per turn."""
BODY = b'{"model":"gpt-4.1","input":"hi"}'
HEAD = b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-%d\r\nContent-Type: application/json\r\n"


def request(key: int) -> bytes:
    return HEAD % key + b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


def read_answers(wire: socket.socket, count: int) -> None:
    """Read `count` complete answers, each of which must be a 200."""
    buffer = b""
    for _ in range(count):
        while (end := buffer.find(b"\r\n\r\n")) < 0:
            buffer += wire.recv(1 << 16)
        head = buffer[:end].lower()
        assert b" 200 " in head.split(b"\r\n")[0], head
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        while len(buffer) < end + 4 + length:
            buffer += wire.recv(1 << 16)
        buffer = buffer[end + 4 + length :]


def work(wires: list[socket.socket], first: int, count: int, worlds: int) -> None:
    for start in range(first, first + count, BATCH * len(wires)):
        for place, wire in enumerate(wires):
            keys = range(start + place * BATCH, start + (place + 1) * BATCH)
            wire.sendall(b"".join(request(number % worlds) for number in keys))
        for wire in wires:
            read_answers(wire, BATCH)


def connect(served: Served) -> list[socket.socket]:
    return [served.say() for _ in range(CONNECTIONS)]


def compare(aged: Served, requests: int, worlds: int) -> None:
    """Print the rate of a server after many requests, relative to one that has just started."""
    with serving() as fresh:
        servers = [(connect(aged), requests), (connect(fresh), 0)]
        work(servers[1][0], 0, TURN, worlds)
        ratios = []
        for turn in range(TURNS):
            seconds = []
            for wires, had in servers:
                begun = time.perf_counter()
                work(wires, had + (turn + 1) * TURN, TURN, worlds)
                seconds.append(time.perf_counter() - begun)
            ratios.append(seconds[1] / seconds[0])
        for wires, _ in servers:
            close(wires)
    low, mid, high = min(ratios), statistics.median(ratios), max(ratios)
    print(f"rate to that of a server that has just begun: {mid:.2f} ({low:.2f}–{high:.2f})")


def close(wires: list[socket.socket]) -> None:
    for wire in wires:
        wire.close()


def measure(served: Served, requests: int, worlds: int) -> None:
    wires = connect(served)
    print(f"{'requests':>10} {'MiB':>6} {'requests/s':>11}")
    tenth = requests // 10
    for number in range(10):
        begun = time.perf_counter()
        work(wires, number * tenth, tenth, worlds)
        rate = tenth / (time.perf_counter() - begun)
        print(f"{(number + 1) * tenth:10,} {resident_megabytes(served, 'VmRSS'):6} {rate:11,.0f}", flush=True)
    close(wires)


def resident_megabytes(served: Served, name: str) -> int:
    lines = Path(f"/proc/{served.child.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) >> 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=1_000_000, metavar="REQUESTS")
    parser.add_argument("--worlds", type=int, default=1, metavar="KEYS")
    chosen = parser.parse_args()
    with serving() as served:
        measure(served, chosen.n, chosen.worlds)
        compare(served, chosen.n, chosen.worlds)


if __name__ == "__main__":
    main()
