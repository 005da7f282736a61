"""Runs the tools of tasks over HTTP, for clients in any language, and records their executions."""

import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from harness.examine.case import ToolCall
from harness.examine.task import Task, Tool

POLL_SECONDS = 0.02
"""The interval at which the server checks whether it should end."""


class ToolServer:
    """The tools of running tasks, each at `/RUN/NAME`, and their executions by run."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._tools: dict[str, Tool] = {}
        self._executions: dict[str, list[ToolCall]] = defaultdict(list)

    def offer(self, run: str, task: Task) -> Task:
        """Offer the tools of a task; return the task with their URLs."""
        tools = [replace(tool, url=f"{self._address}/{run}/{tool.name}") for tool in task.tools]
        self._tools |= {f"/{run}/{tool.name}": tool for tool in tools}
        return replace(task, tools=tuple(tools))

    def close(self, run: str) -> list[ToolCall]:
        """Forget a run and return its executions, in order."""
        self._tools = {path: tool for path, tool in self._tools.items() if not path.startswith(f"/{run}/")}
        return self._executions.pop(run, [])

    def run(self, path: str, body: bytes) -> tuple[int, Any]:
        """Run the tool at a path; return 200 and its result, 500 and its error text, or 404 for an unknown path."""
        if (tool := self._tools.get(path)) is None:
            return 404, f"no tool at {path}"
        try:
            arguments = json.loads(body or b"{}")
        except ValueError:
            arguments = body.decode("utf-8", "replace")
        self._executions[path.split("/")[1]].append(ToolCall(tool.name, arguments))
        return (200, tool.returns) if tool.raises is None else (500, tool.raises)


class _Server(ThreadingHTTPServer):
    """The HTTP server, which ignores clients that disconnect."""

    # A client may run forty tools at once, and may be ended while it waits for one.
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@contextmanager
def serve_tools() -> Iterator[ToolServer]:
    """Serve tools on a free loopback port during a `with` block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, result = tools.run(self.path, self.rfile.read(int(self.headers.get("content-length") or 0)))
            sent = result.encode() if status != 200 else json.dumps(result).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json" if status == 200 else "text/plain; charset=utf-8")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with _Server(("127.0.0.1", 0), Handler) as server:
        tools = ToolServer(f"http://127.0.0.1:{server.server_address[1]}")
        serve = partial(server.serve_forever, poll_interval=POLL_SECONDS)
        threading.Thread(target=serve, name="responses-harness-tools", daemon=True).start()
        try:
            yield tools
        finally:
            server.shutdown()
