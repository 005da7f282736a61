"""`/files`: upload one, list them, read one and its bytes, forget it."""

from __future__ import annotations

from harness.api.http.dialects import FOUNDRY
from harness.api.operations import FILE_LIST, Cursors, operation
from harness.api.paging import page
from harness.core.exchange import Answer, Json, Request
from harness.core.stored_content import StoredContent
from harness.world.world import World

FILES_PER_PAGE = 10_000
"""How many files a page of the list has unless asked otherwise; the documented default."""


@operation("POST", "/files", form=True, answer="FileObject")
def create(request: Request, world: World) -> Answer:
    """Keep an uploaded file; the server keeps a large one on disk."""
    file, purpose = request.body["file"], request.body["purpose"]
    lasts = request.body.get("expires_after")
    seconds = int(lasts["seconds"]) if isinstance(lasts, dict) and "seconds" in lasts else None
    in_project = request.dialect == FOUNDRY
    id = world.uploads.add_uploaded(file["filename"], file["data"], purpose, seconds, in_project=in_project)
    return Answer(200, world.store.files[id].object)


@operation(
    "GET",
    "/files",
    query="ListFiles",
    answer="FileList",
    cursors=Cursors("file", lambda request, world: world.store.files, FILE_LIST),
)
def list_files(request: Request, world: World) -> Answer:
    """The uploaded files, newest first unless `order=asc`, of one `purpose` when asked for."""
    purpose = request.query.get("purpose")
    objects = [file.object for id in list(world.store.files) if (file := world.uploads.file(id))]
    selected = [one for one in objects if purpose in (None, one["purpose"])]
    return Answer(200, page(selected, request.query, limit=FILES_PER_PAGE))


@operation("GET", "/files/{file_id}", answer="FileObject")
def retrieve(request: Request, world: World) -> Answer:
    """One uploaded file."""
    return Answer(200, world.store.files[request.params["file_id"]].object)


@operation("GET", "/files/{file_id}/content")
def retrieve_content(request: Request, world: World) -> Answer:
    """The bytes of an uploaded file."""
    kind = {"content-type": "application/octet-stream"}
    file = world.store.files[request.params["file_id"]]
    return Answer(200, file.text if isinstance(file.text, StoredContent) else file.data, kind)


@operation("DELETE", "/files/{file_id}", answer="FileDeleted")
def delete(request: Request, world: World) -> Answer:
    """Forget a file; every vector store loses it."""
    id = request.params["file_id"]
    world.uploads.delete(id)
    deleted: Json = {"object": "file", "deleted": True, "id": id}
    return Answer(200, deleted)
