"""Pages of lists: `after` and `before` must be ids of the list's objects."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping

from harness.contract.rule import Case, WorldView, after, assumed, reported, rule
from harness.contract.rules.stored.containers import CREATE_CONTAINER
from harness.contract.rules.stored.threads import CREATE_ASSISTANT, CREATE_THREAD, HI, STARTED_RUN
from harness.contract.rules.stored.uploads import ANY_UPLOAD
from harness.contract.rules.stored.vector_stores import (
    CREATE_BATCH,
    CREATE_FILLED_STORE,
    CREATE_STORE,
    STORE_PATH,
    UPLOAD_FILE,
)
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request

LIKE_FILES = "that it is refused as is reported of files; the words are those for "
ListedIds = Callable[[Request, WorldView], Container[str | None]]
"""The ids of a list's objects; None stands for an unknown id, as of items that a recording sent."""


def _ids_in_thread(table: str) -> ListedIds:
    def known(request: Request, world: WorldView) -> Container[str | None]:
        ids: Container[str | None] = getattr(world.store.threads[request.params["thread_id"]], table)
        return ids

    return known


def _ids_in_store(request: Request, world: WorldView) -> Container[str | None]:
    files: Container[str | None] = world.store.vector_stores[request.params["vector_store_id"]].files
    return files


def _ids_in_container(request: Request, world: WorldView) -> Container[str | None]:
    files: Container[str | None] = world.store.containers[request.params["container_id"]].files
    return files


LISTS: Mapping[str, tuple[str, ListedIds]] = {
    "GET /assistants": ("assistant", lambda request, world: world.store.assistants),
    "GET /threads/{thread_id}/messages": ("message", _ids_in_thread("messages")),
    "GET /threads/{thread_id}/runs": ("run", _ids_in_thread("runs")),
    "GET /threads/{thread_id}/runs/{run_id}/steps": ("run step", _ids_in_thread("steps")),
    "GET /vector_stores": ("vector store", lambda request, world: world.store.vector_stores),
    f"GET {STORE_PATH}/files": ("file", _ids_in_store),
    "GET /containers": ("container", lambda request, world: world.store.containers),
    "GET /containers/{container_id}/files": ("container file", _ids_in_container),
    f"GET {STORE_PATH}/file_batches/{{batch_id}}/files": ("file", _ids_in_store),
}
"""By list: the name of its objects in an error, and their ids."""
ITEM_LISTS: Mapping[str, ListedIds] = {
    "GET /conversations/{conversation_id}/items": lambda request, world: [
        item.get("id") for item in world.store.conversations[request.params["conversation_id"]].items
    ],
    "GET /responses/{response_id}/input_items": lambda request, world: [
        item.get("id") for item in world.store.responses[request.params["response_id"]].input
    ],
}


def _unknown_cursors(request: Request, world: WorldView, known: ListedIds) -> Iterator[Json]:
    cursors = {name: id for name in ("after", "before") if (id := request.query.get(name))}
    ids = known(request, world) if cursors else ()
    yield from ({"name": name, "id": id} for name, id in cursors.items() if id not in ids and None not in ids)


@rule(
    on=tuple(LISTS),
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
            Case({"file_ids": ["{0.id}"]}, on=CREATE_BATCH.replace("{vector_store_id}", "{1.id}")),
            Case(on="GET /vector_stores/{1.id}/file_batches/{2.id}/files?after=file-y"),
        ),
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
    """`after` and `before` must name something of this kind that is still there."""
    kind, known = LISTS[request.operation]
    yield from ({"kind": kind, **lost} for lost in _unknown_cursors(request, world, known))


@rule(
    on=tuple(ITEM_LISTS),
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
    yield from _unknown_cursors(request, world, ITEM_LISTS[request.operation])


@rule(
    on="GET /files",
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
    yield from _unknown_cursors(request, world, lambda request, world: world.store.files)
