"""Nothing leaves this machine, and no WebSocket opens, while a test replays."""

import asyncio
import socket
import ssl
import sys
import threading
from importlib import import_module

import aiohttp
import pytest
import websockets.asyncio.client
import websockets.client
import websockets.sync.client

from harness.cassettes.recording.block_network import (
    WEBSOCKET_OPENERS,
    NetworkBlocked,
    block_network,
    block_websockets,
    is_this_machine,
)


def refuse(what: str) -> str:
    return f"not {what}"


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("fe80::1%eth0", False),
        ("0.0.0.0", True),
        ("localhost", True),
        (b"a.localhost", True),
        ("", True),
        ("api.openai.com", False),
        ("10.0.0.1", False),
        ("localhost.evil.test", False),
    ],
)
def test_this_machine_is_its_own_addresses(host, here):
    assert is_this_machine(host) is here


def test_others_are_neither_resolved_nor_reached():
    with block_network(refuse):
        with pytest.raises(NetworkBlocked, match=r"not api\.openai\.com:443"):
            socket.create_connection(("api.openai.com", 443))
        with socket.socket() as one, pytest.raises(NetworkBlocked, match=r"not 192\.0\.2\.1:80"):
            one.connect(("192.0.2.1", 80))
        with socket.socket() as one, pytest.raises(NetworkBlocked, match=r"not 192\.0\.2\.1:80"):
            one.connect_ex(("192.0.2.1", 80))
        with pytest.raises(NetworkBlocked, match=r"not api\.openai\.com:443"):
            asyncio.run(asyncio.open_connection("api.openai.com", 443))


@pytest.mark.parametrize("host", ["api.openai.com", b"api.openai.com"])
def test_only_some_hosts_may_be_blocked(host):
    with block_network(refuse, lambda host: host == "api.openai.com"):
        with pytest.raises(NetworkBlocked, match=r"not api\.openai\.com:443"):
            socket.getaddrinfo(host, 443)
        with pytest.raises(NetworkBlocked, match=r"not api\.openai\.com$"):
            socket.getaddrinfo(host=host, port=None)
        assert socket.getaddrinfo("192.0.2.1", 443)


def test_a_tls_peer_is_refused_however_its_address_was_found():
    """Behind a proxy, or with a resolver of its own (pycares), only TLS says whom a client asks."""
    context = ssl.create_default_context()
    with block_network(refuse):
        with pytest.raises(NetworkBlocked, match=r"not api\.openai\.com$"):
            context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="api.openai.com")
        with pytest.raises(NetworkBlocked):
            context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), False, "api.openai.com")
        left, right = socket.socketpair()
        with left, right, pytest.raises(NetworkBlocked, match=r"not api\.openai\.com$"):
            context.wrap_socket(left, False, True, True, "api.openai.com")
        assert context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost")


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop has no Windows")
@pytest.mark.parametrize("library", ["asyncio", "uvloop"])
def test_a_loop_that_resolves_in_a_thread_or_in_c_is_blocked(library):
    async def resolve() -> None:
        await asyncio.get_running_loop().getaddrinfo("api.openai.com", 443)

    async def connect_by_name() -> None:
        await asyncio.open_connection("api.openai.com", 443)

    def is_blocked(host: str) -> bool:
        threads.add(threading.current_thread())
        return True

    threads = set[threading.Thread]()
    loop_factory = import_module(library).new_event_loop
    with block_network(refuse, is_blocked), asyncio.Runner(loop_factory=loop_factory) as runner:
        for ask in (resolve, connect_by_name):
            with pytest.raises(NetworkBlocked, match=r"not api\.openai\.com:443"):
                runner.run(ask())
    assert threads == {threading.current_thread()}


def test_this_machine_is_reached(tmp_path):
    with block_network(refuse), socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        socket.create_connection(server.getsockname()).close()
        socket.create_connection(("localhost", server.getsockname()[1])).close()
        with socket.socket(socket.AF_UNIX) as one, pytest.raises(FileNotFoundError):
            one.connect(str(tmp_path / "none"))
        assert socket.getaddrinfo(None, 80)


def test_afterwards_all_is_as_it_was():
    owners = (socket, socket.socket, asyncio.BaseEventLoop, ssl.SSLContext)
    before = [dict(vars(owner)) for owner in owners]
    with block_network(refuse):
        assert [dict(vars(owner)) == was for owner, was in zip(owners, before, strict=True)] == [False] * 4
    assert [dict(vars(owner)) for owner in owners] == before


async def connect() -> None:
    async with websockets.asyncio.client.connect("ws://127.0.0.1:9/v1/responses"):
        pytest.fail("unreachable")


async def connect_with_aiohttp() -> None:
    async with aiohttp.ClientSession() as session, session.ws_connect("ws://127.0.0.1:9/v1/responses"):
        pytest.fail("unreachable")


@pytest.mark.parametrize(
    "begin",
    [
        lambda: websockets.sync.client.connect("ws://127.0.0.1:9/v1/responses"),
        lambda: asyncio.run(connect()),
        lambda: asyncio.run(connect_with_aiohttp()),
        lambda: websockets.client.ClientProtocol.connect(None),
    ],
    ids=["sync", "asyncio", "aiohttp", "one that was imported before"],
)
def test_no_websocket_opens_by_any_library(begin):
    with block_websockets(refuse), pytest.raises(NetworkBlocked, match="not a WebSocket"):
        begin()


def test_libraries_that_are_not_there_do_not_matter(monkeypatch):
    monkeypatch.setattr(
        "harness.cassettes.recording.block_network.WEBSOCKET_OPENERS",
        (*WEBSOCKET_OPENERS, ("no_such_library", "A", "b"), ("json.none", "", "b")),
    )
    with block_websockets(refuse):
        assert "no_such_library" not in sys.modules
