"""`/containers`: make, list, read and forget one, and the same for its files and their bytes."""

from __future__ import annotations

from typing import Any

from harness.api.operations import Cursors, operation
from harness.api.paging import page
from harness.contract.check import drop_nulls
from harness.core.exchange import Answer, Request
from harness.core.stored_content import read_content
from harness.world.world import World

CONTAINER_PATH = "/containers/{container_id}"
FILE_PATH = f"{CONTAINER_PATH}/files/{{container_file_id}}"


def _use(request: Request, world: World) -> str:
    """The id of the container in the path, which every operation on it keeps from expiring."""
    id = request.params["container_id"]
    world.containers.mark_used(id)
    return id


@operation("POST", "/containers", body="CreateContainer", answer="Container")
def create(request: Request, world: World) -> Answer:
    """A new container, with copies of the uploaded files that it starts with."""
    return Answer(200, world.containers.render(world.add_container(drop_nulls(request.body))))


@operation(
    "GET",
    "/containers",
    query="ListContainers",
    answer="ContainerList",
    cursors=Cursors("container", lambda request, world: world.store.containers),
)
def list_containers(request: Request, world: World) -> Answer:
    """The containers, newest first unless `order=asc`, those of one `name` when asked for; expired ones stay."""
    name = request.query.get("name")
    containers = [world.containers.render(id) for id in list(world.store.containers)]
    return Answer(200, page([each for each in containers if name in (None, each["name"])], request.query))


@operation("GET", CONTAINER_PATH, answer="Container")
def retrieve(request: Request, world: World) -> Answer:
    """One container."""
    return Answer(200, world.containers.render(_use(request, world)))


@operation("DELETE", CONTAINER_PATH, answer="ContainerDeleted")
def delete(request: Request, world: World) -> Answer:
    """Forget a container and its files."""
    id = request.params["container_id"]
    world.containers.delete(id)
    return Answer(200, {"id": id, "object": "container.deleted", "deleted": True})


@operation("POST", f"{CONTAINER_PATH}/files", form=True, json=True, answer="ContainerFile")
def create_file(request: Request, world: World) -> Answer:
    """Put a file into a container: the one of a form, or a copy of the uploaded file that a JSON body names."""
    world.tick()
    id, file = _use(request, world), _sent_file(request)
    if file is None:
        return Answer(200, world.copy_to_container(id, world.store.files[request.body["file_id"]]))
    name = f"{world.ids.hex('', 32)}-{file['filename']}"
    return Answer(200, world.containers.add_file(id, name, read_content(file["data"])))


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
def list_files(request: Request, world: World) -> Answer:
    """The files of a container, newest first unless `order=asc`."""
    files = world.store.containers[_use(request, world)].files.values()
    return Answer(200, page([file.object for file in files], request.query))


@operation("GET", FILE_PATH, answer="ContainerFile")
def retrieve_file(request: Request, world: World) -> Answer:
    """One file of a container."""
    container = world.store.containers[_use(request, world)]
    return Answer(200, container.files[request.params["container_file_id"]].object)


@operation("DELETE", FILE_PATH, answer="ContainerFileDeleted")
def delete_file(request: Request, world: World) -> Answer:
    """Forget a file of a container."""
    id = request.params["container_file_id"]
    world.containers.delete(_use(request, world), id)
    return Answer(200, {"id": id, "object": "container.file.deleted", "deleted": True})


@operation("GET", f"{FILE_PATH}/content")
def retrieve_file_content(request: Request, world: World) -> Answer:
    """The bytes of a file of a container."""
    container = world.store.containers[_use(request, world)]
    kind = {"content-type": "application/octet-stream"}
    return Answer(200, container.files[request.params["container_file_id"]].data, kind)
