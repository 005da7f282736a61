"""Every endpoint, one module a resource; importing this package registers them all."""

from harness.endpoints import (
    agents,
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
    "agents",
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
