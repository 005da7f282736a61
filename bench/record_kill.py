"""`python -m bench.record_kill`: what `responses-harness record` loses when it is killed, and how soon it ends on SIGTERM.

Clients ask an API for answers of some size through a recorder, ten times a second or as fast as they can. After some
seconds the recorder gets a signal. After SIGKILL another recorder starts in the same folder; then the exchanges of all
cassettes there are counted.
"""

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx2

from bench.servers import free_port

SIZES = (100, 6_000, 20_000)
RATES = (10, 0)
"""Requests per second; 0 is as many as possible."""
SECONDS = 20.0
CLIENTS = 4
HEAD = ("body", "requests/s", "signal", "answers", "in the cassette", "seconds to end")
COUNT = "- request:"
WORDS = "the a of weather in Paris is warm today and tomorrow it will rain over all of France with some wind".split()  # noqa: SIM905


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int) -> None:
    """Answer each request of a connection with a response whose text has this size."""
    chance = random.Random(id(writer))
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            sent = re.search(rb"content-length: *([0-9]+)", head, re.I)
            await reader.readexactly(int(sent[1]) if sent else 0)
            text = " ".join(chance.choices(WORDS, k=size // 4))[:size]
            content = [{"type": "output_text", "text": text, "annotations": []}]
            item = {
                "id": f"msg_{chance.randbytes(24).hex()}",
                "type": "message",
                "role": "assistant",
                "content": content,
            }
            response = {"id": f"resp_{chance.randbytes(24).hex()}", "object": "response", "output": [item]}
            body = json.dumps(response).encode()
            cookie = f"set-cookie: __cf_bm={chance.randbytes(20).hex()}; path=/"
            lines = (
                "HTTP/1.1 200 OK",
                "content-type: application/json",
                cookie,
                f"content-length: {len(body)}",
                "",
                "",
            )
            writer.write("\r\n".join(lines).encode() + body)


@contextmanager
def api(size: int) -> Iterator[str]:
    """Provide an API in a thread; each of its answers sets another cookie."""
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(lambda *pair: answer(*pair, size), "127.0.0.1", 0))
    threading.Thread(target=loop.run_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    loop.call_soon_threadsafe(loop.stop)


@contextmanager
def recorder(upstream: str, folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "harness", "record", "--upstream", upstream, "--into", str(folder)]
    environment = {**os.environ, "OPENAI_API_KEY": "sk-bench-AbCd1234EfGh5678"}
    with subprocess.Popen(
        [*command, "--listen", f"127.0.0.1:{port}"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as child:
        yield child
        child.kill()


def ask(url: str, rate: float, until: float, answered: list[float]) -> None:
    """Ask until this time, or until the recorder has ended."""
    headers = {"authorization": "Bearer sk-bench-AbCd1234EfGh5678"}
    with httpx2.Client(headers=headers) as client, suppress(httpx2.HTTPError):
        while (now := time.monotonic()) < until:
            client.post(url, json={"model": "gpt-4.1", "input": "What is the weather?"}).raise_for_status()
            answered.append(time.monotonic())
            if rate:
                time.sleep(max(0.0, now + CLIENTS / rate - time.monotonic()))


def count(folder: Path) -> int:
    return sum(line.startswith(COUNT) for file in folder.glob("*.yaml") for line in file.open())


def is_listening(port: int) -> bool:
    with suppress(httpx2.HTTPError):
        return httpx2.get(f"http://127.0.0.1:{port}/v1/models").status_code > 0
    return False


def row(size: int, rate: int, number: signal.Signals, seconds: float) -> tuple[str, ...]:
    answered: list[float] = []
    with ExitStack() as held:
        folder, port = Path(held.enter_context(tempfile.TemporaryDirectory())), free_port()
        upstream = held.enter_context(api(size))
        child = held.enter_context(recorder(upstream, folder, port))
        while not is_listening(port):
            time.sleep(0.05)
        until = time.monotonic() + seconds
        url = f"http://127.0.0.1:{port}/v1/responses"
        clients = [threading.Thread(target=ask, args=(url, rate, until + 5, answered)) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(until - time.monotonic())
        began = time.monotonic()
        child.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            child.wait(150)
        ended, lasted = child.returncode is not None, time.monotonic() - began
        child.kill()
        for client in clients:
            client.join()
        if number == signal.SIGKILL:
            with recorder(upstream, folder, again := free_port()) as second:
                while not is_listening(again):
                    time.sleep(0.05)
                second.kill()
        recorded = count(folder) - 1  # the request of `is_listening`
    told = f"{lasted:.1f}" if ended else f"not within {lasted:.0f}"
    return (f"{size:,} B", str(rate or "all"), number.name, f"{len(answered):,}", f"{max(0, recorded):,}", told)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}", flush=True)
    for size in SIZES:
        for rate in RATES:
            for number in (signal.SIGKILL, signal.SIGTERM):
                print(f"| {' | '.join(row(size, rate, number, seconds))} |", flush=True)


if __name__ == "__main__":
    main()
