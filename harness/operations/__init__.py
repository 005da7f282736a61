"""Every endpoint, one module a resource; importing this package registers them all."""

from harness.operations import (
    assistants,
    conversations,
    files,
    messages,
    models,
    responses,
    runs,
    threads,
    vector_stores,
)

__all__ = [
    "assistants",
    "conversations",
    "files",
    "messages",
    "models",
    "responses",
    "runs",
    "threads",
    "vector_stores",
]
