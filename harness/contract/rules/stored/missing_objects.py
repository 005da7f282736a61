"""What a path, a cursor or a body names must exist; the words are those that are known of other objects."""

from collections.abc import Callable, Container, Iterator, Mapping

from harness.api.operations import FILE_LIST, ITEM_LIST, OBJECT_LIST, OPERATIONS
from harness.contract.rule import Case, RuleScope, WorldView, after, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import (
    ADD_ITEM,
    ADD_MESSAGE,
    ANY_UPLOAD,
    ASK,
    CREATE_ASSISTANT,
    CREATE_CONTAINER,
    CREATE_CONVERSATION,
    CREATE_FILLED_STORE,
    CREATE_STORE,
    CREATE_THREAD,
    CREATE_WEBHOOK,
    STARTED_RUN,
    UPLOAD_FILE,
)
from harness.contract.rules.stored.containers import CREATE_FILE, UPLOAD_TO_CONTAINER
from harness.contract.rules.stored.uploads import COMPLETE, CREATE_UPLOAD, complete, part
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request

SCOPE = RuleScope(area="objects")
Known = Callable[[Request, WorldView], Container[str]]


def _known_batches(request: Request, world: WorldView) -> Container[str]:
    store = world.uploads.store(request.params["vector_store_id"])
    return store.batches if store else ()


def _known_container_files(request: Request, world: WorldView) -> Container[str]:
    container = world.containers.find(request.params["container_id"])
    return container.files if container else ()


_IN_PATHS: Mapping[str, tuple[str, Known]] = {
    "batch_id": ("file batch", _known_batches),
    "upload_id": ("upload", lambda request, world: world.store.parted_uploads),
    "container_file_id": ("container file", _known_container_files),
    "webhook_endpoint_id": (
        "webhook endpoint",
        lambda request, world: world.webhooks.endpoints if world.webhooks else (),
    ),
}


@rule(
    ApiError(404, "No {kind} found with id '{id}'.", "{name}"),
    recorded("alexrudall/ruby-openai spec/fixtures/cassettes: the form, of a step"),
    reported("public code of five origins that handles it: the form, of a vector store", "2026"),
    assumed("that these have this error, too; that a cursor is refused as is reported of files"),
    on=(*(f"*{{{name}}}*" for name in _IN_PATHS), OBJECT_LIST, "POST /containers", CREATE_FILE),
    rejects={
        ("file batch", "vsfb_x"): after(CREATE_STORE, "GET /vector_stores/{0.id}/file_batches/vsfb_x"),
        ("upload", "upload_x"): Case({"part_ids": []}, on="POST /uploads/upload_x/complete"),
        ("part", "part_x"): after(CREATE_UPLOAD, complete("part_x")),
        ("container file", "cfile_x"): after(CREATE_CONTAINER, "GET /containers/{0.id}/files/cfile_x/content"),
        ("container file", "{1.id}"): after(
            CREATE_CONTAINER,
            UPLOAD_TO_CONTAINER,
            "DELETE /containers/{0.id}/files/{1.id}",
            "GET /containers/{0.id}/files/{1.id}",
        ),
        ("file", "file-z"): Case({"name": "data", "file_ids": ["file-z"]}, on="POST /containers"),
        ("webhook endpoint", "{0.id}"): after(
            CREATE_WEBHOOK,
            "DELETE /webhook_endpoints/{0.id}",
            Case({}, on="POST /webhook_endpoints/{0.id}/rotate_secret"),
        ),
        ("assistant", "asst_x"): "GET /assistants?after=asst_x",
        ("message", "msg_x"): after(CREATE_THREAD, "GET /threads/{0.id}/messages?before=msg_x"),
        ("message", "{1.id}"): after(
            CREATE_THREAD,
            ADD_MESSAGE,
            "DELETE /threads/{0.id}/messages/{1.id}",
            "GET /threads/{0.id}/messages?after={1.id}",
        ),
        ("run", "run_x"): after(CREATE_THREAD, "GET /threads/{0.id}/runs?after=run_x"),
        ("run step", "step_x"): after(*STARTED_RUN, "GET /threads/{1.id}/runs/{2.id}/steps?after=step_x"),
        ("vector store", "vs_x"): "GET /vector_stores?after=vs_x",
        ("file", "file-x"): after(CREATE_STORE, "GET /vector_stores/{0.id}/files?after=file-x"),
        ("container", "cntr_x"): "GET /containers?after=cntr_x",
        ("container file", "cfile_y"): after(CREATE_CONTAINER, "GET /containers/{0.id}/files?after=cfile_y"),
        ("file", "file-y"): after(
            UPLOAD_FILE,
            CREATE_FILLED_STORE,
            Case({"file_ids": ["{0.id}"]}, on="POST /vector_stores/{1.id}/file_batches"),
            "GET /vector_stores/{1.id}/file_batches/{2.id}/files?after=file-y",
        ),
        ("webhook endpoint", "we_x"): "GET /webhook_endpoints?after=we_x",
    },
    accepts=[
        after(CREATE_UPLOAD, "POST /uploads/{0.id}/cancel"),
        after(CREATE_UPLOAD, part(), complete("{1.id}")),
        after(CREATE_CONTAINER, UPLOAD_TO_CONTAINER, "GET /containers/{0.id}/files/{1.id}/content"),
        after(ANY_UPLOAD, Case({"name": "data", "file_ids": ["{0.id}"]}, on="POST /containers")),
        after(CREATE_CONTAINER, ANY_UPLOAD, Case({"file_id": "{1.id}"}, on="POST /containers/{0.id}/files")),
        after(CREATE_WEBHOOK, "GET /webhook_endpoints/{0.id}"),
        after(CREATE_WEBHOOK, Case({"name": "other"}, on="POST /webhook_endpoints/{0.id}")),
        after(CREATE_ASSISTANT, "GET /assistants?after={0.id}"),
        after(CREATE_THREAD, ADD_MESSAGE, "GET /threads/{0.id}/messages?after={1.id}"),
        after(UPLOAD_FILE, CREATE_FILLED_STORE, "GET /vector_stores/{1.id}/files?after={0.id}&before={0.id}"),
        "GET /assistants?after=",
    ],
    fix="Use an id that the API gave to this key; what is deleted is gone.",
)
def object_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """Batches, uploads and their parts, files of containers, webhook endpoints and cursors must exist for this key."""
    for name, (kind, list_ids) in _IN_PATHS.items():
        if name in request.params and request.params[name] not in list_ids(request, world):
            yield {"kind": kind, "name": name, "id": request.params[name]}
    yield from _absent_cursors(request, world)
    if request.operation == COMPLETE:
        upload = world.store.parted_uploads.get(request.params["upload_id"])
        # One that has ended keeps no parts, which is refused by itself.
        known_parts = upload.parts if upload and upload.status(world.now) == "pending" else request.body["part_ids"]
        absent = [id for id in request.body["part_ids"] if id not in known_parts]
        yield from ({"kind": "part", "name": "part_ids", "id": id} for id in absent)
    elif request.operation in ("POST /containers", CREATE_FILE):
        yield from _absent_files(request.body, world)


def _absent_cursors(request: Request, world: WorldView) -> Iterator[Json]:
    """Yield the facts of each cursor that is not in the list, as declared by its endpoint."""
    listed = OPERATIONS.find(request.operation).cursors
    named = {name: id for name in ("after", "before") if (id := request.query.get(name))}
    if listed and named:
        ids = listed.ids(request, world)
        unknown = {name: id for name, id in named.items() if id not in ids and None not in ids}
        yield from ({"kind": listed.kind, "name": name, "id": id} for name, id in unknown.items())


def _absent_files(body: Json, world: WorldView) -> Iterator[Json]:
    """Yield the facts of each uploaded file that a container's body names in vain."""
    named = [("file_ids", id) for id in body.get("file_ids") or ()]
    if not isinstance(body.get("file"), dict) and isinstance(body.get("file_id"), str):
        named.append(("file_id", body["file_id"]))
    yield from ({"kind": "file", "name": name, "id": id} for name, id in named if world.uploads.file(id) is None)


@rule(
    ApiError(404, "No item found with id '{id}'", "{name}"),
    recorded("vllm-project/agentic-api: of a conversation, after the item was removed", "2026-09-25"),
    assumed("that the input of a response has this error, too"),
    on=ITEM_LIST,
    rejects={
        "{1.data.0.id}": after(
            CREATE_CONVERSATION,
            ADD_ITEM,
            "DELETE /conversations/{0.id}/items/{1.data.0.id}",
            "GET /conversations/{0.id}/items?after={1.data.0.id}",
        ),
        "msg_x": after(ASK, "GET /responses/{0.id}/input_items?after=msg_x"),
    },
    accepts=[
        after(CREATE_CONVERSATION, ADD_ITEM, "GET /conversations/{0.id}/items?after={1.last_id}"),
        after(ASK, "GET /responses/{0.id}/input_items", "GET /responses/{0.id}/input_items?after={1.first_id}"),
    ],
    fix="Pass `last_id` of another page of the list; an item that was removed names no place in it.",
)
def item_cursor_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """`after` must name an item of the list; no full stop ends the message."""
    yield from _absent_cursors(request, world)


@rule(
    ApiError(404, "No such File object: {id}", "{name}"),
    reported(
        "public notes on a server that copies the API's lists: the status, `param`, also for deleted ones", "2026"
    ),
    assumed("the words: those for a file in a path"),
    on=FILE_LIST,
    rejects={"file-x": "GET /files?after=file-x"},
    accepts=[after(ANY_UPLOAD, "GET /files?after={0.id}")],
    fix="Pass `last_id` of another page of the list.",
)
def file_cursor_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """`after` must name an uploaded file."""
    yield from _absent_cursors(request, world)
