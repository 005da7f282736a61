"""Uploads in parts: the upload must be pending, and its parts must add up to the announced size.

The limits of these endpoints are documented, but not their messages, so most words are assumed.
"""

from collections.abc import Iterator
from hashlib import md5

from harness.api.http.multipart import sent_file
from harness.api.resources.files import UPLOAD_LIFETIME, join_parts
from harness.contract.rule import Case, WorldView, after, assumed, documented, rule
from harness.contract.rules.example_requests import FORM_HEADERS
from harness.contract.rules.stored.uploads import ADD_PART
from harness.core.account import Organization
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

COMPLETE = "POST /uploads/{upload_id}/complete"
LARGEST_PART = 64 * 1024 * 1024
UPLOADS_REFERENCE = "https://developers.openai.com/api/reference/resources/uploads"
ANNOUNCED: Json = {"bytes": 5, "filename": "a.txt", "mime_type": "text/plain", "purpose": "user_data"}
CREATE_UPLOAD = Case(ANNOUNCED, on="POST /uploads")


def part(data: str | None = "Paris", account: Organization | None = None) -> Case:
    """Make an example that adds a part; without `data` the form is empty."""
    field = (
        "" if data is None else f'--x\r\ncontent-disposition: form-data; name="data"; filename="a"\r\n\r\n{data}\r\n'
    )
    raw = f"{field}--x--\r\n".encode()
    return Case(raw=raw, headers=FORM_HEADERS, on="POST /uploads/{0.id}/parts", account=account)


def complete(*parts: str, **members: str) -> Case:
    """Make an example that completes the upload created by the first request."""
    return Case({"part_ids": list(parts), **members}, on="POST /uploads/{0.id}/complete")


@rule(
    bad_request("Upload {id} is {status}."),
    documented(f"{UPLOADS_REFERENCE}: no parts after it was completed or cancelled, an hour to complete it", "2026"),
    assumed("the words, and that it can neither be completed nor cancelled twice"),
    on="*{upload_id}*",
    rejects={
        ("{0.id}", "cancelled"): after(CREATE_UPLOAD, "POST /uploads/{0.id}/cancel", part()),
        ("{0.id}", "completed"): after(CREATE_UPLOAD, part(), complete("{1.id}"), complete("{1.id}")),
        ("{0.id}", "expired"): after(CREATE_UPLOAD, Case(on="POST /uploads/{0.id}/cancel", skip=UPLOAD_LIFETIME)),
    },
    accepts=[after(CREATE_UPLOAD, part("Pa"), part("ris"), complete("{1.id}", "{2.id}"))],
    fix="Begin a new upload.",
)
def upload_not_pending(request: Request, world: WorldView) -> Iterator[Json]:
    """Only a pending upload accepts parts, and can be completed or cancelled."""
    id = request.params["upload_id"]
    if upload := world.store.parted_uploads.get(id):
        status = upload.status(world.now)
        if status != "pending":
            yield {"id": id, "status": status}


@rule(
    bad_request("'data' is a required property"),
    assumed("that the error is that of an upload in one request"),
    on=ADD_PART,
    rejects=[after(CREATE_UPLOAD, part(None))],
    accepts=[after(CREATE_UPLOAD, part())],
    fix="Send `data`, as a file with a name.",
)
def part_incomplete(request: Request) -> Iterator[Json]:
    """Parts need their bytes, as a file.

    Without them there is nothing to add, so it is refused though no report shows it.
    """
    if not isinstance(request.body.get("data"), dict):
        yield {}


@rule(
    bad_request("File is too large."),
    documented(f"{UPLOADS_REFERENCE}: a part has at most 64 MB", "2026"),
    assumed("the words: those for an upload in one request"),
    on=ADD_PART,
    rejects=[after(CREATE_UPLOAD, part(account=Organization(largest_file=4)))],
    accepts=[after(CREATE_UPLOAD, part(account=Organization(largest_file=5)))],
    fix="Send parts of at most 64 MB; `mock.organization(largest_file=…)` lowers the limit.",
)
def part_too_large(request: Request, world: WorldView) -> Iterator[Json]:
    """Parts have at most 64 MB, and at most the size of a whole file."""
    if sent_file(request, "data").size > min(LARGEST_PART, world.account.largest_file):
        yield {}


@rule(
    bad_request("Expected {announced} bytes, but the parts have {sent} bytes.", "part_ids"),
    documented(f"{UPLOADS_REFERENCE}: the bytes must match those announced", "2026"),
    assumed("the words"),
    on=COMPLETE,
    rejects={
        ("5", "2"): after(CREATE_UPLOAD, part("Pa"), complete("{1.id}")),
        ("5", "0"): after(CREATE_UPLOAD, complete()),
    },
    accepts=[after(CREATE_UPLOAD, part(), complete("{1.id}"))],
    fix="Announce the size of the whole file in `bytes`, and name every part.",
)
def upload_size_differs(request: Request, world: WorldView) -> Iterator[Json]:
    """The parts must add up to the size that the upload announced."""
    upload = world.store.parted_uploads[request.params["upload_id"]]
    sent = sum(len(upload.parts[part]) for part in request.body["part_ids"])
    if sent != upload.object["bytes"]:
        yield {"announced": upload.object["bytes"], "sent": sent}


@rule(
    bad_request("The md5 checksum of the parts does not match the one given.", "md5"),
    documented(f"{UPLOADS_REFERENCE}: `md5` verifies the bytes", "2026"),
    assumed("the words"),
    on=COMPLETE,
    when="md5",
    rejects=[after(CREATE_UPLOAD, part(), complete("{1.id}", md5="0" * 32))],
    accepts=[after(CREATE_UPLOAD, part(), complete("{1.id}", md5=md5(b"Paris", usedforsecurity=False).hexdigest()))],
    fix="Give the MD5 of the whole file as hex digits.",
)
def upload_checksum_differs(request: Request, world: WorldView) -> Iterator[Json]:
    """A checksum must match the parts in their order."""
    upload = world.store.parted_uploads[request.params["upload_id"]]
    data = join_parts(upload, request.body["part_ids"])
    if md5(data, usedforsecurity=False).hexdigest() != str(request.body["md5"]).lower():
        yield {}
