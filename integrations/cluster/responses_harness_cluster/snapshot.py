"""The World of a key as bytes, for a process that continues it without having applied all of its requests.

The bytes are a pickle restricted to plain data: it can only create containers and classes of the harness, whatever it
contains. Objects that each process has its own copy of (the table of models, the fallback model) are stored by name.
"""

import io
import pickle
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from types import MappingProxyType, MethodType
from typing import Any, NamedTuple
from weakref import ProxyType, proxy

from harness.core.delivery import Gate
from harness.core.exchange import BYTES_AS_TEXT, InMemory, OnDisk
from harness.core.ids import Ids
from harness.core.limits import paused_collection
from harness.items.transcript import ItemChain
from harness.server.websocket.session import SocketSession
from harness.world.world import World

MOST_BYTES = 256 * 1024 * 1024
"""Size limit in bytes of an uncompressed snapshot; larger ones are neither made nor read."""
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
    """Raised for a World that cannot be encoded, or bytes that cannot be decoded; the text says why."""


class Snapshot(NamedTuple):
    """The World of a key after some of its requests, and its open WebSockets."""

    world: World | None
    sessions: OrderedDict[str, SocketSession]


def encode_snapshot(snapshot: Snapshot, own_objects: Mapping[str, object]) -> bytes:
    """Encode a snapshot; `own_objects` are stored by name. SnapshotError if it is too large or holds running code."""
    made = _BoundedFile()
    try:
        with paused_collection():
            _Pickler(made, own_objects).dump((_links_in_order(snapshot.world), *snapshot))
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as problem:
        raise SnapshotError(str(problem)) from problem
    return zlib.compress(made.getbuffer(), 1)


def decode_snapshot(encoded: bytes, own_objects: Mapping[str, object]) -> Snapshot:
    """Decode a snapshot; SnapshotError for anything else."""
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
    """List the links of all chains of a World, oldest first, as pickle would recurse into each link it had not seen."""
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
        """Write bytes; SnapshotError if the file would grow too large."""
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
    """A placeholder for an object that each process has its own copy of; called with its name."""


class _WorldMethod:
    """Rebuilds a method of a World, which a connection holds as an attribute."""

    def __new__(cls, world: Any, name: str) -> Any:
        if not isinstance(world, World):
            raise pickle.PickleError(f"{name} is a method of {type(world).__name__}, not of a World")
        return getattr(world, name)


class _WorldProxy:
    """Rebuilds a proxy of a World, which parts of the World hold."""

    def __new__(cls, world: Any) -> Any:
        return proxy(world)


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, own_objects: Mapping[str, object]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._names = {id(value): name for name, value in own_objects.items() if value is not None}

    def reducer_override(self, value: Any) -> Any:
        """Return how to rebuild values that are stored by name or that pickle cannot copy."""
        if name := self._names.get(id(value)):
            return _Own, (name,)
        if isinstance(value, MappingProxyType):
            return dict, (dict(value),)
        if isinstance(value, OnDisk):
            # The file is in a folder of this process: others cannot read it, and it is deleted with the process.
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
        """Find a class of the harness, or a container.

        Anything else is refused, so that no other code can be called.
        """
        if (module, name) == (_Own.__module__, _Own.__name__):
            return self._own.__getitem__
        if (module, name) not in _CONTAINERS:
            # A name with a dot reaches into a class, to functions that could be called.
            if not module.startswith(("harness.", f"{__package__}.")) or "." in name:
                raise pickle.UnpicklingError(f"{module}.{name} is not a part of a World")
            made = super().find_class(module, name)
            if not isinstance(made, type):
                raise pickle.UnpicklingError(f"{module}.{name} is not a class")
            return made
        return super().find_class(module, name)
