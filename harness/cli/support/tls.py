"""`responses-harness serve --tls`: the certificate of a server, and what makes its clients trust it."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import typer

from harness.cli.support.app import print_note
from harness.core.errors import ConfigError

if TYPE_CHECKING:
    from harness.server.tls.certificate import ServerCertificate, ServerContext

EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Wildcard addresses to listen on, which clients cannot always connect to, each with one that they can."""


@dataclass(frozen=True)
class Secured:
    """The TLS setup of a server: the certificate, variables that make clients trust it, removal of the files."""

    certificate: ServerCertificate
    variables: Mapping[str, str]
    remove_files: Callable[[], None] = lambda: None


def secure(
    command: typer.Context, wanted: bool, file: Path | None, key: Path | None, host: str, names: Sequence[str]
) -> Secured | None:
    """Load or make the certificate of a server; None for plain HTTP, ConfigError for an invalid file.

    The files that make clients trust it are removed when the command ends.
    """
    if not (wanted or file):
        if key:
            raise ConfigError(
                f"--key {key}: this option is for the key of a --certificate FILE; pass API keys with --keys."
            )
        return None
    from harness.server.tls.certificate import load_certificate, make_certificate, require_cryptography
    from harness.server.tls.trust import write_trust

    require_cryptography("--certificate" if file else "--tls")
    hosts = [host, EVERY_ADDRESS.get(host, host), *([platform.node()] if host in EVERY_ADDRESS else []), *names]
    made = load_certificate(file, key) if file else make_certificate(hosts)
    made.context.report = lambda text: print_note(f"{text}.")
    if not made.anchors:
        return Secured(made, {})
    folder = TemporaryDirectory(prefix="harness-tls-")
    command.call_on_close(folder.cleanup)
    return Secured(made, write_trust(made.anchors, Path(folder.name), os.environ), folder.cleanup)


def origin_for_clients(secured: Secured | None, host: str, port: int) -> str:
    """Return the origin of a server's URLs, with a host name that is in its certificate."""
    from harness.server.http_server import origin_of

    if secured is None:
        return origin_of("http", host, port)
    return origin_of("https", secured.certificate.host_for(host), port)


def context_of(secured: Secured | None) -> ServerContext | None:
    """Return the TLS context of a server, or None."""
    return secured.certificate.context if secured else None
