"""The World of a key as bytes, for a process that has not carried out all of its requests and goes on from there.

They are a pickle of plain data: only classes of the harness and containers are made of it, whatever it holds, and what each
process has of its own (the table of models, the model that answers without a script) is named, not copied.
"""

from __future__ import annotations

import io
import pickle
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from types import MappingProxyType, MethodType
from typing import Any, NamedTuple
from weakref import ProxyType, proxy

from harness.core.delivery import Gate
from harness.core.file_content import BYTES_AS_TEXT, InMemory, OnDisk
from harness.core.garbage import paused_collection
from harness.core.ids import Ids
from harness.items.transcript import ItemChain
from harness.server.websocket.session import SocketSession
from harness.world.world import World

MOST_BYTES = 256 * 1024 * 1024
"""A larger snapshot, before it is compressed, is not made and not read."""
_CONTAINERS = frozenset(
    {
        ("builtins", "bytearray"),
        ("builtins", "dict"),
        ("builtins", "frozenset"),
        ("builtins", "set"),
        ("builtins", "str"),
        ("collections", "ChainMap"),
        ("collections", "OrderedDict"),
        ("collections", "defaultdict"),
        ("collections", "deque"),
        ("re", "_compile"),
    }
)


class SnapshotError(Exception):
    """A World that no bytes can be made of, or bytes of which no World can be made; the text says why."""


class Snapshot(NamedTuple):
    """The World of a key after some of its requests, and its open WebSockets."""

    world: World | None
    sessions: OrderedDict[str, SocketSession]


def encode_snapshot(snapshot: Snapshot, own_objects: Mapping[str, object]) -> bytes:
    """Encode a snapshot as bytes; `own_objects` are only named. SnapshotError if it is too large or holds running code."""
    made = _BoundedFile()
    try:
        with paused_collection():
            _Pickler(made, own_objects).dump((_links_in_order(snapshot.world), *snapshot))
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as problem:
        raise SnapshotError(str(problem)) from problem
    return zlib.compress(made.getbuffer(), 1)


def decode_snapshot(encoded: bytes, own_objects: Mapping[str, object]) -> Snapshot:
    """Decode a snapshot; SnapshotError for other bytes."""
    try:
        with paused_collection():
            _, *parts = _Unpickler(_decompress(encoded), own_objects).load()
            made = Snapshot(*parts)
    except Exception as problem:  # broken bytes raise anything
        raise SnapshotError(f"{type(problem).__name__}: {problem}") from problem
    if not isinstance(made.sessions, OrderedDict) or not isinstance(made.world, World | None):
        raise SnapshotError("it holds something else")
    return made


def _links_in_order(world: World | None) -> list[ItemChain]:
    """List the links of all chains of a World, first ones first: pickle would recurse into a link not seen before."""
    if world is None:
        return []
    store = world.store
    ends = [*(entry.chain for entry in store.responses.values()), *(entry.previous for entry in store.pending.values())]
    links: dict[int, ItemChain] = {}
    for end in (*ends, *(entry.chain for entry in store.conversations.values())):
        new: list[ItemChain] = []
        link: ItemChain | None = end
        # Chains share their beginnings, so each link is visited once however many responses follow it.
        while link is not None and id(link) not in links:
            new.append(link)
            link = link.previous
        # The walk goes backwards in time; pickle needs the oldest first.
        links |= {id(link): link for link in reversed(new)}
    return list(links.values())


class _BoundedFile(io.BytesIO):
    def write(self, data: Any) -> int:
        """Write bytes, unless there are too many of them."""
        if self.tell() + len(data) > MOST_BYTES:
            raise SnapshotError(f"it has more than {MOST_BYTES:,} bytes")
        return super().write(data)


def _decompress(encoded: bytes) -> io.BytesIO:
    expander = zlib.decompressobj()
    expanded = expander.decompress(encoded, MOST_BYTES)
    if not expander.eof:
        raise SnapshotError(f"it is cut, or has more than {MOST_BYTES:,} bytes")
    return io.BytesIO(expanded)


class _Own:
    """Stands for what each process has of its own; made with its name."""


class _WorldMethod:
    """Stands for a method of a World, which a connection has as its own."""

    def __new__(cls, world: Any, name: str) -> Any:
        if not isinstance(world, World):
            raise pickle.PickleError(f"{name} is a method of {type(world).__name__}, not of a World")
        return getattr(world, name)


class _WorldProxy:
    """Stands for the proxy of a World, which parts of it have."""

    def __new__(cls, world: Any) -> Any:
        return proxy(world)


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, own_objects: Mapping[str, object]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._names = {id(value): name for name, value in own_objects.items() if value is not None}

    def reducer_override(self, value: Any) -> Any:
        """Say how to rebuild a value that is only named, or that pickle cannot copy by itself."""
        if name := self._names.get(id(value)):
            return _Own, (name,)
        if isinstance(value, MappingProxyType):
            return dict, (dict(value),)
        if isinstance(value, OnDisk):
            # The file is in a folder of this process, which another cannot read and which ends with it.
            return InMemory, (value.read().decode(BYTES_AS_TEXT),)
        if type(value) is ProxyType:
            return _WorldProxy, (value.tick.__self__,)
        if isinstance(value, MethodType):
            return _WorldMethod, (value.__self__, value.__name__)
        if isinstance(value, Gate):
            return type(value), (), {"is_open": value.is_open}
        if isinstance(value, Ids):
            return Ids, (value.seed,), {name: part for name, part in vars(value).items() if name != "_hash"}
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, own_objects: Mapping[str, object]) -> None:
        super().__init__(file)
        self._own = own_objects

    def find_class(self, module: str, name: str) -> Any:
        """Find a class of the harness, or a container; refuse anything else, so that nothing else can be called."""
        if (module, name) == (_Own.__module__, _Own.__name__):
            return self._own.__getitem__
        if (module, name) not in _CONTAINERS:
            # A name with a dot reaches into a class, to functions that could be called.
            if not module.startswith("harness.") or "." in name:
                raise pickle.UnpicklingError(f"{module}.{name} is no part of a World")
            made = super().find_class(module, name)
            if not isinstance(made, type):
                raise pickle.UnpicklingError(f"{module}.{name} is no class")
            return made
        return super().find_class(module, name)
