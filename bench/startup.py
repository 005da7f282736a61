"""`python -m bench.startup [-n TIMES]`: how long it takes until requests can be sent.

Prints figures, each the minimum of several runs, in wall and CPU time: from the start of `responses-harness serve` to its
first line, when it listens; and the extra cost of a test run whose only test uses the fixtures `mock` and `client`,
compared with one that calls a bare in-process server with the same SDK. The last is a ratio: a run of pytest whose only
test does not use the plugin, to one without the plugin.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

WITH_MOCK = """
def test_mock(mock, client):
    from harness.items import message
    mock.script(message("Hi."))
    assert client.responses.create(model="gpt-4.1", input="Hi").output_text == "Hi."
"""
EMPTY = "def test_empty(): ..."
WITHOUT_MOCK = """
import json, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
import openai

CONTENT = [{"type": "output_text", "text": "Hi.", "annotations": []}]
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": CONTENT}
BODY = json.dumps({"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "gpt-4.1",
                   "output": [MESSAGE], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}).encode()

class Bare(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_):
        pass

def test_bare():
    server = HTTPServer(("127.0.0.1", 0), Bare)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    client = openai.OpenAI(api_key="sk-1", base_url=f"http://127.0.0.1:{server.server_port}/v1")
    assert client.responses.create(model="gpt-4.1", input="Hi").output_text == "Hi."
    server.shutdown()
    server.server_close()
"""


def measure(runs: Sequence[Callable[[], float]], times: int) -> list[tuple[float, float]]:
    """Run each of `runs` in turns; return the minimum of its wall times and of its CPU times, in seconds."""
    taken: list[list[tuple[float, float]]] = [[] for _ in runs]
    for _ in range(times):
        for run, measured in zip(runs, taken, strict=True):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            wall = run()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            measured.append((wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return [(min(wall for wall, _ in measured), min(processor for _, processor in measured)) for measured in taken]


def start_server() -> float:
    begun = time.perf_counter()
    with subprocess.Popen([sys.executable, "-m", "harness", "serve", "--port", "0"], stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.readline()
        taken = time.perf_counter() - begun
        child.send_signal(signal.SIGINT)
    return taken


def run_test(file: Path, *options: str, **environ: str) -> float:
    begun = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", *options, str(file)]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environ})
    return time.perf_counter() - begun


def unused_cost(folder: Path, times: int) -> float:
    """Return the CPU time of pytest for an empty test with the plugin, relative to one without any plugin."""
    file = folder / "test_empty.py"
    file.write_text(EMPTY)
    alone = partial(run_test, file, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTHONDONTWRITEBYTECODE="")
    unused, without = measure([partial(alone, "-p", "responses_harness_pytest"), alone], times)
    return unused[1] / without[1]


def main() -> None:
    parser = argparse.ArgumentParser(description="How long it takes until something can be asked.")
    parser.add_argument("-n", dest="times", type=int, default=10, help="runs of each, of which the least counts")
    times = parser.parse_args().times
    with TemporaryDirectory() as folder:
        files = [Path(folder, "test_mock.py"), Path(folder, "test_bare.py")]
        for file, text in zip(files, (WITH_MOCK, WITHOUT_MOCK), strict=True):
            file.write_text(text)
        served, mocked, bare = measure([start_server, *(partial(run_test, file) for file in files)], times)
        unused = unused_cost(Path(folder), 3 * times)
    print("                          wall s   processor s")
    print(f"responses-harness serve listens     {served[0]:6.3f}   {served[1]:6.3f}")
    print(f"first use of the fixture  {mocked[0] - bare[0]:6.3f}   {mocked[1] - bare[1]:6.3f}")
    print(f"pytest, plugin unused                × {unused:.2f}")


if __name__ == "__main__":
    main()
