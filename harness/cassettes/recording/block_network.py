"""Blocks connections to other machines, or some of them, and all WebSockets, with a message from the caller.

WebSockets are blocked on this machine, too, as neither vcrpy nor a cassette would notice them. pytest-socket (0.8) does
less: it only guards `connect`, so names are still resolved and `connect_ex` succeeds, and it cannot report a blocked
connection.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple
from unittest.mock import patch

from harness.api.http.dialects import provider_of_host
from harness.core.errors import HarnessError

WEBSOCKET_OPENERS = (
    ("websockets.sync.client", "", "connect"),
    ("websockets.asyncio.client", "", "connect"),
    ("websockets.client", "ClientProtocol", "connect"),
    ("websockets.legacy.client", "WebSocketClientProtocol", "handshake"),
    ("aiohttp.client", "ClientSession", "_ws_connect"),
    ("websocket", "WebSocket", "connect"),
)
"""The functions that open a WebSocket in each library: module, class (empty for a function), method."""

RefusalText = Callable[[str], str]
"""Returns the error message for a connection to an address (`api.openai.com:443`)."""


class NetworkBlocked(HarnessError):
    """Raised for a connection that a test must not make."""

    section = "the-live-api"


class _Connector(NamedTuple):
    """A function that makes connections, and its argument that names the host: at `place`, or called `name`."""

    owner: Any
    function: str
    place: int
    name: str


def _connectors() -> Iterator[_Connector]:
    """Yield every way out in Python: names, addresses, and TLS, whose peer is known even behind a proxy or resolver.

    Event loops are guarded separately, as they resolve names in other threads, where the caller is unknown, or in C.
    """
    yield _Connector(socket.socket, "connect", 1, "address")
    yield _Connector(socket.socket, "connect_ex", 1, "address")
    yield _Connector(socket, "getaddrinfo", 0, "host")
    yield _Connector(asyncio.BaseEventLoop, "getaddrinfo", 1, "host")
    yield _Connector(ssl.SSLContext, "wrap_socket", 5, "server_hostname")
    yield _Connector(ssl.SSLContext, "wrap_bio", 4, "server_hostname")
    if uvloop := _import_if_installed("uvloop"):
        yield _Connector(uvloop.Loop, "getaddrinfo", 1, "host")
        yield _Connector(uvloop.Loop, "create_connection", 2, "host")


@contextmanager
def block_network(refuse: RefusalText, is_blocked: Callable[[str], bool] | None = None) -> Iterator[None]:
    """Block connections to hosts for which `is_blocked` is true, by default all but this machine, during a block."""
    is_blocked = is_blocked or (lambda host: not is_this_machine(host))

    def guard(connector: _Connector) -> Callable[..., Any]:
        function = getattr(connector.owner, connector.function)

        def guarded(*args: Any, **options: Any) -> Any:
            if address := _address_in(connector, args, options):
                host, port = address
                if is_blocked(host):
                    raise NetworkBlocked(refuse(host if port is None else f"{host}:{port}"))
            return function(*args, **options)

        return guarded

    with ExitStack() as patches:
        for connector in _connectors():
            patches.enter_context(patch.object(connector.owner, connector.function, guard(connector)))
        yield


def _address_in(connector: _Connector, args: Sequence[Any], options: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return the host and port that a call names; None for anything else, such as a path in the file system."""
    found = args[connector.place] if len(args) > connector.place else options.get(connector.name)
    if connector.name == "address":
        return (_host_text(found[0]), found[1]) if isinstance(found, tuple) else None
    if not isinstance(found, str | bytes):
        return None
    if connector.name == "server_hostname":
        return _host_text(found), None
    after = args[connector.place + 1] if len(args) > connector.place + 1 else options.get("port")
    return _host_text(found), after


def _host_text(host: Any) -> str:
    return host.decode("latin-1") if isinstance(host, bytes) else str(host)


def is_this_machine(host: Any) -> bool:
    """Return whether a name or address belongs to this machine."""
    name = _host_text(host).partition("%")[0]
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name in ("", "localhost") or name.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def is_provider(host: str) -> bool:
    """Return whether a host is a provider's."""
    return bool(provider_of_host(host.rstrip("."), ""))


@contextmanager
def block_websockets(refuse: RefusalText) -> Iterator[None]:
    """Block WebSockets of all common libraries that are installed during a `with` block."""

    def refused(*_: Any, **__: Any) -> Any:
        raise NetworkBlocked(refuse("a WebSocket"))

    with ExitStack() as patches:
        for module, owner, method in WEBSOCKET_OPENERS:
            found = getattr(_import_if_installed(module), owner, None) if owner else _import_if_installed(module)
            if hasattr(found, method):
                patches.enter_context(patch.object(found, method, refused))
        yield


def _import_if_installed(module: str) -> Any:
    """Import a module of an installed library; a legacy one, whose import warns, only if it is loaded already."""
    if ".legacy." in module or find_spec(module.partition(".")[0]) is None:
        return sys.modules.get(module)
    try:
        return import_module(module)
    except ImportError:  # a different release of the library
        return None
