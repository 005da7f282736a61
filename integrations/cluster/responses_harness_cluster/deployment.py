"""The deployment of servers that share their Worlds in Redis: what `serve --store redis://…` is made of."""

import asyncio
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from harness.core.errors import DISTRIBUTION, ConfigError
from harness.core.limits import Limits
from harness.server.control_plane.access import ControlAccess
from harness.server.deployment import DEFAULT_PREFIX, Deployment
from harness.server.http_server import App
from harness.server.mock_api import MockApi
from responses_harness_cluster.redis_log import RedisLog
from responses_harness_cluster.replicated_api import ReplicatedApi
from responses_harness_cluster.server_record import ServerRecord, digest_code, digest_settings
from responses_harness_cluster.shared_app import SharedApp


class Cluster(Deployment):
    """Keeps Worlds in Redis, at the URL `store`, for all servers with the same `prefix`."""

    def check(self, script: Path | None) -> None:
        """Raise ConfigError for a Python script, which alone has the state of its functions."""
        if script is not None and script.suffix == ".py":
            raise ConfigError(
                f"--store with --script {script}: a Python script is bound to one process, which alone has the "
                "state of its functions. Write it in YAML, send it to /_harness/script, or serve with --store memory."
            )

    @property
    def api_type(self) -> type[MockApi]:
        """The class of the server's mock."""
        return ReplicatedApi

    def limits_of_mock(self, limits: Limits) -> Limits:
        """Lift the limit of kept Worlds, as the app drops surplus Worlds itself."""
        return replace(limits, worlds=None)

    def make_app(self, api: MockApi, access: ControlAccess) -> App:
        """Create the app of a mock of `api_type`; ConfigError if the store cannot be used."""
        # The connection made here belongs to an event loop that ends at once; the app opens its own when it serves.
        asyncio.run(_try_store(self._make_log()))
        assert isinstance(api, ReplicatedApi)
        return SharedApp(api, self._make_log(), access, self.worlds)

    def _make_log(self) -> RedisLog:
        record = ServerRecord(version(DISTRIBUTION), digest_code(), digest_settings(self.settings or {}))
        return RedisLog(self.store, self.prefix or DEFAULT_PREFIX, record, self.seconds)


async def _try_store(log: RedisLog) -> None:
    await log.open()
    await log.close()
