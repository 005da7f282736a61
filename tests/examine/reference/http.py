"""How the reference client reaches the API: requests that are sent again, streams of events."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from harness.core.exchange import Json
from harness.examine.case import THREAD
from harness.examine.task import Task

RETRIES = 2
WAIT = 0.02
"""Seconds between attempts when the API names none."""


class ReferenceClientError(Exception):
    """What a user of the reference client sees of an error."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ReferenceHttp:
    """Requests of one task. What a mutant breaks is a method of its own."""

    def __init__(self, task: Task) -> None:
        self.task = task
        beta = {"openai-beta": "assistants=v2"} if task.state == THREAD else {}
        self.http = httpx.Client(
            verify=False,  # loading the authorities takes longer than most cases
            base_url=task.base_url,
            headers={"authorization": f"Bearer {task.api_key}", **beta},
            timeout=task.timeout or 12,
            trust_env=False,
        )

    def call(self, method: str, path: str, body: Json | None = None, query: Json | None = None) -> Any:
        with self.attempt(method, path, body, query) as answer:
            return self.read_json(answer)

    def events(self, method: str, path: str, body: Json | None = None, query: Json | None = None) -> Iterator[Json]:
        with self.attempt(method, path, body, query) as answer:
            try:
                yield from self.read_events(answer.iter_raw())
            except httpx.HTTPError as problem:
                raise self.broken_stream(problem) from problem

    def broken_stream(self, problem: Exception) -> Exception:
        return ReferenceClientError(f"the connection broke: {problem}")

    @contextmanager
    def attempt(self, method: str, path: str, body: Json | None, query: Json | None) -> Iterator[httpx.Response]:
        """Provide the answer with a good status, asked for again while that may help."""
        for attempt in range(RETRIES + 1):
            try:
                asked = self.http.build_request(method, path, json=body, params=query)
                answer = self.http.send(asked, stream=True)
            except httpx.HTTPError as problem:
                if attempt == RETRIES or not self.retries_connection(problem):
                    raise ReferenceClientError(f"no answer: {type(problem).__name__} {problem}") from problem
                time.sleep(WAIT)
                continue
            if answer.status_code < 400:
                try:
                    yield answer
                finally:
                    answer.close()
                return
            answer.read()
            if attempt == RETRIES or not self.retries_status(answer):
                raise self.refused(answer)
            time.sleep(self.wait(answer))

    def retries_connection(self, problem: Exception) -> bool:
        return not isinstance(problem, httpx.TimeoutException)

    def retries_status(self, answer: httpx.Response) -> bool:
        if answer.status_code == 429:
            return "insufficient_quota" not in answer.text
        return answer.status_code >= 500

    def wait(self, answer: httpx.Response) -> float:
        for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            if name in answer.headers:
                return float(answer.headers[name]) * unit
        return WAIT

    def refused(self, answer: httpx.Response) -> ReferenceClientError:
        try:
            message = answer.json()["error"]["message"]
        except (ValueError, KeyError, TypeError):
            message = answer.text
        return ReferenceClientError(message, answer.status_code)

    def read_json(self, answer: httpx.Response) -> Any:
        try:
            return json.loads(answer.read())
        except (ValueError, httpx.HTTPError) as problem:
            raise ReferenceClientError(f"the answer broke off: {problem}") from problem

    def read_events(self, chunks: Iterator[bytes]) -> Iterator[Json]:
        """Yield the events of the pieces of a stream, by the rules of server-sent events."""
        data: list[str] = []
        for line in self.read_lines(chunks):
            if line.startswith("data:"):
                self.add_line(data, line[5:].removeprefix(" "))
            elif not line and data:
                text, data = "\n".join(data), []
                if text != "[DONE]":
                    yield self.parse_event(text)

    def add_line(self, data: list[str], line: str) -> None:
        data.append(line)

    def parse_event(self, text: str) -> Json:
        event: Json = json.loads(text)
        return event

    def read_lines(self, chunks: Iterator[bytes]) -> Iterator[str]:
        """Yield the lines of the pieces of a stream: they end with LF, CRLF or CR."""
        held = b""
        for chunk in chunks:
            held += chunk
            if not held.endswith(b"\r"):  # a line feed may follow
                *lines, held = split_lines(held)
                yield from map(bytes.decode, lines)
        yield from map(bytes.decode, split_lines(held)[:-1])


def split_lines(data: bytes) -> list[bytes]:
    """Return the lines of some bytes, and the beginning of one that has no end yet."""
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
