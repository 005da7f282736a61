"""The blobs of a storage account, as far as uploads to datasets need them: containers, blocks, lists.

The address of a container is signed with the key of the World, so requests to it need no header. Codes and messages are
those that Microsoft documents for Blob Storage.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import md5
from html import escape, unescape
from typing import Any, NamedTuple
from urllib.parse import quote

from harness.core.dates import http_time

BLOB_ROOT = "/_blobs"
"""The path of the containers in a mocked project; the service has them at another host."""
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


def read_block_list(body: bytes) -> list[str]:
    """Return the block ids in a block list, in order."""
    return [unescape(id.decode("utf-8", "replace")) for id in _BLOCK_ID.findall(body)]


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


def render_error(code: str) -> bytes:
    """Render the body of an error by its code."""
    return (
        f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>{MESSAGES[code][1]}</Message></Error>'
    ).encode()
