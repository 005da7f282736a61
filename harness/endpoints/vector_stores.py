"""`/vector_stores`: create, retrieve, update, search and delete, and the same for a store's files and file batches."""

from collections.abc import Sequence

from harness.api.http.dialects import FOUNDRY
from harness.api.operations import Cursors, operation
from harness.api.pages import page
from harness.api.resources.files import (
    FileBatch,
    VectorStore,
    file_text,
    queries_of,
    render_batch,
    render_store,
    search_files,
    split_chunks,
)
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import omit
from harness.world.api_call import ApiCall
from harness.world.world import World

STORE_PATH = "/vector_stores/{vector_store_id}"


STORED_FILES = Cursors(
    "file", lambda request, world: world.store.vector_stores[request.params["vector_store_id"]].files
)


def _find_store(call: ApiCall) -> VectorStore:
    """Return the vector store in the path, with everything that was in progress completed."""
    store = call.store.vector_stores[call.params["vector_store_id"]]
    store.finish_files("completed")
    return store


@operation("POST", "/vector_stores", body="CreateVectorStore", answer="VectorStore")
def create(call: ApiCall) -> Answer:
    """Create a vector store, with its initial files."""
    body = call.members
    members = omit(body, "file_ids")
    id = call.world.uploads.add_store(body.get("file_ids", ()), members, in_project=call.request.dialect == FOUNDRY)
    return Answer(200, render_store(call.store.vector_stores[id], call.world.now))


@operation(
    "GET",
    "/vector_stores",
    query="ListVectorStores",
    answer="VectorStoreList",
    cursors=Cursors("vector store", lambda request, world: world.store.vector_stores),
)
def list_stores(call: ApiCall) -> Answer:
    """List the vector stores, newest first unless `order=asc`."""
    stores = [render_store(store, call.world.now) for store in call.store.vector_stores.values()]
    return Answer(200, page(stores, call.query))


@operation("GET", STORE_PATH, answer="VectorStore")
def retrieve(call: ApiCall) -> Answer:
    """Retrieve a vector store."""
    return Answer(200, render_store(_find_store(call), call.world.now))


@operation("POST", STORE_PATH, body="UpdateVectorStore", answer="VectorStore")
def update(call: ApiCall) -> Answer:
    """Change the name, the metadata or the expiration of a vector store."""
    store = _find_store(call)
    store.object = {**store.object, **call.body, "metadata": call.body.get("metadata", store.object["metadata"]) or {}}
    store.mark_used(call.world.tick())
    return Answer(200, render_store(store, call.world.now))


@operation("DELETE", STORE_PATH, answer="VectorStoreDeleted")
def delete(call: ApiCall) -> Answer:
    """Delete a vector store; its files stay uploaded."""
    id = call.params["vector_store_id"]
    call.world.uploads.delete(id)
    return Answer(200, {"id": id, "object": "vector_store.deleted", "deleted": True})


@operation("POST", f"{STORE_PATH}/search", body="SearchVectorStore", answer="VectorStoreSearchResults")
def search(call: ApiCall) -> Answer:
    """Find the chunks of a vector store that contain words of the query, best match first."""
    store = _find_store(call)
    store.mark_used(call.world.tick())
    files = [(attached, file) for id, attached in store.files.items() if (file := call.world.uploads.file(id))]
    return Answer(
        200,
        {
            "object": "vector_store.search_results.page",
            "search_query": queries_of(call.body),
            "data": search_files(call.members, files),
            "has_more": False,
            "next_page": None,
        },
    )


@operation("POST", f"{STORE_PATH}/files", body="CreateVectorStoreFile", answer="VectorStoreFile")
def create_file(call: ApiCall) -> Answer:
    """Add a file to a vector store."""
    call.world.tick()
    body = call.members
    for asset in call.world.uploads.add_assets(body):
        body = {**body, "file_id": asset}
    return Answer(200, _attach_file(call.world, _find_store(call), body))


def _attach_file(world: World, store: VectorStore, body: Json) -> Json:
    return store.attach(world.store.files[body["file_id"]], world.now, body)


@operation(
    "GET", f"{STORE_PATH}/files", query="ListVectorStoreFiles", answer="VectorStoreFileList", cursors=STORED_FILES
)
def list_files(call: ApiCall) -> Answer:
    """List the files of a vector store, newest first unless `order=asc`, optionally those in one state (`filter`)."""
    return Answer(200, _page_files(list(_find_store(call).files.values()), call.request))


def _page_files(files: Sequence[Json], request: Request) -> Json:
    state = request.query.get("filter")
    return page([file for file in files if state in (None, file["status"])], request.query)


@operation("GET", f"{STORE_PATH}/files/{{file_id}}", answer="VectorStoreFile")
def retrieve_file(call: ApiCall) -> Answer:
    """Retrieve a file of a vector store."""
    return Answer(200, _find_store(call).files[call.params["file_id"]])


@operation("POST", f"{STORE_PATH}/files/{{file_id}}", body="UpdateVectorStoreFile", answer="VectorStoreFile")
def update_file(call: ApiCall) -> Answer:
    """Replace the attributes of a vector store's file."""
    files, id = _find_store(call).files, call.params["file_id"]
    files[id] = {**files[id], "attributes": call.body["attributes"] or {}}
    return Answer(200, files[id])


@operation("DELETE", f"{STORE_PATH}/files/{{file_id}}", answer="VectorStoreFileDeleted")
def delete_file(call: ApiCall) -> Answer:
    """Remove a file from a vector store; it stays uploaded."""
    id = call.params["file_id"]
    del _find_store(call).files[id]
    return Answer(200, {"id": id, "object": "vector_store.file.deleted", "deleted": True})


@operation("GET", f"{STORE_PATH}/files/{{file_id}}/content", answer="VectorStoreFileContent")
def retrieve_file_content(call: ApiCall) -> Answer:
    """Return the text of a vector store's file, in its chunks."""
    attached = _find_store(call).files[call.params["file_id"]]
    file = call.world.uploads.file(attached["id"])
    cut = split_chunks(file_text(file), attached["chunking_strategy"]) if file else ()
    data = [{"type": "text", "text": chunk} for chunk in cut]
    page: Json = {"object": "vector_store.file_content.page", "data": data, "has_more": False, "next_page": None}
    return Answer(200, page)


@operation("POST", f"{STORE_PATH}/file_batches", body="CreateVectorStoreFileBatch", answer="VectorStoreFileBatch")
def create_batch(call: ApiCall) -> Answer:
    """Add several files to a vector store at once."""
    store, body = _find_store(call), call.members
    now, id = call.world.tick(), call.world.ids.hex("vsfb_", 32)
    requested = body.get("files") or [{**body, "file_id": file} for file in body.get("file_ids", ())]
    requested += [{**body, "file_id": asset} for asset in call.world.uploads.add_assets(body)]
    attached = [_attach_file(call.world, store, attachment) for attachment in requested]
    made = {
        "id": id,
        "object": "vector_store.file_batch",
        "created_at": now,
        "status": "in_progress",
        "vector_store_id": store.object["id"],
    }
    store.batches[id] = batch = FileBatch(made, [file["id"] for file in attached])
    return Answer(200, render_batch(store, batch))


@operation("GET", f"{STORE_PATH}/file_batches/{{batch_id}}", answer="VectorStoreFileBatch")
def retrieve_batch(call: ApiCall) -> Answer:
    """Retrieve a batch with its progress."""
    store = _find_store(call)
    return Answer(200, render_batch(store, store.batches[call.params["batch_id"]]))


@operation("POST", f"{STORE_PATH}/file_batches/{{batch_id}}/cancel", answer="VectorStoreFileBatch")
def cancel_batch(call: ApiCall) -> Answer:
    """Cancel a batch; files that were already processed stay."""
    store = call.store.vector_stores[call.params["vector_store_id"]]
    batch = store.batches[call.params["batch_id"]]
    store.finish_files("cancelled", batch.files)
    return Answer(200, render_batch(store, batch))


@operation(
    "GET",
    f"{STORE_PATH}/file_batches/{{batch_id}}/files",
    query="ListVectorStoreFiles",
    answer="VectorStoreFileList",
    cursors=STORED_FILES,
)
def list_batch_files(call: ApiCall) -> Answer:
    """List the files of a batch that are in the vector store, newest first unless `order=asc`."""
    store = _find_store(call)
    ids = store.batches[call.params["batch_id"]].files
    return Answer(200, _page_files([store.files[id] for id in ids if id in store.files], call.request))
