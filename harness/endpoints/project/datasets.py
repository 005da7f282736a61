"""`/datasets`: uploads of their files, and the credentials to read them; the rest is in `assets`."""

from __future__ import annotations

from harness.api.operations import operation
from harness.api.project.blobs import BLOB_ROOT, container_address, signed_query
from harness.api.project.connections import ACCOUNT, SUBSCRIPTION, project_of
from harness.core.exchange import Answer, Json
from harness.world.api_call import ApiCall
from harness.world.project_resources import new_container, origin_of

VERSION = "/datasets/{name}/versions/{version}"
STORAGE = f"{SUBSCRIPTION}/Microsoft.Storage/storageAccounts/{ACCOUNT}"


@operation("POST", f"{VERSION}/startPendingUpload", project=True)
def start_upload(call: ApiCall) -> Answer:
    """Make a container to upload the files of a version to; its address needs no key."""
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
    """Return the address of the container of a version, for reading; the request has no body."""
    stored = call.store.datasets[call.params["name"]].versions[call.params["version"]]
    data = str(stored["members"].get("dataUri", ""))
    name = data.partition(f"{BLOB_ROOT}/")[2].partition("/")[0]
    container = container_address(origin_of(call.world, call.request.headers), project_of(call.request.root), name)
    return Answer(200, _references(data, container, signed_query(call.world.api_key, "rl")))


def _references(blob: str, container: str, query: str) -> Json:
    """Refer to a blob or a container; recorded: the signed address is that of the container."""
    signed = {"type": "SAS", "credentialType": "SAS", "sasUri": f"{container}?{query}"}
    reference = {"blobUri": blob, "storageAccountArmId": STORAGE, "credential": signed}
    return {"blobReference": reference, "blobReferenceForConsumption": reference}
