"""Runs cases against a reference client in this process."""

import asyncio
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from harness.examine.adapter import Adapter, Mode
from harness.examine.case import ClientCase
from harness.examine.client_process import Crashed, Done
from harness.examine.results import Cell
from harness.examine.run_cases import run_case
from harness.examine.task import Task
from harness.examine.tool_server import ToolServer, serve_tools
from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import MockApi

LONGEST = "tools/turns-of-many-calls"
"""The case with the most calls: to judge what a client sends of it takes as long as all others of its area."""


@dataclass(frozen=True, slots=True)
class Bench:
    """The servers that clients of this process talk to."""

    server: Server
    tools: ToolServer

    def run(self, case: ClientCase, mode: Mode, client: Adapter) -> Cell:
        """Return a case in a mode; what leaves `run` of a client is a crash."""

        def do(case: ClientCase, task: Task) -> Done:
            try:
                return Done(asyncio.run(client.run(task)), 0, ())
            except Exception as problem:
                raise Crashed(f"{type(problem).__name__}: {problem}") from problem

        return run_case(case, mode, do, self.server, self.tools, client.declare().client)

    def run_each(self, runs: Iterable[tuple[ClientCase, Mode]], client: Adapter) -> list[Cell]:
        """Cases in modes, several at a time: in some of them the client waits."""
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(lambda run: self.run(*run, client), runs))


@contextmanager
def open_bench() -> Iterator[Bench]:
    """Provide a bench for the time of a `with` block."""
    with serve_in_thread(MockApi(keys=())) as server, serve_tools() as tools:
        yield Bench(server, tools)
