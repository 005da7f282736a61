"""What a recording teaches of files and vector stores; of what is in them nothing has to be known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.core.exchange import Json, Request
from harness.verify.learn.registry import Lesson
from harness.world.world import World


def _made(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if isinstance(id := answer.get("id"), str):
        world.uploads.presume(id, request.params.get("vector_store_id", ""), str(answer.get("purpose") or ""))


def _deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    world.uploads.delete(request.params.get("file_id") or request.params["vector_store_id"])


def _taken_out(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if store := world.uploads.store(request.params["vector_store_id"]):
        store.files.pop(request.params["file_id"], None)


LESSONS: Mapping[str, Lesson] = {
    "POST /files": _made,
    "GET /files/{file_id}": _made,
    "DELETE /files/{file_id}": _deleted,
    "POST /vector_stores": _made,
    "DELETE /vector_stores/{vector_store_id}": _deleted,
    "POST /vector_stores/{vector_store_id}/files": _made,
    "DELETE /vector_stores/{vector_store_id}/files/{file_id}": _taken_out,
}
"""By operation."""
