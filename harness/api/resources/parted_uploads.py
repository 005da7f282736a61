"""Uploads in parts: an upload is pending while parts are added, and becomes a file when it is completed."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.core.exchange import Json

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
