"""Large uploads over HTTP: on disk beyond a size, parsed off the event loop, freed with what holds them."""

import asyncio
import errno
import gc
import random
import threading
import tracemalloc
from collections.abc import Iterator
from typing import Any
from weakref import ref

import httpx
import pytest

from harness.api.http.multipart import FormParser
from harness.core.exchange import InMemory, OnDisk
from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import MockApi
from harness.server.transport import upload_spool
from harness.server.transport.upload_spool import LARGE_FORM, MAX_IN_MEMORY, SpooledContent, read_form

MIB = 1 << 20
KEY = "sk-uploads"
HEADERS = {"authorization": f"Bearer {KEY}"}
CONTENT_TYPE = "multipart/form-data; boundary=b"
HEAD = b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
TAIL = b"\r\n--b--\r\n"
NO_LIMIT = 1 << 40


@pytest.fixture
def server() -> Iterator[Server]:
    with serve_in_thread(MockApi()) as running:
        yield running


def upload(server: Server, data: bytes, purpose: str = "batch") -> httpx.Response:
    form = {"file": ("a.jsonl", data, "text/plain")}
    return httpx.post(f"{server.base_url}/files", data={"purpose": purpose}, files=form, headers=HEADERS)


def read(*pieces: bytes, leaves: bool = False) -> tuple[bytes, Any] | None:
    """Return what is read of a form that arrives in these pieces, the last of which may be that the client leaves."""
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
    messages.append({"type": "http.disconnect"} if leaves else {"type": "http.request", "body": b""})

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    return asyncio.run(read_form(receive, CONTENT_TYPE, NO_LIMIT))


def test_a_large_file_is_on_disk_and_the_same_when_it_is_read(server: Server) -> None:
    data = random.Random(1).randbytes(MAX_IN_MEMORY + 3 * MIB + 7)
    made = upload(server, data).json()
    (world,) = server.api.worlds.values()
    assert made["bytes"] == len(data)
    content = world.store.files[made["id"]].content
    assert isinstance(content, OnDisk)
    assert content.read() == data
    downloaded = httpx.get(f"{server.base_url}/files/{made['id']}/content", headers=HEADERS)
    assert (downloaded.status_code, downloaded.content == data) == (200, True)
    assert downloaded.headers["content-length"] == str(len(data))


def test_the_journal_says_how_large_it_is(server: Server) -> None:
    size = MAX_IN_MEMORY + 1
    made = upload(server, b"x" * size).json()
    httpx.get(f"{server.base_url}/files/{made['id']}/content", headers=HEADERS)
    origin = server.base_url.removesuffix("/v1")
    uploaded, downloaded = httpx.get(f"{origin}/_harness/exchanges", headers=HEADERS).json()
    assert uploaded["request"]["body"]["file"]["data"] == downloaded["answer"] == f"({size} bytes)"


@pytest.mark.parametrize("size", [1, LARGE_FORM - 500, LARGE_FORM + 1, MAX_IN_MEMORY])
def test_a_file_up_to_a_size_is_text(server: Server, size: int) -> None:
    data = random.Random(2).randbytes(size)
    made = upload(server, data).json()
    (world,) = server.api.worlds.values()
    assert world.store.files[made["id"]].content == InMemory(data.decode("latin-1"))


def test_its_memory_does_not_grow_with_it() -> None:
    tracemalloc.start()
    read_back = read(HEAD, *[b"x" * MIB] * 100, TAIL)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert read_back
    assert read_back[1].on_disk["file"].size == 100 * MIB
    assert peak < 20 * MIB


def test_the_thread_that_answers_others_neither_parses_nor_writes(server: Server, monkeypatch: Any) -> None:
    working, write = set[str](), FormParser.write

    def write_noted(self: FormParser, data: bytes) -> None:
        working.add(threading.current_thread().name)
        write(self, data)

    monkeypatch.setattr(FormParser, "write", write_noted)
    assert upload(server, b"\xff" * (MAX_IN_MEMORY + 1)).status_code == 200
    assert working
    assert "responses-harness" not in working


def test_it_ends_with_its_world(server: Server, monkeypatch: Any) -> None:
    made = list[ref[SpooledContent]]()

    class NotedContent(SpooledContent):
        def __init__(self) -> None:
            super().__init__()
            made.append(ref(self))

    monkeypatch.setattr(upload_spool, "SpooledContent", NotedContent)
    upload(server, b"x" * (MAX_IN_MEMORY + 1))
    gc.disable()
    try:
        assert any(entry() for entry in made)
        server.api.close(KEY)
        assert not any(entry() for entry in made)
    finally:
        gc.enable()


def test_nothing_is_kept_of_a_client_that_leaves() -> None:
    assert read(HEAD, b"x" * (MAX_IN_MEMORY + MIB), leaves=True) is None


def test_a_full_disk_is_reported(server: Server, monkeypatch: Any) -> None:
    def fail(**_: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(upload_spool.tempfile, "TemporaryFile", fail)
    answer = upload(server, b"x" * (MAX_IN_MEMORY + 1))
    assert answer.status_code == 418
    assert "an upload cannot be kept: the disk is full. Free some space in " in answer.json()["error"]["message"]
    assert upload(server, b"x").status_code == 200


@pytest.mark.parametrize(
    "form",
    [
        b"--b\r\ncontent-disposition: form-data; name=x\r\n\r\n\r\n" * 30_000 + b"--b--\r\n",
        b"--b\r\n" + b"h" * 2 * MIB + b": 1\r\n\r\nx\r\n--b--\r\n",
        b"--b\r\nh: " + b"v" * 2 * MIB + b"\r\n\r\nx\r\n--b--\r\n",
    ],
    ids=["parts", "name", "value"],
)
def test_a_form_of_endless_parts_or_headers_is_invalid(form: bytes) -> None:
    assert read(*[form[number : number + 65_536] for number in range(0, len(form), 65_536)]) == (b"", None)
