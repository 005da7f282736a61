"""`/_blobs`: the storage for the files of datasets, with the protocol of Azure Blob Storage: containers, blocks, lists.

The service has it at another host; here it is below the project. The address of a container is signed with the key of
the World, which it leads to without a header. Codes and messages are those that Microsoft documents for Blob Storage.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import md5
from html import escape, unescape
from typing import Any, NamedTuple
from urllib.parse import quote

from harness.api.http.dialects import BLOB_ROOT
from harness.api.operations import operation
from harness.core.dates import http_time
from harness.core.exchange import Answer
from harness.core.registry import TableKind, declare_table
from harness.foundry.connections import project_of
from harness.foundry.resources import origin_of
from harness.world.api_call import ApiCall
from harness.world.world import World

CONTAINER = f"{BLOB_ROOT}/{{container}}"
BLOB = f"{CONTAINER}/{{+blob}}"
FILE_TYPE = "application/octet-stream"
SIGNATURE = "sig"
"""The query parameter with the signature of an address."""
SIGNED_VERSION = "2025-01-05"
_BLOCK_ID = re.compile(rb"<(?:Latest|Committed|Uncommitted)>([^<]*)</")
_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})")
XML = {"content-type": "application/xml"}
MESSAGES: Mapping[str, tuple[int, str]] = {
    "BlobAlreadyExists": (409, "The specified blob already exists."),
    "BlobNotFound": (404, "The specified blob does not exist."),
    "ContainerNotFound": (404, "The specified container does not exist."),
    "InvalidBlockList": (400, "The specified block list is invalid."),
    "InvalidRange": (416, "The range specified is invalid for the current size of the resource."),
}
"""The status and message of an error by its code."""


class Blob(NamedTuple):
    """A blob: its bytes, their type, and the unix second of the last change."""

    data: bytes
    content_type: str
    modified: int

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every answer about it."""
        return {
            "content-type": self.content_type,
            "etag": f'"0x{md5(self.data, usedforsecurity=False).hexdigest()[:15].upper()}"',
            "last-modified": http_time(self.modified),
            "x-ms-blob-type": "BlockBlob",
            "accept-ranges": "bytes",
        }


@dataclass(slots=True)
class BlobContainer:
    """A container: its blobs by name, and the blocks of incomplete blobs by name and id."""

    blobs: dict[str, Blob] = field(default_factory=dict)
    blocks: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def join_blocks(self, name: str, ids: Sequence[str]) -> bytes | None:
        """Join these blocks in order and drop them; None if one is missing."""
        kept = self.blocks.get(name, {})
        if not all(id in kept for id in ids):
            return None
        del self.blocks[name]
        return b"".join(kept[id] for id in ids)


def sign(key: str) -> str:
    """Return the signature that encodes a key."""
    return urlsafe_b64encode(key.encode("utf-8", "surrogatepass")).decode()


def signing_key(query: Mapping[str, Any]) -> str | None:
    """Return the key that a query is signed with; None if it is not signed."""
    signature = query.get(SIGNATURE)
    if not isinstance(signature, str) or not signature:
        return None
    try:
        return urlsafe_b64decode(signature.encode("ascii")).decode("utf-8") or None
    except (NotBase64, UnicodeError):
        return None


def container_address(origin: str, project: str, container: str) -> str:
    """Return the address of a container, without a signature."""
    return f"{origin}/api/projects/{project}{BLOB_ROOT}/{container}"


def signed_query(key: str, permissions: str) -> str:
    """Return the query of a signed address; `rcwl` permits reading, creating, writing and listing."""
    return f"sv={SIGNED_VERSION}&sr=c&sp={permissions}&{SIGNATURE}={quote(sign(key), safe='')}"


def find_range(header: str, size: int) -> tuple[int, int] | None:
    """Return the start and end of a range: all bytes without one, None for a range outside."""
    asked = _RANGE.fullmatch(header)
    if not asked:
        return 0, size
    start, end = int(asked[1]), int(asked[2]) + 1 if asked[2] else size
    return (start, min(end, size)) if start < min(end, size) else None


def render_list(address: str, container: BlobContainer, prefix: str) -> bytes:
    """Render the list of a container's blobs whose names have a prefix, by name."""
    entries = "".join(
        f"<Blob><Name>{escape(name)}</Name><Properties><Last-Modified>{blob.headers['last-modified']}</Last-Modified>"
        f"<Etag>{blob.headers['etag'][1:-1]}</Etag><Content-Length>{len(blob.data)}</Content-Length>"
        f"<Content-Type>{escape(blob.content_type)}</Content-Type><BlobType>BlockBlob</BlobType></Properties></Blob>"
        for name, blob in sorted(container.blobs.items())
        if name.startswith(prefix)
    )
    head, _, name = address.rpartition("/")
    named = f'ServiceEndpoint="{escape(head)}/" ContainerName="{escape(name)}"'
    asked = f"<Prefix>{escape(prefix)}</Prefix>" if prefix else ""
    return (
        f'<?xml version="1.0" encoding="utf-8"?><EnumerationResults {named}>{asked}<Blobs>{entries}</Blobs><NextMarker />'
        "</EnumerationResults>"
    ).encode()


BLOBS: TableKind[BlobContainer] = declare_table("blobs")


def new_container(world: World) -> str:
    """Create an empty container for an upload; returns its name."""
    name = f"harness-{world.ids.guid()}"
    world.store.table(BLOBS)[name] = BlobContainer()
    return name


def address_for(call: ApiCall, container: str) -> str:
    """Return the address of a container at the host and in the project of a request."""
    return container_address(origin_of(call.world, call.request.headers), project_of(call.request.root), container)


@operation("PUT", BLOB, project=True, content="bytes")
def put_blob(call: ApiCall) -> Answer:
    """Store a blob; with `comp=block` a block of one, with `comp=blocklist` the blob that consists of these blocks."""
    container, name, part = _container_of(call), call.params["blob"], call.query.get("comp")
    if container is None:
        return _error("ContainerNotFound")
    if part == "block":
        container.blocks.setdefault(name, {})[str(call.query.get("blockid"))] = call.request.raw
        return Answer(201, b"")
    # The SDKs upload so unless they are told to overwrite.
    if call.request.headers.get("if-none-match") == "*" and name in container.blobs:
        return _error("BlobAlreadyExists")
    data: bytes | None = call.request.raw
    if part == "blocklist":
        ids = [unescape(id.decode("utf-8", "replace")) for id in _BLOCK_ID.findall(call.request.raw)]
        data = container.join_blocks(name, ids)
    if data is None:
        return _error("InvalidBlockList")
    given = call.request.headers.get("x-ms-blob-content-type") or call.request.headers.get("content-type") or FILE_TYPE
    made = container.blobs[name] = Blob(data, given, call.world.tick())
    return Answer(201, b"", {name: value for name, value in made.headers.items() if name in ("etag", "last-modified")})


@operation("GET", CONTAINER, project=True)
def list_blobs(call: ApiCall) -> Answer:
    """List the blobs of a container, optionally by `prefix`."""
    container = _container_of(call)
    if container is None:
        return _error("ContainerNotFound")
    address = address_for(call, call.params["container"])
    return Answer(200, render_list(address, container, str(call.query.get("prefix", ""))), XML)


@operation("GET", BLOB, project=True)
def get_blob(call: ApiCall) -> Answer:
    """Return the content of a blob, or of a range of it."""
    container = _container_of(call)
    blob = container.blobs.get(call.params["blob"]) if container else None
    if blob is None:
        return _error("BlobNotFound" if container else "ContainerNotFound")
    asked = call.request.headers.get("x-ms-range") or call.request.headers.get("range") or ""
    if (bounds := find_range(asked, len(blob.data))) is None:
        return _error("InvalidRange")
    start, end = bounds
    within = {"content-range": f"bytes {start}-{end - 1}/{len(blob.data)}"} if asked else {}
    return Answer(206 if asked else 200, blob.data[start:end], {**blob.headers, **within})


@operation("DELETE", BLOB, project=True)
def delete_blob(call: ApiCall) -> Answer:
    """Delete a blob."""
    container = _container_of(call)
    if container is None or container.blobs.pop(call.params["blob"], None) is None:
        return _error("BlobNotFound" if container else "ContainerNotFound")
    return Answer(202, b"")


def _container_of(call: ApiCall) -> BlobContainer | None:
    return call.store.table(BLOBS).get(call.params["container"])


def _error(code: str) -> Answer:
    status, message = MESSAGES[code]
    text = f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'
    return Answer(status, text.encode(), {**XML, "x-ms-error-code": code})
