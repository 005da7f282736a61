"""Remembers files and vector stores, without their content."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.exchange import Json, Request
from harness.verify.remember.registry import remembers
from harness.world.world import World


@remembers("POST /files", "GET /files/{file_id}", "POST /vector_stores", "POST /vector_stores/{vector_store_id}/files")
def _remember_created(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if isinstance(id := answer.get("id"), str):
        name = answer.get("filename") if request.operation == "POST /files" else ""
        store, purpose = request.params.get("vector_store_id", ""), str(answer.get("purpose") or "")
        world.uploads.presume(id, store, purpose, name if isinstance(name, str) else "")


@remembers("DELETE /files/{file_id}", "DELETE /vector_stores/{vector_store_id}")
def _remember_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    world.uploads.delete(request.params.get("file_id") or request.params["vector_store_id"])


@remembers("DELETE /vector_stores/{vector_store_id}/files/{file_id}")
def _remember_removed(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if store := world.uploads.store(request.params["vector_store_id"]):
        store.files.pop(request.params["file_id"], None)
