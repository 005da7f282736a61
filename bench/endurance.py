"""`python -m bench.endurance`: how long `responses-harness serve` takes to stop, and how much memory it keeps after uploads.

Each stop uses a new server and is measured from the signal to the end of the process. Memory is the process's VmRSS and
VmHWM on Linux.
"""

from __future__ import annotations

import json
import signal
import socket
import tempfile
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.servers.live_server import request_head
from tests.support.servers.served import Served, read_until, serving

UPLOADS, MEGABYTES = 12, 20
SCRIPT = """
from harness.faults import pause
from harness.items import message
def script(request):
    return pause(message("Once upon a time"), after=3, until="never")
"""
STREAM = json.dumps({"model": "gpt-4.1", "input": "hi", "stream": True}).encode()
AUTH = {"authorization": "Bearer sk-endurance"}


def paused_stream(served: Served) -> socket.socket:
    wire = served.say(request_head(STREAM) + STREAM)
    read_until(wire, b"response.output_item.added")
    return wire


def half_sent_body(served: Served) -> socket.socket:
    wire = served.say(request_head(STREAM).replace(b"Connection: close", b"Expect: 100-continue"))
    read_until(wire, b"\r\n\r\n")
    wire.sendall(STREAM[:-5])
    return wire


def upgrade_by_post(served: Served) -> socket.socket:
    """Send a POST that asks for a WebSocket, whose stream is paused like any other."""
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket"
    wire = served.say(request_head(STREAM).replace(b"Connection: close", upgrade) + STREAM)
    read_until(wire, b"response.output_item.added")
    return wire


LEFT: Mapping[str, Callable[[Served], socket.socket]] = {
    "a paused stream": paused_stream,
    "a half-sent body": half_sent_body,
    "a POST with Upgrade, paused": upgrade_by_post,
    "half a head": lambda served: served.say(b"POST /v1/responses HTTP/1.1\r\nHost: x\r\n"),
}
SIGNALS = {"one signal": [signal.SIGTERM], "two signals": [signal.SIGTERM, signal.SIGINT]}


def measure_stop(script: Path, leave: Callable[[Served], socket.socket], signals: list[signal.Signals]) -> str:
    with serving("--script", str(script)) as served, leave(served):
        seconds, code, errors = served.end(*signals)
    return f"{seconds:5.2f} s  exit {code}  {errors.strip()!r}"


def resident_megabytes(served: Served, name: str) -> int:
    lines = Path(f"/proc/{served.child.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) >> 10


def call(served: Served, method: str, path: str, body: bytes = b"", kind: str = "") -> None:
    headers = {**AUTH, **({"content-type": kind} if kind else {})}
    asked = urllib.request.Request(f"http://127.0.0.1:{served.port}{path}", body or None, headers, method=method)
    urllib.request.urlopen(asked).read()


def upload(served: Served) -> None:
    head = b'--x\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--x\r\n'
    file = b'content-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
    body = head + file + b"x" * (MEGABYTES << 20) + b"\r\n--x--\r\n"
    call(served, "POST", "/v1/files", body, "multipart/form-data; boundary=x")


def measure_memory() -> None:
    """Upload and forget, UPLOADS times; print the memory that is left and the maximum."""
    with serving() as served:
        call(served, "GET", "/_harness/health")
        before = resident_megabytes(served, "VmRSS")
        for _ in range(UPLOADS):
            upload(served)
            call(served, "DELETE", "/_harness/world")
        after, most = resident_megabytes(served, "VmRSS"), resident_megabytes(served, "VmHWM")
    print(f"{UPLOADS} × {MEGABYTES} MiB uploaded, each World forgotten: {before} → {after} MiB, at most {most} MiB")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (script := Path(folder, "script.py")).write_text(SCRIPT)
        for left, leave in LEFT.items():
            for sent, signals in SIGNALS.items():
                print(f"{left:28} {sent:12} {measure_stop(script, leave, signals)}", flush=True)
    measure_memory()


if __name__ == "__main__":
    main()
