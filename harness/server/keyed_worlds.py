"""The Worlds of one server, each found by the API key of a request."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from time import perf_counter, time
from typing import Any

from harness.api.http.dialects import FOUNDRY, OPENAI, check_dialect
from harness.core.advice_wording import Vocabulary
from harness.core.dates import parse_as_of
from harness.core.exchange import EMPTY_MAPPING
from harness.core.secret_prefixes import redact
from harness.core.text import shorten
from harness.foundry.blobs import signing_key
from harness.world.mock import Mock
from harness.world.refusals import StrayLog
from harness.world.world import Courier, World, WorldOptions

KEY_PREFIX = "sk-"
MAX_CLOSED = 10_000
"""How many closed Worlds are remembered by name; the oldest are forgotten first."""
SLICE_SECONDS = 0.01
"""How long a walk over all Worlds may keep a server from its clients."""


def opens_world(key: str, dialect: str, keys: Container[str] | None) -> bool:
    """Return whether a key leads to a World of its own; `keys` lists the only ones, None means all well-formed keys."""
    own = dialect != OPENAI or (key.startswith(KEY_PREFIX) and key != KEY_PREFIX)
    return own if keys is None else key in keys


def key_of(headers: Mapping[str, str], dialect: str, query: Mapping[str, Any]) -> str | None:
    """Read the key of a request in a dialect: Azure's dialects also take `api-key`, Foundry also a signed URL."""
    if dialect == OPENAI:
        return _read_bearer(headers.get("authorization", ""))
    key = headers.get("api-key") or bearer_key(headers)
    return signing_key(query) if key is None and query and dialect == FOUNDRY else key


def bearer_key(headers: Mapping[str, str]) -> str | None:
    """Read the API key from the bearer token of a request; None if there is no bearer authentication."""
    return _read_bearer(headers.get("authorization", ""))


@lru_cache(maxsize=256)
def _read_bearer(authorization: str) -> str | None:
    scheme, _, key = authorization.partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


class KeyedWorlds:
    """All Worlds of one server, by API key; each begins with the same `options`.

    With `keys` None, any key that starts with `sk-` opens a World of its own; otherwise only the named keys are known.
    `prepare` and then `on_opened` are called with each new World, `on_closed` with a World about to be forgotten. When
    there are too many Worlds, the least recently used is dropped and counted in `dropped_count`. `strays` are the
    newest API requests without a World. `scheme` is the scheme of the URLs that Worlds hand out, `courier` delivers to
    their webhooks.
    """

    scheme = "http"
    courier: Courier | None = None

    def __init__(
        self,
        keys: Sequence[str] | None,
        options: WorldOptions,
        prepare: Callable[[Mock], None],
        on_opened: Callable[[World], None],
        on_closed: Callable[[World], None],
    ) -> None:
        self.worlds: OrderedDict[str, World] = OrderedDict()
        self._names: dict[str, str] = {}
        self.dropped_count = 0
        self.strays = StrayLog()
        self.options = options
        self.dialect = check_dialect(options.dialect)
        self.as_of = parse_as_of(options.as_of)
        self.known_keys = None if keys is None else frozenset(keys)
        self._prepare = prepare
        self._on_opened = on_opened
        self._on_closed = on_closed
        self._aliases: dict[str, str] = {}
        self._closed: OrderedDict[str, str] = OrderedDict()
        self._dropped: OrderedDict[str, None] = OrderedDict()

    def open(self, key: str, name: str = "", base_url: str = "", vocabulary: Vocabulary | None = None) -> Mock:
        """Open the World of a key, creating it if needed, and return a `Mock` for it.

        `vocabulary` words its messages.
        """
        return Mock(self._open_world(key, name, base_url, vocabulary))

    def _open_world(self, key: str, name: str = "", base_url: str = "", vocabulary: Vocabulary | None = None) -> World:
        if key not in self.worlds:
            options = replace(self.options, vocabulary=vocabulary) if vocabulary else self.options
            world = World(name or key, api_key=key, base_url=base_url, options=options)
            if self.scheme != world.scheme:
                world.scheme = self.scheme
            if key in self._dropped:
                world.was_dropped = True
            if self.courier is not None:
                world.courier = self.courier
            world.hear_strays(self.strays)
            world.created = time()
            self._prepare(Mock(world))
            self._on_opened(world)
            self.put_world(world)
        return self.worlds[key]

    def put_world(self, world: World) -> None:
        """Add a World that was made elsewhere, under its own key."""
        self.worlds[world.api_key] = world
        self._names[world.api_key] = shown_name(world)
        self._drop_least_recently_used()

    def take_world(self, key: str) -> World | None:
        """Remove the World of a key and return it; None if it is not open."""
        self._names.pop(key, None)
        return self.worlds.pop(key, None)

    async def each_world(self) -> AsyncIterator[World]:
        """Yield the open Worlds, the last used at the end, and serve clients after each SLICE_SECONDS and at the end.

        What opens meanwhile is not yielded, nor what closes before its turn.
        """
        begun = perf_counter()
        for key, world in list(self.worlds.items()):
            if self.worlds.get(key) is world:
                yield world
            if perf_counter() - begun > SLICE_SECONDS:
                await asyncio.sleep(0)
                begun = perf_counter()
        await asyncio.sleep(0)

    def find_by_name(self, name: str) -> World | None:
        """Return the newest World with this display name, or None."""
        found = (key for key, shown in reversed(self._names.items()) if shown == name and key in self.worlds)
        return self.worlds.get(next(found, ""))

    def _drop_least_recently_used(self) -> None:
        if self.options.limits.worlds is not None and len(self.worlds) > self.options.limits.worlds:
            key = next(iter(self.worlds))
            self.close(key)
            self.dropped_count += 1
            self._dropped[key] = None
            if len(self._dropped) > MAX_CLOSED:
                self._dropped.popitem(last=False)

    def add_alias(self, alias: str, key: str) -> None:
        """Let another key lead to the World of `key` until that World is closed."""
        self._aliases[alias] = key

    def close(self, key: str) -> None:
        """Forget a World and its aliases."""
        self._dropped.pop(key, None)
        if world := self.take_world(key):
            self._on_closed(world)
            world.heard_strays.end()
            for name in (key, *(alias for alias, of in self._aliases.items() if of == key)):
                self._closed[name] = world.name
                self._aliases.pop(name, None)
        while len(self._closed) > MAX_CLOSED:
            self._closed.popitem(last=False)

    def world_of(
        self, headers: Mapping[str, str], dialect: str = OPENAI, query: Mapping[str, Any] = EMPTY_MAPPING
    ) -> World | None:
        """Find the World a request belongs to; None when its key leads to no World.

        Azure's dialects also accept an `api-key`, and neither that nor their bearer tokens have a fixed form.
        """
        key = key_of(headers, dialect, query)
        if key is None:
            return None
        world = self.worlds.get(self._aliases.get(key, key))
        if world is None:
            return self._open_world(key) if opens_world(key, dialect, self.known_keys) else None
        if self.options.limits.worlds is not None:  # keeps the Worlds in order of last use
            self.worlds.move_to_end(world.api_key)
        return world

    def name_closed(self, key: str) -> str:
        """Return the name of the World that a key led to until it was closed, or an empty string."""
        return self._closed.get(key, "")


MAX_NAME = 200
"""How many characters of a World's name are shown."""


def shown_name(world: World) -> str:
    """Return the display name of a World; an unnamed World is shown by a hash of its key."""
    key = world.api_key
    if world.name == key:
        return f"key-{blake2b(key.encode(), digest_size=6).hexdigest()}"
    return shorten(str(redact(world.name, [key])), MAX_NAME)
