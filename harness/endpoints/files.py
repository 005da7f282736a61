"""`/files`: upload, list, retrieve and delete; `/uploads`: a large file in parts, once completed a file like any other."""

from harness.api.http.dialects import FOUNDRY
from harness.api.http.multipart import sent_file
from harness.api.operations import FILE_LIST, Cursors, operation
from harness.api.pages import page
from harness.api.resources.files import join_parts, new_upload
from harness.core.exchange import Answer, Json, OnDisk
from harness.world.api_call import ApiCall

FILES_PER_PAGE = 10_000
"""The documented default number of files per page."""
UPLOAD_PATH = "/uploads/{upload_id}"


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


@operation("POST", "/uploads", body="CreateUpload", answer="Upload")
def create_upload(call: ApiCall) -> Answer:
    """Create a pending upload, to which parts can be added for an hour."""
    now, id = call.world.tick(), call.world.ids.hex("upload_", 32)
    call.store.parted_uploads[id] = made = new_upload(id, now, call.members)
    return Answer(200, made.object)


@operation("POST", f"{UPLOAD_PATH}/parts", content="form", answer="UploadPart")
def add_part(call: ApiCall) -> Answer:
    """Add a part; the order of the parts is set when the upload is completed."""
    id = call.params["upload_id"]
    upload, now, part = call.store.parted_uploads[id], call.world.tick(), call.world.ids.hex("part_", 32)
    upload.parts[part] = sent_file(call.request, "data").read()
    call.store.parted_uploads[id] = upload
    return Answer(200, {"id": part, "object": "upload.part", "created_at": now, "upload_id": id})


@operation("POST", f"{UPLOAD_PATH}/complete", body="CompleteUpload", answer="Upload")
def complete_upload(call: ApiCall) -> Answer:
    """Create the file from the parts, in the order of `part_ids`."""
    id = call.params["upload_id"]
    upload = call.store.parted_uploads[id]
    data = join_parts(upload, call.body["part_ids"])
    name, purpose, in_project = upload.object["filename"], upload.object["purpose"], call.request.dialect == FOUNDRY
    file = call.world.uploads.add_file(name, data, purpose, upload.file_expires_after, in_project=in_project)
    upload.object = {**upload.object, "status": "completed", "file": call.store.files[file].object}
    upload.parts.clear()
    call.store.parted_uploads[id] = upload
    return Answer(200, upload.object)


@operation("POST", f"{UPLOAD_PATH}/cancel", answer="Upload")
def cancel_upload(call: ApiCall) -> Answer:
    """Cancel an upload, after which no parts can be added."""
    id = call.params["upload_id"]
    upload = call.store.parted_uploads[id]
    upload.object = {**upload.object, "status": "cancelled"}
    upload.parts.clear()
    call.store.parted_uploads[id] = upload
    return Answer(200, upload.object)
