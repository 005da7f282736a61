"""HARNESS_FAST_PATH=0 switches the fast path off; a server then sends the same bytes by the plain encoder."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.answers.stream import render_events
from harness.core.exchange import Answer
from harness.fast_path import is_enabled
from harness.items import message
from harness.server.transport import deliver
from tests.support.streams import response


@pytest.fixture(autouse=True)
def environment_is_read_again() -> Iterator[None]:
    is_enabled.cache_clear()
    yield
    is_enabled.cache_clear()


@pytest.mark.parametrize(("value", "enabled"), [("0", False), ("1", True), ("", True)])
def test_the_environment_switches_it_off(value: str, enabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_FAST_PATH", value)
    assert is_enabled() is enabled


def test_it_is_on_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARNESS_FAST_PATH", raising=False)
    assert is_enabled()


def send_stream() -> bytes:
    """Return the body that a server sends for a stream."""
    said = response(message("Hello there."))
    body = bytearray()

    async def send(part: Mapping[str, Any]) -> None:
        body.extend(part.get("body", b""))

    asyncio.run(deliver.send_answer(send, Answer(200, said, events=render_events(said))))
    return bytes(body)


def test_a_stream_has_the_same_bytes_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = [send_stream() for _ in range(3)]
    is_enabled.cache_clear()
    monkeypatch.setenv("HARNESS_FAST_PATH", "0")
    monkeypatch.setattr(deliver, "encode_stream", None)
    assert [send_stream() for _ in range(3)] == fast


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_tests_of_the_server_pass_without_it() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "tests/server"]
    environment = {**os.environ, "HARNESS_FAST_PATH": "0"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-4_000:]
