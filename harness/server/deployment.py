"""Where a server keeps its Worlds: in memory, or where another distribution keeps them for `--store URL`.

A distribution provides a subclass of `Deployment` as an entry point of GROUP, named after the scheme of its URLs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import ConfigError
from harness.core.limits import STORED_SECONDS, Limits

if TYPE_CHECKING:
    from harness.server.control_plane.access import ControlAccess
    from harness.server.http_server import App
    from harness.server.mock_api import MockApi

MEMORY = "memory"
GROUP = "responses_harness.deployments"
DEFAULT_PREFIX = "harness"


@dataclass(frozen=True)
class Deployment:
    """Keeps the Worlds of a server in its memory; a subclass keeps them in a `store` that servers share.

    A shared store keeps a World for `seconds` after its last request, under keys that begin with `prefix`. Its servers
    must agree on the `settings`, by option. A server keeps at most `worlds` in memory, None for all.
    """

    store: str = MEMORY
    prefix: str = ""
    seconds: int = STORED_SECONDS
    settings: Mapping[str, object] | None = None
    worlds: int | None = None

    def check(self, script: Path | None) -> None:  # noqa: ARG002
        """Raise ConfigError for options that do not go together, or not with this script."""
        if self.prefix:
            raise ConfigError("--store-prefix applies only to a shared --store, redis://HOST:PORT/NUMBER.")

    @property
    def api_type(self) -> type[MockApi]:
        """The class of the server's mock."""
        from harness.server.mock_api import MockApi

        return MockApi

    def limits_of_mock(self, limits: Limits) -> Limits:
        """Return the limits of the mock for those of the server."""
        return limits

    def make_app(self, api: MockApi, access: ControlAccess) -> App:
        """Create the app of a mock of `api_type`; ConfigError if the store cannot be used."""
        from harness.server.http_server import App

        return App(api, access)


def find_deployment(store: str) -> type[Deployment]:
    """Find the deployment for a `--store`; ConfigError if no installed distribution provides one."""
    if store == MEMORY:
        return Deployment
    scheme, is_url, _ = store.partition("://")
    provided = {entry.name: entry for entry in entry_points(group=GROUP)}
    if is_url and scheme in provided:
        found: type[Deployment] = provided[scheme].load()
        return found
    if is_url and not provided:
        how = "pip install responses-harness-cluster (its source is integrations/cluster in the repository)"
        raise ConfigError(f"--store {scheme}://… needs another distribution: {how}.")
    # The address may hold a password, which no message may show.
    raise ConfigError(f"--store {store.partition('@')[2] or store}: pass `{MEMORY}`, or redis://HOST:PORT/NUMBER.")
