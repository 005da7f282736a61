"""`/uploads`: upload a large file in parts; once completed, it is a file like any other."""

from harness.api.http.dialects import FOUNDRY
from harness.api.http.multipart import sent_file
from harness.api.operations import operation
from harness.api.resources.files import join_parts, new_upload
from harness.core.exchange import Answer
from harness.world.api_call import ApiCall

UPLOAD_PATH = "/uploads/{upload_id}"


@operation("POST", "/uploads", body="CreateUpload", answer="Upload")
def create(call: ApiCall) -> Answer:
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
def complete(call: ApiCall) -> Answer:
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
def cancel(call: ApiCall) -> Answer:
    """Cancel an upload, after which no parts can be added."""
    id = call.params["upload_id"]
    upload = call.store.parted_uploads[id]
    upload.object = {**upload.object, "status": "cancelled"}
    upload.parts.clear()
    call.store.parted_uploads[id] = upload
    return Answer(200, upload.object)
