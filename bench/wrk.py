"""Generates the same load with `wrk` (a Debian package), an independent client; skipped if it is not installed."""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from bench.load import Load
from bench.wire import BODIES, HEADERS, NUMBER, PATH, unused_number


def is_there() -> bool:
    return shutil.which("wrk") is not None


def script(kind: str) -> str:
    """Return the request as a Lua script for wrk."""
    # JSON strings are valid in Lua, too.
    headers = "".join(f"wrk.headers[{json.dumps(name)}] = {json.dumps(value)}\n" for name, value in HEADERS.items())
    body = BODIES[kind].decode()
    before, number, after = map(json.dumps, body.partition(NUMBER.decode()))
    numbering = (
        f"count = {unused_number()}\n"
        "function request()\n"
        "  count = count + 1\n"
        f'  return wrk.format(nil, nil, nil, {before} .. string.format("%012d", count) .. {after})\n'
        "end\n"
    )
    body_line = f"wrk.body = {json.dumps(body)}\n"
    return f'wrk.method = "POST"\n{headers}{numbering if json.loads(number) else body_line}'


def measure(port: int, kind: str, seconds: float, connections: int) -> Load:
    """Run one round of wrk in one thread, for whole seconds. RuntimeError unless all answers succeed."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as lua:
        Path(lua.name).write_text(script(kind))
        whole = max(1, round(seconds))
        command = ["wrk", "-t1", f"-c{connections}", f"-d{whole}s", "-s", lua.name, f"http://127.0.0.1:{port}{PATH}"]
        cpu, begun = _children_cpu(), time.perf_counter()
        said = subprocess.run(command, capture_output=True, text=True, timeout=whole + 20, check=False)
        took = time.perf_counter() - begun
    rate, count = (re.search(pattern, said.stdout) for pattern in (r"Requests/sec:\s+([\d.]+)", r"(\d+) requests in"))
    if said.returncode or not rate or not count or "Non-2xx" in said.stdout or "Socket errors" in said.stdout:
        raise RuntimeError(f"wrk, port {port}, {kind}: {said.stdout}{said.stderr}")
    return Load(float(rate[1]), (_children_cpu() - cpu) / took, int(count[1]))


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
