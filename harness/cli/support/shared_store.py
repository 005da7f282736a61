"""`harness serve --store redis://…`: the app of a server that shares its Worlds with others."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.errors import ConfigError
from harness.core.extras import DISTRIBUTION, require_extra

if TYPE_CHECKING:
    from harness.server.control_plane.access import ControlAccess
    from harness.server.mock_api import MockApi
    from harness.server.sharing.redis_log import RedisLog
    from harness.server.sharing.shared_app import SharedApp

MEMORY = "memory"
SCHEMES = ("redis://", "rediss://", "unix://")
DEFAULT_PREFIX = "harness"


def check_store(url: str, prefix: str, script: Path | None) -> bool:
    """Tell whether a store is shared; ConfigError for an unknown one, or with a script that cannot be shared."""
    if url == MEMORY:
        if prefix:
            raise ConfigError("--store-prefix: it is for a shared --store, redis://HOST:PORT/NUMBER.")
        return False
    if not url.startswith(SCHEMES):
        raise ConfigError(f"--store {url.partition('@')[2] or url}: give `{MEMORY}`, or redis://HOST:PORT/NUMBER.")
    if script is not None and script.suffix == ".py":
        raise ConfigError(
            f"--store with --script {script}: a script in Python stays with one process, which alone knows what its "
            "functions have done. Write it in YAML, send it to /_harness/script, or serve with --store memory."
        )
    require_extra(f"--store {SCHEMES[0]}…", "redis", "redis", "redis", "hiredis")
    return True


def make_shared_app(
    api: MockApi,
    access: ControlAccess,
    url: str,
    prefix: str,
    seconds: int,
    settings: Mapping[str, str],
    worlds: int | None,
    *,
    is_tried: bool = False,
) -> SharedApp:
    """Make the app of a server that shares its Worlds; ConfigError when the store cannot be used, unless that `is_tried`."""
    from harness.server.sharing.redis_log import RedisLog
    from harness.server.sharing.replicated_api import ReplicatedApi
    from harness.server.sharing.server_record import ServerRecord, digest_code
    from harness.server.sharing.shared_app import SharedApp

    assert isinstance(api, ReplicatedApi)
    log = RedisLog(url, prefix or DEFAULT_PREFIX, ServerRecord(version(DISTRIBUTION), digest_code(), settings), seconds)
    if not is_tried:
        asyncio.run(_try_store(log))
    return SharedApp(api, log, access, worlds)


async def _try_store(log: RedisLog) -> None:
    await log.open()
    await log.close()


def settings_record(options: Mapping[str, object]) -> dict[str, str]:
    """List options by name for comparison between servers: files by content, others by value."""
    return {f"--{name}": _digest(value) if isinstance(value, Path) else str(value) for name, value in options.items()}


def _digest(file: Path) -> str:
    return blake2b(file.read_bytes(), digest_size=8).hexdigest()
