"""Uploaded files, uploads in parts, vector stores and their search: plain objects, with the API's own members and order.

Files in a vector store are `in_progress` at first and `completed` when it is next read, so that polling clients see
both. A search has no model: a chunk's score is the share of the query's words in it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from operator import eq, ge, gt, le, lt, ne
from typing import Any, NamedTuple, Protocol
from weakref import proxy

from harness.api.classic import asset_name, sources_of
from harness.api.tokens import CHARACTERS_PER_TOKEN
from harness.core.account import Organization
from harness.core.errors import ConfigError
from harness.core.exchange import BYTES_AS_TEXT, FileContent, InMemory, Json
from harness.core.ids import Ids
from harness.core.json_values import omit

STORE_ID_PREFIX = "vs_"
MODEL_PURPOSES = frozenset({"fine-tune", "fine-tune-results", "batch", "batch_output", "evals"})
"""The purposes of files whose ids are the same in every dialect."""
DAY = 86_400
BATCH_FILE_LIFETIME = 30 * DAY
"""Seconds after which a file for a batch expires by default."""
STORE_MEMBERS = ("name", "description", "metadata", "expires_after", "chunking_strategy")
"""The members of a request for a vector store, besides its files."""
FILE_STATES = ("in_progress", "completed", "failed", "cancelled")
DEFAULT_CHUNKING: Json = {"max_chunk_size_tokens": 800, "chunk_overlap_tokens": 400}
"""The documented default for splitting a file into chunks."""


class File(NamedTuple):
    """An uploaded file: the object as the API shows it, and the bytes."""

    object: Json
    content: FileContent


def new_file(
    id: str, name: str, content: FileContent, purpose: str, now: int, expires_after: int | None = None
) -> File:
    """Make a file uploaded `now` that expires after `expires_after` seconds; by default only batch files expire."""
    lasts = expires_after or (BATCH_FILE_LIFETIME if purpose == "batch" else None)
    uploaded = {
        "object": "file",
        "id": id,
        "purpose": purpose,
        "filename": name,
        "bytes": content.size,
        "created_at": now,
        "expires_at": now + lasts if lasts else None,
        "status": "processed",
        "status_details": None,
    }
    return File(uploaded, content)


@dataclass(slots=True)
class FileBatch:
    """Files that were added to a vector store together: the batch's object without its counts, and the file ids."""

    object: Json
    files: Sequence[str]


@dataclass(slots=True)
class VectorStore:
    """A vector store: its object without counts, and by id its files as shown and its batches."""

    object: Json
    files: dict[str, Json] = field(default_factory=dict)
    batches: dict[str, FileBatch] = field(default_factory=dict)

    def attach(self, file: File, now: int, body: Json) -> Json:
        """Add a file, with the `attributes` and the `chunking_strategy` of a body; at first it is in progress."""
        entry = {
            "id": file.object["id"],
            "object": "vector_store.file",
            "usage_bytes": file.object["bytes"],
            "created_at": now,
            "vector_store_id": self.object["id"],
            "status": "in_progress",
            "last_error": None,
            "chunking_strategy": _chunking_strategy(body.get("chunking_strategy") or {}),
            "attributes": body.get("attributes") or {},
        }
        self.files[entry["id"]] = entry
        return entry

    def finish_files(self, status: str, ids: Iterable[str] | None = None) -> None:
        """Set the status of the files in progress, those in `ids` or all."""
        for id in list(self.files if ids is None else ids):
            if id in self.files and self.files[id]["status"] == "in_progress":
                self.files[id] = {**self.files[id], "status": status}

    def mark_used(self, now: int) -> None:
        """Set the time of the last activity, from which the expiration is computed."""
        after = self.object["expires_after"]
        expires = now + int(after["days"]) * DAY if after else None
        self.object = {**self.object, "expires_at": expires, "last_active_at": now}


def new_store(id: str, now: int, body: Json) -> VectorStore:
    """Make a new empty vector store."""
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
    """Render a vector store: with counts, in progress while a file is, expired after its expiration."""
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
    """Render a batch: in progress while one of its files is, cancelled if all files were."""
    counted = count_by_status(store.files[id] for id in batch.files if id in store.files)
    done = "cancelled" if counted["cancelled"] and counted["cancelled"] == counted["total"] else "completed"
    return {**batch.object, "status": "in_progress" if counted["in_progress"] else done, "file_counts": counted}


def count_by_status(files: Iterable[Mapping[str, str]]) -> Json:
    """Count files by status, and in total."""
    counted = Counter(file["status"] for file in files)
    return {**{state: counted[state] for state in FILE_STATES}, "total": counted.total()}


def _chunking_strategy(strategy: Json) -> Json:
    sizes = strategy.get("static") or DEFAULT_CHUNKING
    return {"type": "static", "static": {name: int(tokens) for name, tokens in sizes.items()}}  # 800.0 is valid too


class UploadsOwner(Protocol):
    """The World of the uploads: ids, clock, account."""

    ids: Ids
    now: int
    account: Organization

    def tick(self) -> int:
        """Advance the clock by a second and return its time."""

    def organization(self, **changes: Any) -> Organization:
        """Change the account."""


class Uploads:
    """The files and vector stores of a World; those that the account lists are empty until they are created."""

    def __init__(
        self, owner: UploadsOwner, files: MutableMapping[str, File], stores: MutableMapping[str, VectorStore]
    ) -> None:
        self._files = files
        self._stores = stores
        self._touched = False
        self._owner: UploadsOwner = proxy(owner)  # no reference cycle: a World is freed at once, with its contents

    @property
    def has_known_files(self) -> bool:
        """Whether the key has stored anything or its account lists files; if not, unknown ids are accepted."""
        return self._touched or bool(self._owner.account.files)

    def add_file(
        self, name: str, data: bytes | str, purpose: str, expires_after: int | None, *, in_project: bool = False
    ) -> str:
        """Store a file (a string as UTF-8) that expires after `expires_after` seconds; returns its id."""
        raw = data.encode() if isinstance(data, str) else data
        return self.add_uploaded(
            name, InMemory(raw.decode(BYTES_AS_TEXT)), purpose, expires_after, in_project=in_project
        )

    def add_uploaded(
        self, name: str, content: FileContent, purpose: str, expires_after: int | None, *, in_project: bool = False
    ) -> str:
        """Store a file as sent; returns its id.

        A file of a Foundry project (`in_project`) has another prefix. Recorded 2025-12 to 2026-03, of assistants.
        """
        self._touched = True
        prefix = "assistant-" if in_project and purpose not in MODEL_PURPOSES else "file-"
        id = self._owner.ids.alphanumeric(prefix, 22)
        self._files[id] = new_file(id, name, content, purpose, self._owner.tick(), expires_after)
        return id

    def add_assets(self, body: Json) -> list[str]:
        """Store the files that a body uses from a Foundry project's storage, without content; returns their ids."""
        return [self.add_uploaded(asset_name(source), InMemory(""), "assistants", None) for source in sources_of(body)]

    def add_store(self, files: Iterable[str], members: Json, *, in_project: bool = False) -> str:
        """Create a vector store from file ids; returns its id, shorter in a project. ConfigError for an unknown id."""
        files = [*files, *self.add_assets(members)]
        members = omit(members, "configuration")
        if unknown := set(members) - set(STORE_MEMBERS):
            raise ConfigError(f"vector_store({', '.join(sorted(unknown))}=…): it has {', '.join(STORE_MEMBERS)}.")
        self._touched = True
        now, ids = self._owner.tick(), self._owner.ids
        id = ids.alphanumeric(STORE_ID_PREFIX) if in_project else ids.hex(STORE_ID_PREFIX, 32)
        store = new_store(id, now, members)
        for file in files:
            if (found := self.file(file)) is None:
                raise ConfigError(f"vector_store({file!r}): no such file for this key; create one: mock.file(…).")
            store.attach(found, now, members)
        self._stores[id] = store
        return id

    def file(self, id: str) -> File | None:
        """Return the file of this id; None if it is unknown or has expired."""
        if id not in self._files and id in self._owner.account.files:
            self.presume(id)
        file = self._files.get(id)
        expires = file and file.object["expires_at"]
        return None if expires and expires <= self._owner.now else file

    def store(self, id: str) -> VectorStore | None:
        """Return the vector store of this id; None if it is unknown."""
        if id not in self._stores and id in self._owner.account.files:
            self.presume(id)
        return self._stores.get(id)

    def has_id(self, id: str, store: str = "") -> bool:
        """Return whether a file or vector store of this id exists, or with `store` a file of this id in that store."""
        if store:
            return store in self._stores and id in self._stores[store].files
        return id in self._files or id in self._stores

    def presume(self, id: str, store: str = "", purpose: str = "", name: str = "") -> None:
        """Add an empty file of this id, in `store` if given, or an empty vector store if the id has its prefix.

        Without a `name` the file is named by its id, which has no extension.
        """
        holder = store or (id if id.startswith(STORE_ID_PREFIX) else "")
        if holder:
            self._stores.setdefault(holder, new_store(holder, self._owner.now, {}))
        if holder != id and (id not in self._files or purpose):
            self._files[id] = new_file(id, name or id, InMemory(""), purpose, self._owner.now)
        if store:
            vector_store = self._stores[store]
            vector_store.attach(self._files[id], self._owner.now, {})
            self._stores[store] = vector_store

    def delete(self, id: str) -> None:
        """Delete a vector store, or a file and its entries in vector stores."""
        self._touched = True
        if id in self._owner.account.files:
            self._owner.organization(files=self._owner.account.files - {id})
        self._files.pop(id, None)
        self._stores.pop(id, None)
        for key, store in list(self._stores.items()):
            if store.files.pop(id, None):
                self._stores[key] = store


UPLOAD_LIFETIME = 60 * 60
"""Seconds after which a pending upload expires."""


@dataclass(slots=True)
class PartedUpload:
    """An upload: its object while it is pending, the expiration of its file, and the bytes of the parts by id."""

    object: Json
    file_expires_after: int | None = None
    parts: dict[str, bytes] = field(default_factory=dict)

    def status(self, now: int) -> str:
        """Return `pending`, `completed`, `cancelled` or `expired`."""
        status = str(self.object["status"])
        return "expired" if status == "pending" and self.object["expires_at"] <= now else status


def new_upload(id: str, now: int, body: Json) -> PartedUpload:
    """Make a pending upload without parts from a body of `POST /uploads`."""
    lasts = body.get("expires_after") or {}
    made: Json = {
        "id": id,
        "object": "upload",
        "bytes": int(body["bytes"]),
        "created_at": now,
        "filename": body["filename"],
        "purpose": body["purpose"],
        "status": "pending",
        "expires_at": now + UPLOAD_LIFETIME,
        "file": None,
    }
    return PartedUpload(made, int(lasts["seconds"]) if lasts else None)


def join_parts(upload: PartedUpload, ids: list[str]) -> bytes:
    """Join the bytes of these parts in this order."""
    return b"".join(upload.parts[id] for id in ids)


DEFAULT_MAX_RESULTS = 10
_WORD = re.compile(r"\w+")
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": eq,
    "ne": ne,
    "gt": gt,
    "gte": ge,
    "lt": lt,
    "lte": le,
    "in": lambda own, wanted: own in wanted,
    "nin": lambda own, wanted: own not in wanted,
}
_NEGATIVE_OPERATORS = ("ne", "nin")


def file_text(file: File) -> str:
    """Return the text of a file; empty for a binary file."""
    try:
        return file.content.read().decode()
    except UnicodeDecodeError:
        return ""


def split_chunks(text: str, strategy: Json) -> list[str]:
    """Split a text into chunks of the strategy's maximum size; each begins with the end of the previous one."""
    size = strategy["static"]["max_chunk_size_tokens"] * CHARACTERS_PER_TOKEN
    step = max(1, size - strategy["static"]["chunk_overlap_tokens"] * CHARACTERS_PER_TOKEN)
    starts = range(0, max(1, len(text) - size + step), step)
    return [piece for start in starts if (piece := text[start : start + size]).strip()]


def search_files(body: Json, files: Sequence[tuple[Json, File]]) -> list[Json]:
    """Search files and return the best results first; `files` holds those of the store, each with its upload."""
    wanted = _word_set(" ".join(queries_of(body)))
    least = (body.get("ranking_options") or {}).get("score_threshold", 0)
    filters = body.get("filters")
    fitting = [pair for pair in files if filters is None or matches_filter(pair[0]["attributes"], filters)]
    results = [result for attached, file in fitting for result in _score_chunks(wanted, attached, file)]
    results.sort(key=lambda result: -result["score"])
    return [result for result in results if result["score"] >= least][
        : int(body.get("max_num_results", DEFAULT_MAX_RESULTS))
    ]


def queries_of(body: Json) -> list[str]:
    """Return the queries of a search, as repeated in its answer."""
    query = body["query"]
    return [query] if isinstance(query, str) else list(query)


def _score_chunks(wanted: set[str], attached: Json, file: File) -> Iterator[Json]:
    for chunk in split_chunks(file_text(file), attached["chunking_strategy"]):
        if shared := wanted & _word_set(chunk):
            yield {
                "file_id": attached["id"],
                "filename": file.object["filename"],
                "score": round(len(shared) / len(wanted), 4),
                "attributes": attached["attributes"],
                "content": [{"type": "text", "text": chunk}],
            }


def _word_set(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def matches_filter(attributes: Mapping[str, Any], condition: Json) -> bool:
    """Return whether the attributes of a file match a filter; an absent attribute differs from every value."""
    if "filters" in condition:
        every = all if condition["type"] == "and" else any
        return every(matches_filter(attributes, inner) for inner in condition["filters"])
    if condition["key"] not in attributes:
        return condition["type"] in _NEGATIVE_OPERATORS
    try:
        return _OPERATORS[condition["type"]](attributes[condition["key"]], condition["value"])
    except TypeError:  # a string is neither less nor greater than a number
        return False
