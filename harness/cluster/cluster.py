"""The number of processes and the place of their Worlds: what `harness serve` makes of `--workers` and `--store`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from harness.core.errors import ConfigError
from harness.core.extras import DISTRIBUTION, require_extra
from harness.core.limits import STORED_SECONDS, Limits

if TYPE_CHECKING:
    from harness.cluster.sharing.redis_log import RedisLog
    from harness.cluster.workers.channel import Channel
    from harness.cluster.workers.dispatcher import Dispatcher
    from harness.server.asgi import App, Listening
    from harness.server.control_plane.access import ControlAccess
    from harness.server.mock_api import MockApi
    from harness.server.tls.context import ServerContext

MEMORY = "memory"
SCHEMES = ("redis://", "rediss://", "unix://")
DEFAULT_PREFIX = "harness"


@dataclass(frozen=True)
class Cluster:
    """Processes (`workers`) behind one port, with their Worlds in a `store`: in memory, or shared with other servers.

    A shared store keeps a World for `seconds` after its last request, under keys that begin with `prefix`; all its
    servers must agree on the `settings`, which are named by their options. A server keeps at most `worlds` in memory,
    None for all.
    """

    workers: int = 1
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
        is_python = script is not None and script.suffix == ".py"
        self._check_store(script if is_python else None)
        if self.workers == 1:
            return
        # Workers inherit the listening socket and the loaded schemas, which spawned processes would load again.
        if not hasattr(os, "fork"):
            raise ConfigError("--workers: this system cannot fork processes. Serve with one.")
        if is_python:
            raise ConfigError(
                f"--workers {self.workers} with --script {script}: a Python script is bound to one process, which "
                "alone has the state of its functions. Write it in YAML, send it to /_harness/script, or serve with one "
                "worker."
            )

    def _check_store(self, python_script: Path | None) -> None:
        if not self.is_shared:
            if self.prefix:
                raise ConfigError("--store-prefix applies only to a shared --store, redis://HOST:PORT/NUMBER.")
            return
        if not self.store.startswith(SCHEMES):
            # The address may hold a password, which no message may show.
            shown = self.store.partition("@")[2] or self.store
            raise ConfigError(f"--store {shown}: pass `{MEMORY}`, or redis://HOST:PORT/NUMBER.")
        if python_script:
            raise ConfigError(
                f"--store with --script {python_script}: a Python script is bound to one process, which alone has the "
                "state of its functions. Write it in YAML, send it to /_harness/script, or serve with --store memory."
            )
        require_extra(f"--store {SCHEMES[0]}…", "redis", "cluster", "redis", "hiredis")

    @property
    def api_type(self) -> type[MockApi]:
        """The class of each process's mock."""
        from harness.server.mock_api import MockApi

        if self.is_shared:
            from harness.cluster.sharing.replicated_api import ReplicatedApi

            return ReplicatedApi
        if self.workers > 1:
            from harness.cluster.workers.worker import WorkerApi

            return WorkerApi
        return MockApi

    def limits_of_mock(self, limits: Limits) -> Limits:
        """Divide the limit of kept Worlds among the workers; with a shared store the app itself drops surplus Worlds."""
        if self.is_shared:
            return replace(limits, worlds=None)
        return replace(limits, worlds=limits.worlds and -(-limits.worlds // self.workers))

    def make_app(self, api: MockApi, access: ControlAccess) -> App:
        """Create the app of a mock of `api_type`; ConfigError if the store cannot be used."""
        # The connection made here belongs to an event loop that ends at once; the app opens its own when it serves.
        if self.is_shared:
            asyncio.run(_try_store(self._make_log()))
        return self._make_app(api, access)

    def _make_app(self, api: MockApi, access: ControlAccess) -> App:
        from harness.server.asgi import App

        if not self.is_shared:
            return App(api, access)
        from harness.cluster.sharing.replicated_api import ReplicatedApi
        from harness.cluster.sharing.shared_app import SharedApp

        assert isinstance(api, ReplicatedApi)
        return SharedApp(api, self._make_log(), access, self.worlds)

    def _make_log(self) -> RedisLog:
        from harness.cluster.sharing.redis_log import RedisLog
        from harness.cluster.sharing.server_record import ServerRecord, digest_code, digest_settings

        record = ServerRecord(version(DISTRIBUTION), digest_code(), digest_settings(self.settings or {}))
        return RedisLog(self.store, self.prefix or DEFAULT_PREFIX, record, self.seconds)

    @contextmanager
    def dispatcher(
        self,
        app: App,
        listening: Listening,
        watch: Callable[[App], App],
        report: Callable[[str], None],
        at_end: Callable[[App, int], None],
        *,
        sums_metrics: bool,
        tls: ServerContext | None = None,
    ) -> Iterator[Dispatcher]:
        """Yield the dispatcher of workers that answer as `app` does.

        Each worker first calls `watch` with its app, and at its end `at_end` with that app and the number of requests
        without a complete answer. `report` receives a line about each worker that ended unexpectedly. With
        `sums_metrics`, the workers' metrics are summed.
        """
        from harness.cluster.workers.dispatcher import Dispatcher
        from harness.cluster.workers.request_key import KeyReader
        from harness.cluster.workers.worker import Worker

        keys = KeyReader(app.api.dialect, app.api.known_keys)

        def run_worker(number: int, channel: Channel, lost: Sequence[str]) -> int:
            if folder:
                os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # prometheus_client reads it when it is imported
            watched = watch(self._make_app(app.api, app.access))
            if folder:
                from harness.cluster.worker_metrics import WorkerMetrics

                watched.metrics = WorkerMetrics(Path(folder), watched.tick).answer
            watched.api.worker_count = self.workers
            watched.api.mark_dropped(lost)
            cut_off = Worker(watched, channel, keys, is_first=number == 0).run()
            watched.flush()
            at_end(watched, cut_off)
            sys.stderr.flush()
            return 0

        with TemporaryDirectory(prefix="harness-") if sums_metrics else nullcontext() as folder:
            yield Dispatcher(listening, self.workers, keys, run_worker, report, not self.is_shared, tls)


async def _try_store(log: RedisLog) -> None:
    await log.open()
    await log.close()
