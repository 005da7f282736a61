"""`/containers`: create, list, retrieve and delete, and the same for a container's files and their content."""

from typing import Any

from harness.api.http.multipart import sent_file
from harness.api.operations import Cursors, operation
from harness.api.pages import page
from harness.core.exchange import Answer, Request
from harness.world.api_call import ApiCall

CONTAINER_PATH = "/containers/{container_id}"
FILE_PATH = f"{CONTAINER_PATH}/files/{{container_file_id}}"


def _use(call: ApiCall) -> str:
    """Mark the container in the path as used, which keeps it from expiring, and return its id."""
    id = call.params["container_id"]
    call.world.containers.mark_used(id)
    return id


@operation("POST", "/containers", body="CreateContainer", answer="Container")
def create(call: ApiCall) -> Answer:
    """Create a container, with copies of its initial files."""
    return Answer(200, call.world.containers.render(call.world.add_container(call.members)))


@operation(
    "GET",
    "/containers",
    query="ListContainers",
    answer="ContainerList",
    cursors=Cursors("container", lambda request, world: world.store.containers),
)
def list_containers(call: ApiCall) -> Answer:
    """List the containers, newest first unless `order=asc`, optionally by `name`; expired ones stay."""
    name = call.query.get("name")
    containers = [call.world.containers.render(id) for id in list(call.store.containers)]
    return Answer(200, page([container for container in containers if name in (None, container["name"])], call.query))


@operation("GET", CONTAINER_PATH, answer="Container")
def retrieve(call: ApiCall) -> Answer:
    """Retrieve a container."""
    return Answer(200, call.world.containers.render(_use(call)))


@operation("DELETE", CONTAINER_PATH, answer="ContainerDeleted")
def delete(call: ApiCall) -> Answer:
    """Delete a container and its files."""
    id = call.params["container_id"]
    call.world.containers.delete(id)
    return Answer(200, {"id": id, "object": "container.deleted", "deleted": True})


@operation("POST", f"{CONTAINER_PATH}/files", content="form or json", answer="ContainerFile")
def create_file(call: ApiCall) -> Answer:
    """Add a file to a container: the one in a form, or a copy of the uploaded file that a JSON body names."""
    call.world.tick()
    id, file = _use(call), _sent_file(call.request)
    if file is None:
        return Answer(200, call.world.copy_to_container(id, call.store.files[call.body["file_id"]]))
    name = f"{call.world.ids.hex('', 32)}-{file['filename']}"
    return Answer(200, call.world.containers.add_file(id, name, sent_file(call.request, "file").read()))


def _sent_file(request: Request) -> Any:
    file = request.body.get("file")
    return file if isinstance(file, dict) else None


@operation(
    "GET",
    f"{CONTAINER_PATH}/files",
    query="ListContainerFiles",
    answer="ContainerFileList",
    cursors=Cursors(
        "container file", lambda request, world: world.store.containers[request.params["container_id"]].files
    ),
)
def list_files(call: ApiCall) -> Answer:
    """List the files of a container, newest first unless `order=asc`."""
    files = call.store.containers[_use(call)].files.values()
    return Answer(200, page([file.object for file in files], call.query))


@operation("GET", FILE_PATH, answer="ContainerFile")
def retrieve_file(call: ApiCall) -> Answer:
    """Retrieve a file of a container."""
    container = call.store.containers[_use(call)]
    return Answer(200, container.files[call.params["container_file_id"]].object)


@operation("DELETE", FILE_PATH, answer="ContainerFileDeleted")
def delete_file(call: ApiCall) -> Answer:
    """Delete a file of a container."""
    id = call.params["container_file_id"]
    call.world.containers.delete(_use(call), id)
    return Answer(200, {"id": id, "object": "container.file.deleted", "deleted": True})


@operation("GET", f"{FILE_PATH}/content")
def retrieve_file_content(call: ApiCall) -> Answer:
    """Return the content of a container's file."""
    container = call.store.containers[_use(call)]
    kind = {"content-type": "application/octet-stream"}
    return Answer(200, container.files[call.params["container_file_id"]].data, kind)
