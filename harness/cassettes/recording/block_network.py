"""Refuses connections to other machines, and WebSockets to any, with a reason that the caller notes.

WebSockets are refused on this machine too: neither vcrpy nor a cassette would notice them. pytest-socket (0.8) does less:
it guards `connect` alone, so names are still resolved and `connect_ex` succeeds, and it cannot note a refusal.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from unittest import mock

from harness.core.errors import HarnessError

WEBSOCKET_OPENERS = (
    ("websockets.sync.client", "", "connect"),
    ("websockets.asyncio.client", "", "connect"),
    ("websockets.client", "ClientProtocol", "connect"),
    ("websockets.legacy.client", "WebSocketClientProtocol", "handshake"),
    ("aiohttp.client", "ClientSession", "_ws_connect"),
    ("websocket", "WebSocket", "connect"),
)
"""What opens a WebSocket in each library: module, class (empty for a function), method."""

RefusalText = Callable[[str], str]
"""Returns the error's text for a connection to an address (`api.openai.com:443`)."""


class NetworkBlocked(HarnessError):
    """A connection that a test must not make."""


@contextmanager
def block_network(refuse: RefusalText) -> Iterator[None]:
    """In the block no other machine is resolved or reached, only names and addresses of this one."""

    def check(host: Any, port: Any) -> None:
        if host is not None and not is_this_machine(host):
            raise NetworkBlocked(refuse(f"{_host_text(host)}:{port}"))

    def guard_connect(connect: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(sock: socket.socket, address: Any) -> Any:
            if isinstance(address, tuple):  # else a path in the file system
                check(*address[:2])
            return connect(sock, address)

        return guarded

    def guarded_getaddrinfo(host: Any, port: Any = None, *args: Any, **options: Any) -> Any:
        check(host, port)
        return getaddrinfo(host, port, *args, **options)

    getaddrinfo = socket.getaddrinfo
    with ExitStack() as patches:
        for name in ("connect", "connect_ex"):
            guarded = guard_connect(getattr(socket.socket, name))
            patches.enter_context(mock.patch.object(socket.socket, name, guarded))
        patches.enter_context(mock.patch.object(socket, "getaddrinfo", guarded_getaddrinfo))
        yield


def _host_text(host: Any) -> str:
    return host.decode("latin-1") if isinstance(host, bytes) else str(host)


def is_this_machine(host: Any) -> bool:
    """Whether a name or address is this machine's own."""
    name = _host_text(host).partition("%")[0]
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name in ("", "localhost") or name.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


@contextmanager
def block_websockets(refuse: RefusalText) -> Iterator[None]:
    """In the block no WebSocket is opened by any of the usual libraries that are installed."""

    def refused(*_: Any, **__: Any) -> Any:
        raise NetworkBlocked(refuse("a WebSocket"))

    with ExitStack() as patches:
        for module, owner, method in WEBSOCKET_OPENERS:
            found = getattr(_import_if_installed(module), owner, None) if owner else _import_if_installed(module)
            if hasattr(found, method):
                patches.enter_context(mock.patch.object(found, method, refused))
        yield


def _import_if_installed(module: str) -> Any:
    """A module of an installed library; a legacy one, whose import warns, only if it is imported already."""
    if ".legacy." in module or find_spec(module.partition(".")[0]) is None:
        return sys.modules.get(module)
    try:
        return import_module(module)
    except ImportError:  # another release of the library
        return None
