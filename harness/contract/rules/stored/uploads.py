"""Uploads: unlike the endpoints for responses, `POST /files` has the messages of a JSON Schema library.

Uploads in parts must be pending, and their parts must add up to the announced size. The limits of these endpoints are
documented, but not their messages, so most words are assumed.
"""

from collections.abc import Iterator
from hashlib import md5

from harness.api.http.multipart import CONTENT_TYPE, sent_file
from harness.api.resources.files import UPLOAD_LIFETIME, join_parts
from harness.contract.phrasing import wrong_content_type
from harness.contract.rule import Case, RuleScope, WorldView, after, assumed, documented, reported, rule
from harness.contract.rules.example_requests import ANY_UPLOAD, AUTH_HEADERS, FORM_HEADERS, upload
from harness.core.account import Organization
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

UPLOAD = "POST /files"
SCOPE = RuleScope(on=UPLOAD)
PURPOSES = ["fine-tune", "assistants", "batch", "user_data", "vision", "evals"]
JSON_LINES_PURPOSES = {"batch": "Batch", "fine-tune": "Fine-Tuning"}
"""Purposes that only accept JSON lines, with the name of their API."""
LARGEST_BATCH = 200 * 1024 * 1024
EXPIRY_SECONDS = (3_600, 2_592_000)
"""The minimum and maximum seconds until a file expires."""
ADD_PART = "POST /uploads/{upload_id}/parts"
ADD_TO_CONTAINER = "POST /containers/{container_id}/files"


def _expiring(seconds: str, anchor: str = "created_at") -> Case:
    return upload("purpose=user_data", f"expires_after[anchor]={anchor}", f"expires_after[seconds]={seconds}")


@rule(
    wrong_content_type(CONTENT_TYPE),
    reported("public report from another endpoint that takes uploads only", "2026"),
    assumed("that this endpoint has the error of that one"),
    on=(UPLOAD, ADD_PART),
    rejects={"application/json": Case({"purpose": "user_data"}, on=UPLOAD)},
    accepts=[ANY_UPLOAD],
    fix="Send a multipart form; leave its content type, with the boundary, to the HTTP library.",
)
def upload_not_a_form(request: Request) -> Iterator[Json]:
    """An upload must be declared as a multipart form."""
    kind = request.headers.get("content-type", CONTENT_TYPE).partition(";")[0].strip()
    if kind.lower() != CONTENT_TYPE:
        yield {"type": kind}


@rule(
    bad_request("Could not parse multipart form"),
    reported("https://github.com/spring-projects/spring-ai/issues/1050: of /v1/audio/transcriptions", "2024-07-15"),
    assumed("that all endpoints that accept forms have this error, for each of these defects"),
    on=(UPLOAD, ADD_PART, ADD_TO_CONTAINER, "POST /agents/{agent_name}/versions", "POST /skills/{name}/versions"),
    rejects=[Case(raw=ANY_UPLOAD.raw, headers={**AUTH_HEADERS, "content-type": CONTENT_TYPE}, on=UPLOAD)],
    accepts=[ANY_UPLOAD],
    fix="Let the HTTP library make the form and its content type; set neither the header nor the length yourself.",
)
def upload_unparsable(request: Request) -> bool:
    """A form must begin and end with the boundary named in its content type."""
    return request.fault is not None and request.fault.kind == "form"


@rule(
    bad_request("'{name}' is a required property"),
    reported("public reports of two origins, one with the whole error", "2026"),
    assumed("that the file is looked for before the purpose"),
    rejects={"file": upload("purpose=user_data", data=None), "purpose": upload()},
    accepts=[ANY_UPLOAD],
    fix="Send both `file`, as a file with a name, and `purpose`; a field without a name is not a file.",
)
def upload_incomplete(request: Request) -> Iterator[Json]:
    """A form needs a file and a purpose; a field without a file name is not a file."""
    if not isinstance(request.body.get("file"), dict):
        yield {"name": "file"}
    elif not isinstance(request.body.get("purpose"), str):
        yield {"name": "purpose"}


@rule(
    bad_request("Additional properties are not allowed ({names} unexpected)"),
    reported(
        "https://community.openai.com/t/files-api-expires-after-parameter-not-accepted/1354804: of `expires_after`, "
        "which was not known then",
        "2025",
    ),
    assumed("that any other name is refused like that one"),
    rejects={
        "'user' was": upload("purpose=user_data", "user=ann"),
        "'a', 'b' were": upload("purpose=batch", "a=1", "b=2"),
    },
    accepts=[_expiring("3600")],
    fix="Remove the field.",
)
def upload_unknown_field(request: Request) -> Iterator[Json]:
    """A form may only have the fields `file`, `purpose` and `expires_after`."""
    unknown = [repr(name) for name in request.body if name not in ("file", "purpose", "expires_after")]
    if unknown:
        yield {"names": f"{', '.join(unknown)} {'was' if len(unknown) == 1 else 'were'}"}


@rule(
    bad_request(f"'{{purpose}}' is not one of {PURPOSES} - 'purpose'", "purpose"),
    reported("public reports of two origins, one with the whole error", "2025"),
    reported("https://github.com/irudnyts/openai/issues/66, with other values"),
    rejects={"vector_store": upload("purpose=vector_store")},
    accepts=[upload(f"purpose={purpose}", name="a.jsonl") for purpose in PURPOSES],
    fix="Use `user_data` for input of responses, `assistants` for vector stores.",
)
def upload_purpose(request: Request) -> Iterator[Json]:
    """The purpose must be one of six."""
    if request.body["purpose"] not in PURPOSES:
        yield {"purpose": request.body["purpose"]}


@rule(
    bad_request("{said} - 'expires_after.{name}'", "expires_after.{name}"),
    documented("openapi 2.3.0 bbfd19ab#/components/schemas/FileExpirationAfter", "2026-11"),
    assumed("the words: those of the library that the endpoint's other errors are from"),
    rejects={
        ("60 is less than the minimum of 3600", "seconds"): _expiring("60"),
        ("2592001 is greater than the maximum of 2592000", "seconds"): _expiring("2592001"),
        ("'soon' is not of type 'integer'", "seconds"): _expiring("soon"),
        ("'now' is not one of ['created_at']", "anchor"): _expiring("3600", anchor="now"),
    },
    fix="Let it expire one hour to thirty days after `created_at`.",
)
def upload_expiry(request: Request) -> Iterator[Json]:
    """Files expire between one hour and thirty days after their creation."""
    lasts = request.body.get("expires_after")
    if isinstance(lasts, dict):
        anchor, seconds = lasts.get("anchor", "created_at"), lasts.get("seconds", str(EXPIRY_SECONDS[0]))
        if anchor != "created_at":
            yield {"name": "anchor", "said": f"'{anchor}' is not one of ['created_at']"}
        if fault := _seconds_problem(seconds):
            yield {"name": "seconds", "said": fault}


def _seconds_problem(value: str) -> str:
    if not value.isdecimal():
        return f"'{value}' is not of type 'integer'"
    number, (least, most) = value.lstrip("0") or "0", EXPIRY_SECONDS
    # Python refuses to convert numbers with thousands of digits.
    if len(number) > len(str(most)) or int(number) > most:
        return f"{number} is greater than the maximum of {most}"
    return f"{number} is less than the minimum of {least}" if int(number) < least else ""


@rule(
    bad_request("Invalid file format for {api} API. Must be .jsonl"),
    reported("public notes on batches; public reports on fine-tuning", "2025"),
    rejects={"Batch": upload("purpose=batch"), "Fine-Tuning": upload("purpose=fine-tune")},
    accepts=[upload("purpose=batch", name="a.jsonl")],
    fix="Name the file `….jsonl`, with one JSON object a line.",
)
def upload_not_lines(request: Request) -> Iterator[Json]:
    """Files for batches and fine-tuning must be JSON lines, with an extension that says so."""
    api = JSON_LINES_PURPOSES.get(request.body["purpose"])
    if api and not request.body["file"]["filename"].endswith(".jsonl"):
        yield {"api": api}


@rule(
    bad_request("File is empty."),
    reported("https://github.com/openai/openai-go/issues/434", "2025-06-30"),
    rejects=[upload("purpose=user_data", data="")],
    accepts=[ANY_UPLOAD],
    fix="Rewind the stream before it is sent: it may have been read already.",
)
def upload_empty(request: Request) -> bool:
    """Files need at least one byte."""
    return not sent_file(request, "file").size


@rule(
    bad_request("File is too large."),
    reported("https://github.com/bespokelabsai/curator/issues/111", "2024-11-15"),
    documented("openai SDK 3.54, docstring: 512 MB, 200 MB for a batch", "2026-11"),
    rejects=[upload("purpose=user_data", account=Organization(largest_file=4))],
    accepts=[upload("purpose=user_data", account=Organization(largest_file=5))],
    fix="Send less than 512 MB, for a batch less than 200 MB; `mock.organization(largest_file=…)` sets the limit.",
)
def upload_too_large(request: Request, world: WorldView) -> bool:
    """Files have at most 512 MB, one for a batch at most 200 MB."""
    most = world.account.largest_file
    if request.body["purpose"] == "batch":
        most = min(most, LARGEST_BATCH)
    return sent_file(request, "file").size > most


SCOPE = RuleScope(area="parted_uploads")
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
    documented("openapi 2.3.0 bbfd19ab#/components/schemas/AddUploadPartRequest: `data` is required", "2026-11"),
    assumed("that the error is that of an upload in one request"),
    on=ADD_PART,
    rejects=[after(CREATE_UPLOAD, part(None))],
    accepts=[after(CREATE_UPLOAD, part())],
    fix="Send `data`, as a file with a name.",
)
def part_incomplete(request: Request) -> bool:
    """Parts need their bytes, as a file."""
    return not isinstance(request.body.get("data"), dict)


@rule(
    bad_request("File is too large."),
    documented(f"{UPLOADS_REFERENCE}: a part has at most 64 MB", "2026"),
    assumed("the words: those for an upload in one request"),
    on=ADD_PART,
    rejects=[after(CREATE_UPLOAD, part(account=Organization(largest_file=4)))],
    accepts=[after(CREATE_UPLOAD, part(account=Organization(largest_file=5)))],
    fix="Send parts of at most 64 MB; `mock.organization(largest_file=…)` lowers the limit.",
)
def part_too_large(request: Request, world: WorldView) -> bool:
    """Parts have at most 64 MB, and at most the size of a whole file."""
    return sent_file(request, "data").size > min(LARGEST_PART, world.account.largest_file)


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
def upload_checksum_differs(request: Request, world: WorldView) -> bool:
    """A checksum must match the parts in their order."""
    upload = world.store.parted_uploads[request.params["upload_id"]]
    data = join_parts(upload, request.body["part_ids"])
    return md5(data, usedforsecurity=False).hexdigest() != str(request.body["md5"]).lower()
