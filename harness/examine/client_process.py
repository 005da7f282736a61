"""Runs the process of a client under examination: sends tasks, reads outcomes, ends it if it takes too long."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from harness.core.errors import ConfigError, Malformed
from harness.core.text import shorten
from harness.examine.adapter import Declaration
from harness.examine.task import Outcome, Task

START_SECONDS = 60
"""The time limit for the declaration of a client."""
ENVIRONMENT: Mapping[str, str] = {
    "DO_NOT_TRACK": "1",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "NO_PROXY": "*",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
}
"""Settings that keep clients from sending telemetry."""
_WITHOUT = ("OPENAI_", "AZURE_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_SHOWN = 300
"""The maximum number of characters shown of a line that a process printed."""
MAX_PRINTED = 1 << 24
"""The maximum number of bytes that a process prints for one task, its outcome included."""
_LINES = 8
"""The number of last lines shown of a process that ended."""


class Crashed(Exception):
    """Raised when the client's process ended or wrote an invalid outcome."""


class Hung(Exception):
    """Raised when the client exceeded its time limit."""


class Done(NamedTuple):
    """An outcome, the number of asyncio tasks that the client left running, and the other lines that it printed."""

    outcome: Outcome
    leaked: int
    printed: Sequence[str]


class ClientProcess:
    """A running adapter, which does one task after the other; after `Crashed` or `Hung`, start another one.

        starting -- its declaration --> idle -- a task --> busy -- its outcome --> idle
        starting, busy -- the process ends, or its time is over --> ended
    It may be ended at any time.
    """

    def __init__(self, command: Sequence[str], start_seconds: float = START_SECONDS) -> None:
        # A file, because the client would block on a full pipe, which is only read at the end.
        self._errors = TemporaryFile()  # noqa: SIM115  (closed with the process)
        self._pending = b""
        kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(_WITHOUT)}
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**kept, **ENVIRONMENT},
                start_new_session=True,  # a process group, so that `kill` reaches all that the client starts
            )
        except OSError as problem:
            self._errors.close()
            raise ConfigError(f"cannot start {command[0]!r}: {problem.strerror}. Is it installed?") from problem
        try:
            declared, _ = self._read_object("client", _Limits(start_seconds))
            self.declared = Declaration.from_json(declared)
        except (Crashed, Hung, Malformed) as problem:
            self.end()
            raise ConfigError(f"{' '.join(command)} writes no valid declaration: {problem}") from problem

    def do(self, task: Task, seconds: float) -> Done:
        """Let the client do a task and return the outcome. Raises Crashed or Hung without one."""
        line, limits = json.dumps({"task": asdict(task)}) + "\n", _Limits(seconds)
        try:
            self._write(line.encode(), limits)
            body, printed = self._read_object("outcome", limits)
            return Done(Outcome.from_json(body["outcome"]), int(body.get("leaked") or 0), printed)
        except (Malformed, OSError) as problem:
            self.end()
            raise Crashed(str(problem)) from problem
        except (Crashed, Hung):
            self.end()
            raise

    def kill(self) -> None:
        """Kill the process and its children; another thread that waits for an outcome gets `Crashed`."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """End the process and its children, and close its pipes."""
        self.kill()
        self._process.wait()
        self._errors.close()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                assert pipe
                pipe.close()

    def _write(self, data: bytes, limits: _Limits) -> None:
        assert self._process.stdin
        pipe = self._process.stdin.fileno()
        while data:
            if not select.select([], [pipe], [], limits.remaining())[1]:
                continue
            # A pipe that is writable takes as many bytes at once; more of them could block.
            data = data[os.write(pipe, data[: select.PIPE_BUF]) :]

    def _read_object(self, member: str, limits: _Limits) -> tuple[dict[str, Any], list[str]]:
        """Read lines up to a JSON object with this member; return it and the other lines before it."""
        printed: list[str] = []
        while True:
            line = self._read_line(limits)
            try:
                body = json.loads(line)
            except ValueError:
                body = None
            if isinstance(body, dict) and member in body:
                return body, printed
            printed.append(shorten(line, _SHOWN))

    def _read_line(self, limits: _Limits) -> str:
        assert self._process.stdout
        pipe = self._process.stdout.fileno()
        while b"\n" not in self._pending:
            if not select.select([pipe], [], [], limits.remaining())[0]:
                continue
            if not (chunk := os.read(pipe, 1 << 16)):
                raise Crashed(f"its process ended: {self._last_words()}")
            limits.count(chunk)
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode("utf-8", "replace")

    def _last_words(self) -> str:
        """Describe how a process ended: its exit code and the last lines of stderr."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - 10 * _SHOWN))
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        last = [shorten(line, _SHOWN) for line in lines[-_LINES:]]
        return "\n  ".join([f"exit code {self._process.returncode}{': ' + last[-1] if last else ''}", *last[:-1]])


class _Limits:
    """The limits of one task: a deadline that output does not extend, and the bytes of that output."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._unread = MAX_PRINTED

    def remaining(self) -> float:
        """Return the seconds that are left; Hung once time is up."""
        if (left := self._until - time.monotonic()) > 0:
            return left
        raise Hung(f"it took longer than {self._seconds:g} s")

    def count(self, chunk: bytes) -> None:
        """Count the bytes that were read; Crashed if they are too many."""
        self._unread -= len(chunk)
        if self._unread < 0:
            raise Crashed(f"it printed more than {MAX_PRINTED:,} bytes")
