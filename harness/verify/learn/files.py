"""Learners of operations on files and vector stores; their content is not needed."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.exchange import Json, Request
from harness.verify.learn.registry import learns_from
from harness.world.world import World


@learns_from(
    "POST /files", "GET /files/{file_id}", "POST /vector_stores", "POST /vector_stores/{vector_store_id}/files"
)
def _learn_created(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if isinstance(id := answer.get("id"), str):
        name = answer.get("filename") if request.operation == "POST /files" else ""
        store, purpose = request.params.get("vector_store_id", ""), str(answer.get("purpose") or "")
        world.uploads.presume(id, store, purpose, name if isinstance(name, str) else "")


@learns_from("DELETE /files/{file_id}", "DELETE /vector_stores/{vector_store_id}")
def _learn_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    world.uploads.delete(request.params.get("file_id") or request.params["vector_store_id"])


@learns_from("DELETE /vector_stores/{vector_store_id}/files/{file_id}")
def _learn_removed(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if store := world.uploads.store(request.params["vector_store_id"]):
        store.files.pop(request.params["file_id"], None)
