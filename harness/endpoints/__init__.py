"""Every endpoint, one module a resource, and Azure's way of answering; importing this registers the endpoints."""

from harness.core.registry import import_modules

RESOURCES = (
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
)

import_modules(__name__, RESOURCES)
