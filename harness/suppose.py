"""What a recording shows to have been there before it began: the files and vector stores that taken requests name.

Nothing in the way they are used depends on what is in them, so an empty one will do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from harness.contract import Refusal
from harness.exchange import Json, Request
from harness.world import World

NOT_THERE = (
    *("file_not_found", "input_file_not_found", "files_not_found", "vector_store_not_found"),
    *("file_search_store_not_found", "vector_store_file_not_found"),
)
"""The rules that say so of a file or a vector store; their facts hold the `missing` ids, maybe the `store` around them."""


def suppose(world: World, refusal: Refusal) -> bool:
    """Take what the mock misses to be there, since the API took the request; whether that changes anything."""
    if refusal.rule.id not in NOT_THERE:
        return False
    uploads, store = world.uploads, refusal.facts.get("store", "")
    missing = [id for id in refusal.facts["missing"] if store or id not in (*uploads.files, *uploads.stores)]
    for id in missing:
        uploads.suppose(id, store)
    return bool(missing)


def _made(world: World, request: Request, answer: Json) -> None:
    if isinstance(id := answer.get("id"), str):
        world.uploads.suppose(id, request.params.get("vector_store_id", ""), str(answer.get("purpose") or ""))


def _deleted(world: World, request: Request, answer: Json) -> None:
    world.uploads.forget(request.params.get("file_id") or request.params["vector_store_id"])


def _taken_out(world: World, request: Request, answer: Json) -> None:
    if store := world.uploads.store(request.params["vector_store_id"]):
        store.files.pop(request.params["file_id"], None)


LEARNED: Mapping[str, Callable[[World, Request, Json], None]] = {
    "POST /files": _made,
    "GET /files/{file_id}": _made,
    "DELETE /files/{file_id}": _deleted,
    "POST /vector_stores": _made,
    "DELETE /vector_stores/{vector_store_id}": _deleted,
    "POST /vector_stores/{vector_store_id}/files": _made,
    "DELETE /vector_stores/{vector_store_id}/files/{file_id}": _taken_out,
}
"""What answered requests about files and vector stores have made or deleted."""
