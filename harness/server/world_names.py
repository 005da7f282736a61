"""The names by which Worlds are shown to whoever may see all of a server; no name holds a key."""

from __future__ import annotations

from hashlib import blake2b

from harness.core.text.redact import redact
from harness.core.text.shorten import shorten
from harness.server.keyed_worlds import KeyedWorlds
from harness.world.world import World

MAX_NAME = 200
"""Characters of a name that are shown."""


def shown_name(world: World) -> str:
    """Return the name of a World; one without a name of its own is called by a hash of its key."""
    key = world.api_key
    if world.name == key:
        return f"key-{blake2b(key.encode(), digest_size=6).hexdigest()}"
    return shorten(str(redact(world.name, [key])), MAX_NAME)


def find_by_name(worlds: KeyedWorlds, name: str) -> World | None:
    """Find the World that is shown by a name, the newest of several; None without one."""
    return next((world for world in reversed(worlds.worlds.values()) if shown_name(world) == name), None)
