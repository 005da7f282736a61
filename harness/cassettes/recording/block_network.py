"""No network but this machine's own: what tries to leave it is refused with a reason, and noted.

WebSockets to the API are refused wherever it is, since nothing would notice them: neither vcrpy nor a cassette.
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
"""Where the libraries for WebSockets begin one: module, class (none: a function), method."""

RefusalText = Callable[[str], str]
"""What is said to a connection to an address (`api.openai.com:443`)."""


class NetworkBlocked(HarnessError):
    """A connection that a test must not make."""


@contextmanager
def block_network(refuse: RefusalText) -> Iterator[None]:
    """Nothing in the block resolves or reaches another machine's address; names and addresses of this one do."""

    def blocked(real: Any, address_of: Callable[..., Any]) -> Any:
        def connect(*args: Any, **kwargs: Any) -> Any:
            if (address := address_of(*args)) is not None and not is_this_machine(address[0]):
                raise NetworkBlocked(refuse(f"{_host_text(address[0])}:{address[1]}"))
            return real(*args, **kwargs)

        return connect

    with ExitStack() as held:
        for name in ("connect", "connect_ex"):
            real = getattr(socket.socket, name)
            held.enter_context(mock.patch.object(socket.socket, name, blocked(real, _connect_target)))
        held.enter_context(mock.patch.object(socket, "getaddrinfo", blocked(socket.getaddrinfo, _lookup_target)))
        yield


def _connect_target(_: socket.socket, address: Any, *rest: Any) -> Any:
    """Host and port that a socket connects to; None for a path in the file system."""
    return address[:2] if isinstance(address, tuple) and len(address) > 1 else None


def _lookup_target(host: Any, port: Any = None, *rest: Any) -> Any:
    return None if host is None else (host, port)


def _host_text(host: Any) -> str:
    return host.decode("latin-1") if isinstance(host, bytes) else str(host)


def is_this_machine(host: Any) -> bool:
    """Whether a host is this machine, as itself."""
    name = _host_text(host).partition("%")[0]
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name in ("", "localhost") or name.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


@contextmanager
def block_websockets(refuse: RefusalText) -> Iterator[None]:
    """Nobody in the block opens a WebSocket, by any of the usual libraries that are installed."""

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise NetworkBlocked(refuse("a WebSocket"))

    with ExitStack() as held:
        for module, owner, method in WEBSOCKET_OPENERS:
            found = getattr(_import_if_installed(module), owner, None) if owner else _import_if_installed(module)
            if hasattr(found, method):
                held.enter_context(mock.patch.object(found, method, refused))
        yield


def _import_if_installed(module: str) -> Any:
    """A module of a library that is installed; an old one, which warns, only when somebody else has imported it."""
    if ".legacy." in module or find_spec(module.partition(".")[0]) is None:
        return sys.modules.get(module)
    try:
        return import_module(module)
    except ImportError:  # another release of the library
        return None
