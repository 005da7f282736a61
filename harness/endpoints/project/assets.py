"""`/indexes` and `/datasets`: assets with versions that the client names, created and changed by the same request.

For datasets also file uploads, and the credentials to read the files.
"""

from __future__ import annotations

from functools import partial

from harness.api.operations import operation
from harness.api.project.assets import DATASETS, INDEXES, AssetKind
from harness.api.project.blobs import BLOB_ROOT, container_address, signed_query
from harness.api.project.connections import ACCOUNT, SUBSCRIPTION, project_of
from harness.api.project.lists import value_list
from harness.api.project.versions import known_versions
from harness.core.exchange import Answer, Json
from harness.world.api_call import ApiCall
from harness.world.project_resources import new_container, origin_of, put_asset, table_of


def _patch(kind: AssetKind, call: ApiCall) -> Answer:
    """Create a version, or change it by a merge patch."""
    params = call.params
    stored = put_asset(
        kind, call.world, params["name"], params["version"], call.body or {}, project_of(call.request.root)
    )
    return Answer(200, kind.render(stored, True))


def _list_latest(kind: AssetKind, call: ApiCall) -> Answer:
    """List the newest version of each asset."""
    return Answer(200, value_list(kind.render(asset.latest, False) for asset in table_of(kind, call.world).values()))


def _list_versions(kind: AssetKind, call: ApiCall) -> Answer:
    """List the versions of one asset, newest first (recorded)."""
    versions = known_versions(table_of(kind, call.world), call.params["name"])
    return Answer(200, value_list(kind.render(version, False) for version in reversed(list(versions.values()))))


def _retrieve(kind: AssetKind, call: ApiCall) -> Answer:
    """Retrieve a version of an asset."""
    stored = table_of(kind, call.world)[call.params["name"]].versions[call.params["version"]]
    return Answer(200, kind.render(stored, False))


def _delete(kind: AssetKind, call: ApiCall) -> Answer:
    """Delete a version; recorded: succeeds even if it does not exist."""
    table, name = table_of(kind, call.world), call.params["name"]
    if name in table:
        table[name].remove(call.params["version"])
        if not table[name].versions:
            del table[name]
    return Answer(204, b"")


def _register(kind: AssetKind) -> None:
    for method, below, handler in (
        ("GET", "", _list_latest),
        ("GET", "/{name}/versions", _list_versions),
        ("GET", "/{name}/versions/{version}", _retrieve),
        ("PATCH", "/{name}/versions/{version}", _patch),
        ("DELETE", "/{name}/versions/{version}", _delete),
    ):
        made = partial(handler, kind)
        made.__doc__ = handler.__doc__
        operation(method, f"/{kind.table}{below}", project=True)(made)


_register(INDEXES)
_register(DATASETS)


VERSION = "/datasets/{name}/versions/{version}"
STORAGE = f"{SUBSCRIPTION}/Microsoft.Storage/storageAccounts/{ACCOUNT}"


@operation("POST", f"{VERSION}/startPendingUpload", project=True)
def start_upload(call: ApiCall) -> Answer:
    """Create a container for uploading the files of a version; its address needs no key."""
    container = new_container(call.world)
    address = container_address(origin_of(call.world, call.request.headers), project_of(call.request.root), container)
    asked = (call.body or {}).get("pendingUploadId")
    return Answer(
        200,
        {
            **_references(address, address, signed_query(call.world.api_key, "rcwl")),
            "pendingUploadId": asked,
            "pendingUploadType": (call.body or {}).get("pendingUploadType", "BlobReference"),
            "version": call.params["version"],
        },
    )


@operation("POST", f"{VERSION}/credentials", project=True)
def retrieve_credentials(call: ApiCall) -> Answer:
    """Return a version's container address for reading; the request has no body."""
    stored = call.store.datasets[call.params["name"]].versions[call.params["version"]]
    data = str(stored["members"].get("dataUri", ""))
    name = data.partition(f"{BLOB_ROOT}/")[2].partition("/")[0]
    container = container_address(origin_of(call.world, call.request.headers), project_of(call.request.root), name)
    return Answer(200, _references(data, container, signed_query(call.world.api_key, "rl")))


def _references(blob: str, container: str, query: str) -> Json:
    """Return references to a blob or a container; recorded: the signed address is the container's."""
    signed = {"type": "SAS", "credentialType": "SAS", "sasUri": f"{container}?{query}"}
    reference = {"blobUri": blob, "storageAccountArmId": STORAGE, "credential": signed}
    return {"blobReference": reference, "blobReferenceForConsumption": reference}
