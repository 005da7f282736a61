"""`/_blobs`: the storage that a dataset's files are uploaded to, in the protocol of Azure Blob storage.

The service has it at another host; here it is below the project, and the signature in the query leads to the World.
"""

from __future__ import annotations

from harness.api.operations import operation
from harness.api.project.blobs import (
    BLOB_ROOT,
    MESSAGES,
    XML,
    Blob,
    BlobContainer,
    container_address,
    find_range,
    read_block_list,
    render_error,
    render_list,
)
from harness.api.project.connections import project_of
from harness.core.exchange import Answer, Request
from harness.world.project_resources import FILE_TYPE, origin_of
from harness.world.world import World

CONTAINER = f"{BLOB_ROOT}/{{container}}"
BLOB = f"{CONTAINER}/{{+blob}}"


@operation("PUT", BLOB, project=True, binary=True)
def put_blob(request: Request, world: World) -> Answer:
    """Keep a blob; with `comp=block` a block of one, with `comp=blocklist` the blob that these blocks make."""
    container, name, part = _container_of(request, world), request.params["blob"], request.query.get("comp")
    if container is None:
        return _error("ContainerNotFound")
    if part == "block":
        container.blocks.setdefault(name, {})[str(request.query.get("blockid"))] = request.raw
        return Answer(201, b"")
    if request.headers.get("if-none-match") == "*" and name in container.blobs:
        return _error("BlobAlreadyExists")
    data = container.join_blocks(name, read_block_list(request.raw)) if part == "blocklist" else request.raw
    if data is None:
        return _error("InvalidBlockList")
    given = request.headers.get("x-ms-blob-content-type") or request.headers.get("content-type") or FILE_TYPE
    made = container.blobs[name] = Blob(data, given, world.tick())
    return Answer(201, b"", {name: value for name, value in made.headers.items() if name in ("etag", "last-modified")})


@operation("GET", CONTAINER, project=True)
def list_blobs(request: Request, world: World) -> Answer:
    """The blobs of a container, those whose names begin with a `prefix` when asked for."""
    container = _container_of(request, world)
    if container is None:
        return _error("ContainerNotFound")
    address = container_address(
        origin_of(world, request.headers), project_of(request.root), request.params["container"]
    )
    return Answer(200, render_list(address, container, str(request.query.get("prefix", ""))), XML)


@operation("GET", BLOB, project=True)
def get_blob(request: Request, world: World) -> Answer:
    """The bytes of a blob, or of a range of it."""
    container = _container_of(request, world)
    blob = container.blobs.get(request.params["blob"]) if container else None
    if blob is None:
        return _error("BlobNotFound" if container else "ContainerNotFound")
    asked = request.headers.get("x-ms-range") or request.headers.get("range") or ""
    if (bounds := find_range(asked, len(blob.data))) is None:
        return _error("InvalidRange")
    start, end = bounds
    within = {"content-range": f"bytes {start}-{end - 1}/{len(blob.data)}"} if asked else {}
    return Answer(206 if asked else 200, blob.data[start:end], {**blob.headers, **within})


@operation("DELETE", BLOB, project=True)
def delete_blob(request: Request, world: World) -> Answer:
    """Forget a blob."""
    container = _container_of(request, world)
    if container is None or container.blobs.pop(request.params["blob"], None) is None:
        return _error("BlobNotFound" if container else "ContainerNotFound")
    return Answer(202, b"")


def _container_of(request: Request, world: World) -> BlobContainer | None:
    return world.store.blobs.get(request.params["container"])


def _error(code: str) -> Answer:
    """An error of the storage, in its form."""
    return Answer(MESSAGES[code][0], render_error(code), {**XML, "x-ms-error-code": code})
