"""`/files`: upload, list, retrieve and delete."""

from harness.api.http.dialects import FOUNDRY
from harness.api.http.multipart import sent_file
from harness.api.operations import FILE_LIST, Cursors, operation, page
from harness.core.exchange import Answer, Json, OnDisk
from harness.world.api_call import ApiCall

FILES_PER_PAGE = 10_000
"""The documented default number of files per page."""


@operation("POST", "/files", content="form", answer="FileObject")
def create(call: ApiCall) -> Answer:
    """Store an uploaded file; the server keeps a large one on disk."""
    purpose, lasts = call.body["purpose"], call.body.get("expires_after")
    seconds = int(lasts["seconds"]) if isinstance(lasts, dict) and "seconds" in lasts else None
    in_project = call.request.dialect == FOUNDRY
    id = call.world.uploads.add_uploaded(
        call.body["file"]["filename"], sent_file(call.request, "file"), purpose, seconds, in_project=in_project
    )
    return Answer(200, call.store.files[id].object)


@operation(
    "GET",
    "/files",
    query="ListFiles",
    answer="FileList",
    cursors=Cursors("file", lambda request, world: world.store.files, FILE_LIST),
)
def list_files(call: ApiCall) -> Answer:
    """List the uploaded files, newest first unless `order=asc`, optionally by `purpose`."""
    purpose = call.query.get("purpose")
    objects = [file.object for id in list(call.store.files) if (file := call.world.uploads.file(id))]
    selected = [shown for shown in objects if purpose in (None, shown["purpose"])]
    return Answer(200, page(selected, call.query, limit=FILES_PER_PAGE))


@operation("GET", "/files/{file_id}", answer="FileObject")
def retrieve(call: ApiCall) -> Answer:
    """Retrieve an uploaded file."""
    return Answer(200, call.store.files[call.params["file_id"]].object)


@operation("GET", "/files/{file_id}/content")
def retrieve_content(call: ApiCall) -> Answer:
    """Return the content of an uploaded file."""
    kind = {"content-type": "application/octet-stream"}
    content = call.store.files[call.params["file_id"]].content
    return Answer(200, content if isinstance(content, OnDisk) else content.read(), kind)


@operation("DELETE", "/files/{file_id}", answer="FileDeleted")
def delete(call: ApiCall) -> Answer:
    """Delete a file, also from every vector store."""
    id = call.params["file_id"]
    call.world.uploads.delete(id)
    deleted: Json = {"object": "file", "deleted": True, "id": id}
    return Answer(200, deleted)
