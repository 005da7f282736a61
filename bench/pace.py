"""`python -m bench.pace [STREAMS] [PACE]`: how exactly streams keep their pace; 1,000 at `ttft=300ms,tokens=10/s`.

All streams come from a server in a process of its own; the error is how far each delta deviates from its time after the
first delta. Prints the median, the 99th percentile, and the server's memory before and after.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from bench.endurance import resident_megabytes
from harness.faults.pace import parse_pace
from tests.support.servers.live_server import request_head
from tests.support.servers.served import serving

DELTAS, TOKENS_PER_DELTA = 40, 2
SCRIPT = f"""
from harness.items import message
def script(request):
    while True:
        yield message(["word and"] * {DELTAS})
"""
BODY = json.dumps({"model": "gpt-4.1", "input": "hi", "stream": True}).encode()


async def errors_of(port: int, due: list[float]) -> list[float]:
    """Return how far each delta of a stream deviates from its time after the first delta, in seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request_head(BODY, f"sk-{id(writer)}") + BODY)
    came = []
    for _ in due:
        await reader.readuntil(b"event: response.output_text.delta")
        came.append(time.perf_counter())
    await reader.read()
    writer.close()
    return [abs(time - came[0] - moment + due[0]) for time, moment in zip(came[1:], due[1:], strict=True)]


async def measure(port: int, streams: int, due: list[float]) -> list[float]:
    return [
        error for errors in await asyncio.gather(*(errors_of(port, due) for _ in range(streams))) for error in errors
    ]


def main() -> None:
    streams = int(sys.argv[1]) if sys.argv[1:] else 1_000
    text = sys.argv[2] if sys.argv[2:] else "ttft=300ms,tokens=10/s"
    pace = parse_pace(text)
    due = [pace.ttft + place * TOKENS_PER_DELTA / pace.tokens for place in range(DELTAS)]
    with tempfile.TemporaryDirectory() as folder:
        (script := Path(folder, "script.py")).write_text(SCRIPT)
        with serving("--script", str(script), "--pace", text) as served:
            asyncio.run(measure(served.port, 10, due))
            before = resident_megabytes(served, "VmRSS")
            late = asyncio.run(measure(served.port, streams, due))
            after = resident_megabytes(served, "VmRSS")
    print(f"{streams} streams of {DELTAS} deltas at {text}: off by {median(late) * 1e3:.1f} ms (median),")
    print(f"{quantiles(late, n=100)[98] * 1e3:.1f} ms (99 %); server {before} -> {after} MiB")


if __name__ == "__main__":
    main()
