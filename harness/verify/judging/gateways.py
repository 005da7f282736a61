"""Recognizes exchanges with a gateway: a user's own host that implements the API, perhaps below a path of its own.

A recording does not show whether an unknown host is a gateway, so the user must name it.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from harness.api.http.dialects import API_ROOTS, OPENAI, parse_api_path, root_of
from harness.api.operations import find_operation
from harness.cassettes.format.recorded import Recorded
from harness.core.errors import ConfigError

_SURE_PREFIX = "/responses"
"""Paths that no other API is known to have."""


def parse_host(text: str) -> str:
    """Parse `gateway.example`, `gateway.example:4000` or a URL as a host. ConfigError for anything else."""
    try:
        host = urlsplit(text if "//" in text else f"//{text}").hostname
    except ValueError:
        host = None
    if not host or any(mark in host for mark in "*, "):
        raise ConfigError(f"--host {text!r}: pass a host name, such as gateway.example; the option can be repeated.")
    return host


def adopt_gateway(recorded: Recorded, hosts: Collection[str]) -> Recorded:
    """Set the provider of an exchange, and reduce its path to the API's, if its host is in `hosts` or a subdomain."""
    if recorded.provider or not any(is_host_of(recorded.host, host) for host in hosts):
        return recorded
    # A gateway that keeps Azure's paths speaks Azure's dialect.
    if root_of(recorded.path) and (dialect := parse_api_path(recorded.path).dialect) != OPENAI:
        return recorded._replace(provider=dialect)
    below = _path_below_gateway(recorded)
    path = f"{API_ROOTS[OPENAI]}{below}" if below else recorded.path
    return recorded._replace(provider=OPENAI, path=path)


def is_host_of(host: str, named: str) -> bool:
    """Return whether a host is the named one or a subdomain of it."""
    return host.lower() == named or host.lower().endswith(f".{named}")


def looks_like_gateway(recorded: Recorded) -> bool:
    """Return whether an exchange with an unknown host has the path of a request for responses."""
    return not recorded.provider and bool(recorded.host) and _path_below_gateway(recorded).startswith(_SURE_PREFIX)


def _path_below_gateway(recorded: Recorded) -> str:
    """Find the longest suffix of a path that is an operation of the API; else empty."""
    parts = recorded.path.strip("/").split("/")
    below = ("/" + "/".join(parts[index:]) for index in range(len(parts)))
    return next((path for path in below if find_operation(recorded.method, path)[0]), "")
