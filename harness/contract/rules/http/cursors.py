"""Pages of lists: `after` and `before` must be ids of the list's objects."""

from __future__ import annotations

from collections.abc import Iterator

from harness.api.operations import FILE_LIST, ITEM_LIST, OBJECT_LIST, OPERATIONS
from harness.contract.rule import Case, WorldView, after, assumed, reported, rule
from harness.contract.rules.example_requests import (
    ANY_UPLOAD,
    CREATE_ASSISTANT,
    CREATE_CONTAINER,
    CREATE_FILLED_STORE,
    CREATE_STORE,
    CREATE_THREAD,
    HI,
    STARTED_RUN,
    UPLOAD_FILE,
)
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request

LIKE_FILES = "that it is refused as is reported of files; the words are those for "


def _unknown_cursors(request: Request, world: WorldView) -> Iterator[Json]:
    """Yield the facts of each cursor that is not in the list, as declared by its endpoint."""
    listed = OPERATIONS.find(request.operation).cursors
    named = {name: id for name in ("after", "before") if (id := request.query.get(name))}
    if listed and named:
        ids = listed.ids(request, world)
        unknown = {name: id for name, id in named.items() if id not in ids and None not in ids}
        yield from ({"kind": listed.kind, "name": name, "id": id} for name, id in unknown.items())


@rule(
    on=OBJECT_LIST,
    error=ApiError(404, "No {kind} found with id '{id}'.", "{name}"),
    source=assumed(f"{LIKE_FILES}an id in a path"),
    rejects={
        "No assistant found with id 'asst_x'.": Case(on="GET /assistants?after=asst_x"),
        "No message found with id 'msg_x'.": after(CREATE_THREAD, Case(on="GET /threads/{0.id}/messages?before=msg_x")),
        "No message found with id '{1.id}'.": after(
            CREATE_THREAD,
            Case(HI, on="POST /threads/{0.id}/messages"),
            Case(on="DELETE /threads/{0.id}/messages/{1.id}"),
            Case(on="GET /threads/{0.id}/messages?after={1.id}"),
        ),
        "No run found with id 'run_x'.": after(CREATE_THREAD, Case(on="GET /threads/{0.id}/runs?after=run_x")),
        "No run step found with id 'step_x'.": after(
            *STARTED_RUN, Case(on="GET /threads/{1.id}/runs/{2.id}/steps?after=step_x")
        ),
        "No vector store found with id 'vs_x'.": Case(on="GET /vector_stores?after=vs_x"),
        "No file found with id 'file-x'.": after(CREATE_STORE, Case(on="GET /vector_stores/{0.id}/files?after=file-x")),
        "No container found with id 'cntr_x'.": Case(on="GET /containers?after=cntr_x"),
        "No container file found with id 'cfile_x'.": after(
            CREATE_CONTAINER, Case(on="GET /containers/{0.id}/files?after=cfile_x")
        ),
        "No file found with id 'file-y'.": after(
            UPLOAD_FILE,
            CREATE_FILLED_STORE,
            Case({"file_ids": ["{0.id}"]}, on="POST /vector_stores/{1.id}/file_batches"),
            Case(on="GET /vector_stores/{1.id}/file_batches/{2.id}/files?after=file-y"),
        ),
        "No webhook endpoint found with id 'we_x'.": Case(on="GET /webhook_endpoints?after=we_x"),
    },
    accepts=[
        after(CREATE_ASSISTANT, Case(on="GET /assistants?after={0.id}")),
        after(
            CREATE_THREAD,
            Case(HI, on="POST /threads/{0.id}/messages"),
            Case(on="GET /threads/{0.id}/messages?after={1.id}"),
        ),
        after(UPLOAD_FILE, CREATE_FILLED_STORE, Case(on="GET /vector_stores/{1.id}/files?after={0.id}&before={0.id}")),
        Case(on="GET /assistants?after="),
    ],
    fix="Pass `first_id` or `last_id` of another page of the same list.",
)
def cursor_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """`after` and `before` must name an existing object of this kind."""
    yield from _unknown_cursors(request, world)


@rule(
    on=ITEM_LIST,
    error=ApiError(404, "Item with id '{id}' not found.", "{name}"),
    source=assumed(f"{LIKE_FILES}an item that is referred to"),
    rejects={
        "Item with id 'msg_x' not found.": after(
            {"input": "hi"}, Case(on="GET /responses/{0.id}/input_items?after=msg_x")
        ),
        "Item with id 'msg_y' not found.": after(
            Case({}, on="POST /conversations"), Case(on="GET /conversations/{0.id}/items?before=msg_y")
        ),
    },
    accepts=[
        after(
            Case({"items": [HI]}, on="POST /conversations"),
            Case(on="GET /conversations/{0.id}/items"),
            Case(on="GET /conversations/{0.id}/items?after={1.last_id}"),
        ),
        after(
            {"input": "hi"},
            Case(on="GET /responses/{0.id}/input_items"),
            Case(on="GET /responses/{0.id}/input_items?after={1.first_id}"),
        ),
    ],
    fix="Pass `first_id` or `last_id` of another page of the same list.",
)
def item_cursor_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """`after` and `before` must name an item of the list."""
    yield from _unknown_cursors(request, world)


@rule(
    on=FILE_LIST,
    error=ApiError(404, "No such File object: {id}", "{name}"),
    source=[
        reported(
            "public notes on a server that copies the API's lists: the status, `param`, also for deleted ones", "2026"
        ),
        assumed("the words: those for a file in a path"),
    ],
    rejects={"No such File object: file-x": Case(on="GET /files?after=file-x")},
    accepts=[after(ANY_UPLOAD, Case(on="GET /files?after={0.id}"))],
    fix="Pass `last_id` of another page of the list.",
)
def file_cursor_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """`after` must name an uploaded file."""
    yield from _unknown_cursors(request, world)
