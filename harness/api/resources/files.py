"""What was uploaded, and the vector stores made of it: plain objects, with the members and the order of the API's own.

Files come into a vector store `in_progress`, and are `completed` when it is next read, so that clients that poll see both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from harness.core.account import Organization
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.ids import Ids

STORE_ID_PREFIX = "vs_"
"""How the id of a vector store begins."""
DAY = 86_400
BATCH_FILE_LIFETIME = 30 * DAY
"""Seconds after which a file for a batch expires, unless it is told otherwise."""
STORE_MEMBERS = ("name", "description", "metadata", "expires_after", "chunking_strategy")
"""What a vector store may be made with, besides its files."""
FILE_STATES = ("in_progress", "completed", "failed", "cancelled")
DEFAULT_CHUNKING: Json = {"max_chunk_size_tokens": 800, "chunk_overlap_tokens": 400}
"""How a file is cut unless it is told otherwise; the documented default."""


class File(NamedTuple):
    """An uploaded file: its object as the API shows it, and its bytes."""

    object: Json
    data: bytes


def new_file(id: str, name: str, data: bytes, purpose: str, now: int, expires_after: int | None = None) -> File:
    """A file uploaded `now`, which expires that many seconds later; without a number never, unless it is for a batch."""
    lasts = expires_after or (BATCH_FILE_LIFETIME if purpose == "batch" else None)
    made = {
        "object": "file",
        "id": id,
        "purpose": purpose,
        "filename": name,
        "bytes": len(data),
        "created_at": now,
        "expires_at": now + lasts if lasts else None,
        "status": "processed",
        "status_details": None,
    }
    return File(made, data)


@dataclass(slots=True)
class FileBatch:
    """Files that came into a vector store together: the batch's object without its counts, and the ids of the files."""

    object: Json
    files: Sequence[str]


@dataclass(slots=True)
class VectorStore:
    """A vector store: its object without what is counted, its files as the store shows them, its batches, all by id."""

    object: Json
    files: dict[str, Json] = field(default_factory=dict)
    batches: dict[str, FileBatch] = field(default_factory=dict)

    def attach(self, file: File, now: int, body: Json) -> Json:
        """Take in a file, with the `attributes` and the `chunking_strategy` of a body; it is still in progress then."""
        made = {
            "id": file.object["id"],
            "object": "vector_store.file",
            "usage_bytes": len(file.data),
            "created_at": now,
            "vector_store_id": self.object["id"],
            "status": "in_progress",
            "last_error": None,
            "chunking_strategy": _chunking_strategy(body.get("chunking_strategy") or {}),
            "attributes": body.get("attributes") or {},
        }
        self.files[made["id"]] = made
        return made

    def finish_files(self, status: str, ids: Iterable[str] | None = None) -> None:
        """Let the files that are in progress end so, without `ids` all of them."""
        for id in list(self.files if ids is None else ids):
            if id in self.files and self.files[id]["status"] == "in_progress":
                self.files[id] = {**self.files[id], "status": status}

    def mark_used(self, now: int) -> None:
        """Count from now on when the store was last active, and so when it expires."""
        after = self.object["expires_after"]
        expires = now + int(after["days"]) * DAY if after else None
        self.object = {**self.object, "expires_at": expires, "last_active_at": now}


def new_store(id: str, now: int, body: Json) -> VectorStore:
    """An empty vector store, as a body asks for it."""
    store = VectorStore(
        {
            "id": id,
            "object": "vector_store",
            "created_at": now,
            "name": body.get("name"),
            "description": body.get("description"),
            "usage_bytes": 0,
            "file_counts": count_by_status(()),
            "status": "completed",
            "expires_after": body.get("expires_after"),
            "expires_at": None,
            "last_active_at": now,
            "metadata": body.get("metadata") or {},
        }
    )
    store.mark_used(now)
    return store


def render_store(store: VectorStore, now: int) -> Json:
    """A vector store as the API shows it at a time: counted, in progress while a file is, expired when its time is up."""
    files = store.files.values()
    counted = count_by_status(files)
    status = "in_progress" if counted["in_progress"] else "completed"
    expires = store.object["expires_at"]
    return {
        **store.object,
        "usage_bytes": sum(file["usage_bytes"] for file in files),
        "file_counts": counted,
        "status": "expired" if expires and expires <= now else status,
    }


def render_batch(store: VectorStore, batch: FileBatch) -> Json:
    """A batch as the API shows it: in progress while one of its files is, cancelled if all of them were."""
    counted = count_by_status(store.files[id] for id in batch.files if id in store.files)
    done = "cancelled" if counted["cancelled"] and counted["cancelled"] == counted["total"] else "completed"
    return {**batch.object, "status": "in_progress" if counted["in_progress"] else done, "file_counts": counted}


def count_by_status(files: Iterable[Mapping[str, str]]) -> Json:
    """How many files there are in each state, and in all."""
    counted = Counter(file["status"] for file in files)
    return {**{state: counted[state] for state in FILE_STATES}, "total": counted.total()}


def _chunking_strategy(strategy: Json) -> Json:
    sizes = strategy.get("static") or DEFAULT_CHUNKING
    return {"type": "static", "static": {name: int(tokens) for name, tokens in sizes.items()}}  # 800.0 is one, too


class UploadsOwner(Protocol):
    """The World that has uploads: its ids, its clock, its account."""

    ids: Ids
    now: int
    account: Organization

    def tick(self) -> int:
        """The time, a second later with each call."""

    def organization(self, **changes: Any) -> Organization:
        """Change the account."""


class Uploads:
    """What one World does with its files and vector stores. Those that its account names are empty until they are made."""

    def __init__(
        self, owner: UploadsOwner, files: MutableMapping[str, File], stores: MutableMapping[str, VectorStore]
    ) -> None:
        self._files = files
        self._stores = stores
        self._touched = False
        self._owner = owner

    @property
    def has_known_files(self) -> bool:
        """Whether the key has ever stored something, or its account names what is there: else ids of others are let be."""
        return self._touched or bool(self._owner.account.files)

    def add_file(self, name: str, data: bytes | str, purpose: str, expires_after: int | None) -> str:
        """Keep a file, a text in UTF-8, which expires after so many seconds; returns its id."""
        self._touched = True
        id = self._owner.ids.alphanumeric("file-", 22)
        raw = data.encode() if isinstance(data, str) else data
        self._files[id] = new_file(id, name, raw, purpose, self._owner.tick(), expires_after)
        return id

    def add_store(self, files: Iterable[str], members: Json) -> str:
        """Make a vector store of files, by their ids; returns its id. ConfigError for what there is not."""
        if unknown := set(members) - set(STORE_MEMBERS):
            raise ConfigError(f"vector_store({', '.join(sorted(unknown))}=…): it has {', '.join(STORE_MEMBERS)}.")
        self._touched = True
        now, id = self._owner.tick(), self._owner.ids.hex(STORE_ID_PREFIX, 32)
        store = new_store(id, now, members)
        for file in files:
            if (found := self.file(file)) is None:
                raise ConfigError(f"vector_store({file!r}): this key has no file of this id; make one: mock.file(…).")
            store.attach(found, now, members)
        self._stores[id] = store
        return id

    def file(self, id: str) -> File | None:
        """A file; None when there is none by this id, or it has expired."""
        if id not in self._files and id in self._owner.account.files:
            self.presume(id)
        file = self._files.get(id)
        expires = file and file.object["expires_at"]
        return None if expires and expires <= self._owner.now else file

    def store(self, id: str) -> VectorStore | None:
        """A vector store; None when there is none by this id."""
        if id not in self._stores and id in self._owner.account.files:
            self.presume(id)
        return self._stores.get(id)

    def has_id(self, id: str, store: str = "") -> bool:
        """Whether a file or a vector store of this id is kept, or with `store` a file in that one."""
        if store:
            return store in self._stores and id in self._stores[store].files
        return id in self._files or id in self._stores

    def presume(self, id: str, store: str = "", purpose: str = "") -> None:
        """Have an empty file by this id, in a `store` where one is named, or a vector store if it begins like one's."""
        holder = store or (id if id.startswith(STORE_ID_PREFIX) else "")
        if holder:
            self._stores.setdefault(holder, new_store(holder, self._owner.now, {}))
        if holder != id and (id not in self._files or purpose):
            self._files[id] = new_file(id, id, b"", purpose, self._owner.now)
        if store:
            kept = self._stores[store]
            kept.attach(self._files[id], self._owner.now, {})
            self._stores[store] = kept

    def delete(self, id: str) -> None:
        """Forget a file, with its places in vector stores, or a vector store."""
        self._touched = True
        if id in self._owner.account.files:
            self._owner.organization(files=self._owner.account.files - {id})
        self._files.pop(id, None)
        self._stores.pop(id, None)
        for key, store in list(self._stores.items()):
            if store.files.pop(id, None):
                self._stores[key] = store
