"""Containers in which the API runs code, and their files: plain objects, with the API's own members and order.

A container expires when it has not been used for a number of minutes; it stays listed, but its files are gone.
"""

from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol
from weakref import proxy

from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.ids import Ids
from harness.core.json_values import pick

CONTAINER_ID_PREFIX = "cntr_"
"""The prefix of container ids; they have 48 hex digits."""
FILE_DIRECTORY = "/mnt/data"
DEFAULT_LIFETIME: Json = {"anchor": "last_active_at", "minutes": 20}
"""The documented expiration of a container."""
DEFAULT_MEMORY = "1g"
AUTO_NAME = "auto"
"""The name of a container created by a tool call (assumed)."""
CODE_CALL = "code_interpreter_call"
_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c63646062fe0f000144010c9fdc4d5a0000000049454e44ae426082"
)
"""An image of one pixel: the content of a cited image that no test provided."""


class ContainerFile(NamedTuple):
    """A file in a container: its object as the API shows it, and its bytes."""

    object: Json
    data: bytes


@dataclass(slots=True)
class Container:
    """A container: its object without a status, and its files by id."""

    object: Json
    files: dict[str, ContainerFile] = field(default_factory=dict)

    @property
    def expires_at(self) -> int:
        """The unix seconds at which it expires unless it is used."""
        return int(self.object["last_active_at"]) + 60 * int(self.object["expires_after"]["minutes"])


def new_container(id: str, now: int, body: Json) -> Container:
    """Make a new container without files from a body of `POST /containers`."""
    made: Json = {
        "id": id,
        "object": "container",
        "created_at": now,
        "expires_after": body.get("expires_after") or DEFAULT_LIFETIME,
        "last_active_at": now,
        "memory_limit": body.get("memory_limit") or DEFAULT_MEMORY,
        "name": body.get("name") or AUTO_NAME,
    }
    if policy := body.get("network_policy"):
        made["network_policy"] = pick(policy, "type", "allowed_domains")
    return Container(made)


class ContainersOwner(Protocol):
    """The World of the containers: its ids, its clock."""

    ids: Ids
    now: int


class Containers:
    """The containers of a World. Until it has one, any id in a request is accepted."""

    def __init__(self, owner: ContainersOwner, containers: MutableMapping[str, Container]) -> None:
        self._containers = containers
        self._touched = False
        self._owner: ContainersOwner = proxy(owner)  # no reference cycle: a World is freed at once, with its contents

    @property
    def has_known(self) -> bool:
        """Whether the key has created a container itself; if not, unknown ids are accepted."""
        return self._touched

    def add(self, body: Json) -> str:
        """Create a container without files from a body of `POST /containers`; returns its id."""
        self._touched = True
        return self._make(self._owner.ids.hex(CONTAINER_ID_PREFIX, 48), body)

    def find(self, id: str) -> Container | None:
        """Return the container of this id, expired or not; None if it is unknown."""
        return self._containers.get(id)

    def is_expired(self, id: str) -> bool:
        """Return whether the container of this id exists and has expired."""
        found = self._containers.get(id)
        return found is not None and found.expires_at <= self._owner.now

    def mark_used(self, id: str) -> None:
        """Postpone a container's expiry, unless it has already expired."""
        container = self._containers[id]
        if not self.is_expired(id):
            container.object = {**container.object, "last_active_at": self._owner.now}
            self._containers[id] = container

    def render(self, id: str) -> Json:
        """Render a container as the API shows it."""
        own = self._containers[id].object
        head = {name: own[name] for name in ("id", "object", "created_at")}
        return {**head, "status": "expired" if self.is_expired(id) else "running", **own}

    def add_file(self, id: str, name: str, data: bytes, *, source: str = "user", file_id: str | None = None) -> Json:
        """Add a file to a container, by default under a new id; returns its object. ConfigError for an unknown one.

        `name` is a path in the container, or a name in its directory of files.
        """
        if id not in self._containers:
            known = ", ".join(self._containers) or "none"
            raise ConfigError(f"container_file({id!r}): no such container for this key; its containers: {known}.")
        container = self._containers[id]
        made: Json = {
            "id": file_id or self._owner.ids.hex("cfile_", 32),
            "object": "container.file",
            "created_at": self._owner.now,
            "bytes": len(data),
            "container_id": id,
            "path": name if name.startswith("/") else f"{FILE_DIRECTORY}/{name}",
            "source": source,
        }
        container.files[made["id"]] = ContainerFile(made, data)
        self._containers[id] = container
        return made

    def delete(self, id: str, file_id: str | None = None) -> None:
        """Delete a container, or one of its files."""
        self._touched = True
        if file_id is None:
            self._containers.pop(id, None)
            return
        container = self._containers[id]
        container.files.pop(file_id, None)
        self._containers[id] = container

    def of_next_call(self, tools: Iterable[Json], earlier: Iterable[Json]) -> str:
        """Return the container for a call without one: the tool's, that of the last of `earlier` calls, or a new id."""
        named = [tool.get("container") for tool in tools if tool.get("type") == "code_interpreter"]
        if id := next((container for container in named if isinstance(container, str)), ""):
            return id
        used = [item["container_id"] for item in earlier if item.get("type") == CODE_CALL and item.get("container_id")]
        last = str(used[-1]) if used else ""
        reused = last in self._containers and not self.is_expired(last)
        return last if reused else self._owner.ids.hex(CONTAINER_ID_PREFIX, 48)

    def note_output(self, output: Iterable[Json], settings: Json) -> list[str]:
        """Create the containers and files that a response's output names; returns the containers that calls created.

        `settings` are those of an automatic container in the request's tool.
        """
        made = []
        for item in output:
            for id in _named_containers(item):
                if id not in self._containers:
                    made.append(self._make(id, settings))
                self.mark_used(id)
            for note in _container_citations(item):
                self._cite(note)
        return made

    def _make(self, id: str, body: Json) -> str:
        self._containers[id] = new_container(id, self._owner.now, body)
        return id

    def _cite(self, note: Json) -> None:
        container, file, name = (note.get(member) for member in ("container_id", "file_id", "filename"))
        if not (isinstance(container, str) and isinstance(file, str)):
            return
        if container not in self._containers:
            self._make(container, {})
        if file not in self._containers[container].files:
            name = str(name or file)
            data = _PIXEL if name.endswith(".png") else f"{name}\n".encode()
            self.add_file(container, name, data, source="assistant", file_id=file)


def _named_containers(item: Json) -> list[str]:
    """Return the containers in which a call has run."""
    environment = item.get("environment")
    named = item.get("container_id") if item.get("type") == CODE_CALL else None
    if isinstance(environment, dict) and environment.get("type") == "container_reference":
        named = environment.get("container_id")
    return [named] if isinstance(named, str) else []


def _container_citations(item: Json) -> list[Json]:
    """Return the citations in a message that name a container's file."""
    parts = item.get("content") if item.get("type") == "message" else None
    notes = [note for part in parts or () for note in part.get("annotations") or ()]
    return [note for note in notes if note.get("type") == "container_file_citation"]
