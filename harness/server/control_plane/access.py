"""Access to the control plane: remote clients need its token, and web pages under another host name are refused."""

import secrets
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hmac import compare_digest
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from harness.core.exchange import Answer
from harness.core.text import shorten, show
from harness.server.mock_api import CONTROL_ROOT

TOKEN_HEADER = "x-harness-token"
PUBLIC_PATHS = tuple(f"{CONTROL_ROOT}/{name}" for name in ("docs", "openapi.json", "health", "view"))
"""Paths that need no token, as they reveal nothing about a World: browsers and probes cannot send one."""


@dataclass(frozen=True)
class ControlAccess:
    """The token of a control plane, empty if it needs none, and the host names by which it may be addressed.

    IP addresses are always permitted: a page led here by DNS rebinding sends the host name of its own origin.
    """

    token: str = ""
    hosts: Sequence[str] = ()
    is_new: bool = False
    """Whether the token was generated, and so must be shown to the user."""

    def refuse(self, path: str, headers: Mapping[str, str]) -> Answer | None:
        """Return the refusal of a control request, or None if it is permitted."""
        host = headers.get("host", "localhost")
        if not self._is_named(host):
            return _refusal(
                403,
                f"Host {show(host, 100)} is not a name of this server. Send the request to its address, or "
                f"start it with `--allowed-host {shorten(_name_of(host)) or 'NAME'}`.",
            )
        sent = headers.get(TOKEN_HEADER, "").encode()
        if self.token and path not in PUBLIC_PATHS and not compare_digest(sent, self.token.encode()):
            return _refusal(
                401,
                f"The control plane of this server needs its token: send `{TOKEN_HEADER}: …` with the value of "
                "`--control-token`, or of the HARNESS_CONTROL_TOKEN that the server printed.",
            )
        return None

    def _is_named(self, host: str) -> bool:
        name = _name_of(host)
        return name in ("localhost", *self.hosts) or name.endswith(".localhost") or _is_address(name)


LOOPBACK_ACCESS = ControlAccess()
"""Access without a token, under no name but localhost."""


def control_access(host: str, token: str = "", hosts: Sequence[str] = ()) -> ControlAccess:
    """Build the access rules of a server that listens on `host`.

    Off loopback a token is generated unless one is given.
    """
    made = "" if token or _is_loopback(host) else secrets.token_urlsafe(24)
    return ControlAccess(token or made, [name.lower() for name in (host, *hosts)], bool(made))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0][4][0]).is_loopback
    except (OSError, ValueError):  # a server cannot listen there either
        return False


def _name_of(host: str) -> str:
    """Return the lower-case host name or address in a `Host` header, or an empty string if the header is invalid."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _refusal(status: int, message: str) -> Answer:
    error: dict[str, Any] = {"message": message, "type": "harness_error"}
    return Answer(status, {"error": error}, {"content-type": "application/json"})
