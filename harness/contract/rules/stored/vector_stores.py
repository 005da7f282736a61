"""Vector stores in paths and tools, and the files in them: they must exist."""

from collections.abc import Iterator

from harness.api.classic import sources_of
from harness.api.http.dialects import OPENAI
from harness.api.resources.assistants import requested_stores
from harness.contract.phrasing import exclusive_parameters, invalid_id, missing_parameter
from harness.contract.rule import Case, WorldView, after, assumed, documented, recorded, reported, rule
from harness.contract.rules.example_requests import CREATE_FILLED_STORE, CREATE_STORE, HI, UPLOAD_FILE, upload
from harness.contract.rules.stored.files import ACCOUNT_WITH_OLD_FILES
from harness.core.account import PROJECT_ID
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request

STORE_PATH = "/vector_stores/{vector_store_id}"
CREATE_BATCH = f"POST {STORE_PATH}/file_batches"
MAY_CREATE_STORES = ("POST /assistants", "POST /threads", "POST /threads/runs")
"""The operations that may also create vector stores."""
ADD_FILES = ("POST /vector_stores", f"POST {STORE_PATH}/files", CREATE_BATCH)
ATTACH_FILES = (*ADD_FILES, *MAY_CREATE_STORES)
"""The operations that add uploaded files to a vector store."""
_SECOND_BATCH = "POST /vector_stores/{1.id}/file_batches"
CSV_FILE = upload("purpose=assistants", name="a.csv")
THREAD_BODY: Json = {"messages": [HI]}


def _new_store_body(file: str) -> Json:
    return {"tool_resources": {"file_search": {"vector_stores": [{"file_ids": [file]}]}}}


def _file_search_body(*ids: str) -> Json:
    return {"tools": [{"type": "file_search", "vector_store_ids": list(ids)}]}


_SEARCHED_STORES = (
    after(CREATE_STORE, _file_search_body("{0.id}")),
    Case(_file_search_body("vs_elsewhere")),
    Case(_file_search_body("vs_old"), account=ACCOUNT_WITH_OLD_FILES),
)
_MAKE_STORE = (
    "Create it first: `POST /vector_stores`, or `mock.vector_store()` in a test; `mock.organization(files=…)` names what is "
    "there."
)


@rule(
    invalid_id("{name}", "{prefix}"),
    reported("public reports of two origins: batch_id", "2026-02"),
    reported("public code that handles it, in part: vector_store_id", "2025"),
    assumed("that both have the same words: https://github.com/openai/openai-node, reports of 2026"),
    on="*{vector_store_id}*",
    rejects={
        ("vector_store_id", "docs", "vs_"): "GET /vector_stores/docs",
        ("batch_id", "vs_1", "vsfb_"): after(CREATE_STORE, "GET /vector_stores/{0.id}/file_batches/vs_1"),
    },
    fix="Pass the id of a vector store, not its name, and that of a batch; some SDKs' polling returns the store's.",
)
def store_path_ids(request: Request) -> Iterator[Json]:
    """The id of a vector store in a path must begin with `vs_`, that of a batch with `vsfb_`."""
    for name, prefix in (("vector_store_id", "vs_"), ("batch_id", "vsfb_")):
        if not (id := request.params.get(name, prefix)).startswith(prefix):
            yield {"name": name, "id": id, "prefix": prefix}


@rule(
    ApiError(404, "No vector store found with id '{id}'.", "vector_store_id"),
    reported("public code of five origins that handles it; its `param` from a server that copies it", "2026"),
    assumed("the full stop, as of a file in a vector store"),
    on="*{vector_store_id}*",
    rejects={
        "vs_x": "GET /vector_stores/vs_x",
        "{0.id}": after(CREATE_STORE, "DELETE /vector_stores/{0.id}", "DELETE /vector_stores/{0.id}"),
    },
    accepts=[
        after(CREATE_STORE, "GET /vector_stores/{0.id}"),
        Case(on="GET /vector_stores/vs_old/files", account=ACCOUNT_WITH_OLD_FILES),
    ],
    fix="Use the id the API gave; `mock.organization(files=…)` sets which exist.",
)
def vector_store_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The id in the path must name a vector store of this key."""
    id = request.params["vector_store_id"]
    if world.uploads.store(id) is None:
        yield {"id": id, "missing": [id]}


@rule(
    ApiError(404, "No file found with id '{id}' in vector store '{store}'."),
    reported("https://github.com/mkdev-me/terraform-provider-openai/issues/35", "2025-10-28"),
    reported("public notes of another origin, with the full stop", "2025"),
    on=f"* {STORE_PATH}/files/{{file_id}}*",
    rejects={
        ("file-x", "{0.id}"): after(CREATE_STORE, "GET /vector_stores/{0.id}/files/file-x"),
        ("{0.id}", "{1.id}"): after(UPLOAD_FILE, CREATE_STORE, "DELETE /vector_stores/{1.id}/files/{0.id}"),
    },
    accepts=[after(UPLOAD_FILE, CREATE_FILLED_STORE, "GET /vector_stores/{1.id}/files/{0.id}/content")],
    fix="Attach it first; uploading it is not enough.",
)
def vector_store_file_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The file must have been added to the vector store."""
    store, id = world.uploads.store(request.params["vector_store_id"]), request.params["file_id"]
    if store and id not in store.files:
        yield {"id": id, "store": request.params["vector_store_id"], "missing": [id]}


@rule(
    missing_parameter("file_ids"),
    documented("openapi 2.3.0 bbfd19ab#/components/schemas/CreateVectorStoreFileBatchRequest", "2026-11"),
    assumed("the words: those for any member that is missing"),
    on=CREATE_BATCH,
    rejects=[after(CREATE_STORE, Case({}, on="POST /vector_stores/{0.id}/file_batches"))],
    accepts=[after(UPLOAD_FILE, CREATE_STORE, Case({"files": [{"file_id": "{0.id}"}]}, on=_SECOND_BATCH))],
    fix="Name the files: `file_ids`, or `files` with attributes of their own.",
)
def batch_of_nothing(request: Request) -> bool:
    """A batch needs files: `file_ids` or `files`."""
    return not (request.body.get("file_ids") or request.body.get("files") or sources_of(request.body))


_BOTH: Json = {"file_ids": ["{0.id}"], "files": [{"file_id": "{0.id}"}]}


@rule(
    exclusive_parameters("'file_ids' or 'files'", ""),
    documented("openapi 2.3.0 bbfd19ab#/components/schemas/CreateVectorStoreFileBatchRequest", "2026-11"),
    assumed("the words: those for the two ways to continue a conversation"),
    on=CREATE_BATCH,
    when="files",
    rejects=[after(UPLOAD_FILE, CREATE_STORE, Case(_BOTH, on=_SECOND_BATCH))],
    accepts=[after(UPLOAD_FILE, CREATE_STORE, Case({**_BOTH, "file_ids": None}, on=_SECOND_BATCH))],
    fix="Name the files once: `file_ids`, or `files` with attributes of their own.",
)
def batch_of_both(request: Request) -> bool:
    """`file_ids` and `files` of a batch exclude each other."""
    return request.body.get("file_ids") is not None and request.body.get("files") is not None


@rule(
    ApiError(404, "Files [{ids}] were not found"),
    reported("https://github.com/Azure/azure-sdk-for-net/issues/47121", "2024-11-12"),
    assumed("that several are joined by a comma, and that those of a thread or an assistant get the same error"),
    on=ATTACH_FILES,
    rejects={
        "file-x": after(CREATE_STORE, Case({"file_id": "file-x"}, on="POST /vector_stores/{0.id}/files")),
        "file-x, file-y": Case({"file_ids": ["file-x", "file-y"]}, on="POST /vector_stores"),
        "file-z": after(
            CREATE_STORE, Case({"files": [{"file_id": "file-z"}]}, on="POST /vector_stores/{0.id}/file_batches")
        ),
        "file-t": Case(_new_store_body("file-t"), on="POST /threads"),
        "file-a": Case({"model": "gpt-4o", **_new_store_body("file-a")}, on="POST /assistants"),
        "file-r": after(
            Case({"model": "gpt-4o"}, on="POST /assistants"),
            Case(
                {"assistant_id": "{0.id}", "thread": {**THREAD_BODY, **_new_store_body("file-r")}},
                on="POST /threads/runs",
            ),
        ),
    },
    accepts=[
        after(UPLOAD_FILE, CREATE_FILLED_STORE),
        after(UPLOAD_FILE, Case(_new_store_body("{0.id}"), on="POST /threads")),
        after(UPLOAD_FILE, CREATE_STORE, Case({"file_id": "{0.id}"}, on="POST /vector_stores/{1.id}/files")),
    ],
    fix="Upload them first, with the same key.",
)
def files_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """Only files uploaded with the same key can be added to a vector store."""
    body = request.body
    named = [body.get("file_id"), *(body.get("file_ids") or ()), *(sent["file_id"] for sent in body.get("files") or ())]
    named += [
        file
        for owner in (body, body.get("thread") or {})
        for store in requested_stores(owner)
        for file in store.get("file_ids", ())
    ]
    missing = [id for id in named if id is not None and world.uploads.file(id) is None]
    if missing:
        yield {"ids": ", ".join(missing), "missing": missing}


@rule(
    bad_request(
        "Files with extensions [.csv] are not supported for retrieval. See "
        "https://platform.openai.com/docs/assistants/tools/file-search/supported-files",
        "{name}",
        "unsupported_file",
    ),
    reported("public code that quotes the whole error, of `file_ids`", "2025"),
    reported("public code of another origin that leaves such files out", "2025"),
    reported("https://github.com/RageAgainstThePixel/OpenAI-DotNet/issues/454: of an attachment", "2025-06-12"),
    assumed("that `file_id` and `files` are named as `file_ids` is; of other extensions nothing is known"),
    on=ADD_FILES,
    dialects=OPENAI,
    rejects=[after(CSV_FILE, Case({"file_ids": ["{0.id}"]}, on="POST /vector_stores"))],
    accepts=[after(UPLOAD_FILE, CREATE_FILLED_STORE)],
    fix="Convert the file, say to `.txt` or `.json`, or give it to the code interpreter.",
)
def csv_not_searchable(request: Request, world: WorldView) -> Iterator[Json]:
    """Vector stores do not accept tables."""
    body = request.body
    sent = {
        "file_id": [body.get("file_id")],
        "file_ids": body.get("file_ids") or (),
        "files": [entry["file_id"] for entry in body.get("files") or ()],
    }
    for name, ids in sent.items():
        files = [file for id in ids if id and (file := world.uploads.file(id))]
        if any(file.object["filename"].lower().endswith(".csv") for file in files):
            yield {"name": name}


@rule(
    ApiError(404, "Vector store {id} not found in organization {organization}, project {project}."),
    recorded("a public project", "2026"),
    reported("the tests of a public application, with the status: a key of another project", "2026"),
    assumed("that it is said of the first one that is missing, and of OpenAI alone; the day when the words changed"),
    when="tools",
    mentions="file_search",
    dialects=OPENAI,
    since="2026",
    rejects={
        ("vs_x", "org-harness", PROJECT_ID): after(CREATE_STORE, _file_search_body("vs_x")),
        ("{0.id}", "org-harness", PROJECT_ID): after(
            CREATE_STORE, "DELETE /vector_stores/{0.id}", _file_search_body("{0.id}", "vs_y")
        ),
    },
    accepts=_SEARCHED_STORES,
    fix=_MAKE_STORE,
)
def file_search_store_missing(request: Request, world: WorldView) -> Iterator[Json]:
    """The vector stores of `file_search` must exist for this key, once the key has stored anything."""
    for missing in _missing_stores(request, world):
        named = {"id": missing[0], "organization": world.account.name, "project": PROJECT_ID}
        yield {**named, "missing": missing}


@rule(
    ApiError(404, "Vector store with id {ids} not found."),
    reported("public notes of three origins, one with the status, one with the form of the ids", "2025-08-21"),
    assumed("that there is neither `param` nor `code`"),
    when="tools",
    mentions="file_search",
    rejects={
        "['vs_x']": after(CREATE_STORE, Case(_file_search_body("vs_x"), as_of="2025-12-31")),
        "['vs_y']": after(
            Case({}, on="POST !/openai/v1/vector_stores"),
            Case({"model": "gpt-4.1", "input": "hi", **_file_search_body("vs_y")}, on="POST !/openai/v1/responses"),
        ),
    },
    accepts=_SEARCHED_STORES,
    fix=_MAKE_STORE,
)
def file_search_store_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The message of 2025, and Azure's, for a vector store that does not exist."""
    yield from ({"ids": missing, "missing": missing} for missing in _missing_stores(request, world))


def _missing_stores(request: Request, world: WorldView) -> Iterator[list[str]]:
    """Yield, for each `file_search`, the ids of missing vector stores, once the key has stored anything."""
    for tool in request.body.get("tools") or ():
        # A key that has stored nothing names vector stores of the account, which are unknown.
        is_checked = tool["type"] == "file_search" and world.uploads.has_known_files
        if missing := [id for id in tool["vector_store_ids"] if world.uploads.store(id) is None] if is_checked else []:
            yield missing
