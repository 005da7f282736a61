"""The place of the Worlds of a server: what `harness serve` makes of `--store`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import ConfigError
from harness.core.extras import DISTRIBUTION, require_extra
from harness.core.limits import STORED_SECONDS, Limits

if TYPE_CHECKING:
    from harness.cluster.sharing.redis_log import RedisLog
    from harness.server.asgi import App
    from harness.server.control_plane.access import ControlAccess
    from harness.server.mock_api import MockApi

MEMORY = "memory"
SCHEMES = ("redis://", "rediss://", "unix://")
DEFAULT_PREFIX = "harness"


@dataclass(frozen=True)
class Cluster:
    """A server's Worlds in a `store`: in memory, or shared with other servers.

    A shared store keeps a World for `seconds` after its last request, under keys that begin with `prefix`; all its
    servers must agree on the `settings`, which are named by their options. A server keeps at most `worlds` in memory,
    None for all.
    """

    store: str = MEMORY
    prefix: str = ""
    seconds: int = STORED_SECONDS
    settings: Mapping[str, object] | None = None
    worlds: int | None = None

    @property
    def is_shared(self) -> bool:
        """Whether Worlds are in a store that servers share."""
        return self.store != MEMORY

    def check(self, script: Path | None) -> None:
        """Raise ConfigError for options that do not go together or with this script, and for missing packages."""
        if not self.is_shared:
            if self.prefix:
                raise ConfigError("--store-prefix applies only to a shared --store, redis://HOST:PORT/NUMBER.")
            return
        if not self.store.startswith(SCHEMES):
            # The address may hold a password, which no message may show.
            shown = self.store.partition("@")[2] or self.store
            raise ConfigError(f"--store {shown}: pass `{MEMORY}`, or redis://HOST:PORT/NUMBER.")
        if script is not None and script.suffix == ".py":
            raise ConfigError(
                f"--store with --script {script}: a Python script is bound to one process, which alone has the "
                "state of its functions. Write it in YAML, send it to /_harness/script, or serve with --store memory."
            )
        require_extra(f"--store {SCHEMES[0]}…", "redis", "cluster", "redis", "hiredis")

    @property
    def api_type(self) -> type[MockApi]:
        """The class of the server's mock."""
        from harness.server.mock_api import MockApi

        if self.is_shared:
            from harness.cluster.sharing.replicated_api import ReplicatedApi

            return ReplicatedApi
        return MockApi

    def limits_of_mock(self, limits: Limits) -> Limits:
        """Lift the limit of kept Worlds for a shared store, whose app drops surplus Worlds itself."""
        return replace(limits, worlds=None) if self.is_shared else limits

    def make_app(self, api: MockApi, access: ControlAccess) -> App:
        """Create the app of a mock of `api_type`; ConfigError if the store cannot be used."""
        from harness.server.asgi import App

        if not self.is_shared:
            return App(api, access)
        # The connection made here belongs to an event loop that ends at once; the app opens its own when it serves.
        asyncio.run(_try_store(self._make_log()))
        from harness.cluster.sharing.replicated_api import ReplicatedApi
        from harness.cluster.sharing.shared_app import SharedApp

        assert isinstance(api, ReplicatedApi)
        return SharedApp(api, self._make_log(), access, self.worlds)

    def _make_log(self) -> RedisLog:
        from harness.cluster.sharing.redis_log import RedisLog
        from harness.cluster.sharing.server_record import ServerRecord, digest_code, digest_settings

        record = ServerRecord(version(DISTRIBUTION), digest_code(), digest_settings(self.settings or {}))
        return RedisLog(self.store, self.prefix or DEFAULT_PREFIX, record, self.seconds)


async def _try_store(log: RedisLog) -> None:
    await log.open()
    await log.close()
