"""`/_blobs`: the storage for the files of datasets, with the protocol of Azure Blob Storage.

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
from harness.core.exchange import Answer
from harness.world.api_call import ApiCall
from harness.world.project_resources import FILE_TYPE, origin_of

CONTAINER = f"{BLOB_ROOT}/{{container}}"
BLOB = f"{CONTAINER}/{{+blob}}"


@operation("PUT", BLOB, project=True, content="bytes")
def put_blob(call: ApiCall) -> Answer:
    """Store a blob; with `comp=block` a block of one, with `comp=blocklist` the blob that consists of these blocks."""
    container, name, part = _container_of(call), call.params["blob"], call.query.get("comp")
    if container is None:
        return _error("ContainerNotFound")
    if part == "block":
        container.blocks.setdefault(name, {})[str(call.query.get("blockid"))] = call.request.raw
        return Answer(201, b"")
    # The SDKs upload so unless they are told to overwrite.
    if call.request.headers.get("if-none-match") == "*" and name in container.blobs:
        return _error("BlobAlreadyExists")
    data = container.join_blocks(name, read_block_list(call.request.raw)) if part == "blocklist" else call.request.raw
    if data is None:
        return _error("InvalidBlockList")
    given = call.request.headers.get("x-ms-blob-content-type") or call.request.headers.get("content-type") or FILE_TYPE
    made = container.blobs[name] = Blob(data, given, call.world.tick())
    return Answer(201, b"", {name: value for name, value in made.headers.items() if name in ("etag", "last-modified")})


@operation("GET", CONTAINER, project=True)
def list_blobs(call: ApiCall) -> Answer:
    """List the blobs of a container, optionally by `prefix`."""
    container = _container_of(call)
    if container is None:
        return _error("ContainerNotFound")
    address = container_address(
        origin_of(call.world, call.request.headers), project_of(call.request.root), call.params["container"]
    )
    return Answer(200, render_list(address, container, str(call.query.get("prefix", ""))), XML)


@operation("GET", BLOB, project=True)
def get_blob(call: ApiCall) -> Answer:
    """Return the content of a blob, or of a range of it."""
    container = _container_of(call)
    blob = container.blobs.get(call.params["blob"]) if container else None
    if blob is None:
        return _error("BlobNotFound" if container else "ContainerNotFound")
    asked = call.request.headers.get("x-ms-range") or call.request.headers.get("range") or ""
    if (bounds := find_range(asked, len(blob.data))) is None:
        return _error("InvalidRange")
    start, end = bounds
    within = {"content-range": f"bytes {start}-{end - 1}/{len(blob.data)}"} if asked else {}
    return Answer(206 if asked else 200, blob.data[start:end], {**blob.headers, **within})


@operation("DELETE", BLOB, project=True)
def delete_blob(call: ApiCall) -> Answer:
    """Delete a blob."""
    container = _container_of(call)
    if container is None or container.blobs.pop(call.params["blob"], None) is None:
        return _error("BlobNotFound" if container else "ContainerNotFound")
    return Answer(202, b"")


def _container_of(call: ApiCall) -> BlobContainer | None:
    return call.store.blobs.get(call.params["container"])


def _error(code: str) -> Answer:
    """Return an error of the storage, in its own form."""
    return Answer(MESSAGES[code][0], render_error(code), {**XML, "x-ms-error-code": code})
