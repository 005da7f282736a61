"""The provider's other APIs, which the mock is not for: it names them instead of calling their addresses invalid."""

from __future__ import annotations

from collections.abc import Mapping

from harness.core.errors import ApiError
from harness.core.exchange import Request

_NAMES: Mapping[str, str] = {
    "agents": "agents",
    "audio": "speech and transcriptions",
    "batches": "batches",
    "chat": "chat completions",
    "chatkit": "ChatKit sessions",
    "completions": "completions",
    "content_provenance_checks": "content provenance checks",
    "decisions": "decisions",
    "embeddings": "embeddings",
    "evals": "evals",
    "fine_tuning": "fine-tuning jobs",
    "images": "images",
    "live": "live sessions",
    "moderations": "moderations",
    "organization": "settings of the organization",
    "projects": "projects",
    "realtime": "realtime sessions",
    "safety": "safety checks",
    "skills": "skills",
    "vaults": "vaults",
    "videos": "videos",
    "webhook_endpoints": "webhooks",
    "webhook_event_types": "webhooks",
}
"""What the first part of a path says that the API is about; those of the resources of the SDK, release 3.54."""

_HINTS: Mapping[str, str] = {
    "chat": " Call client.responses.create instead, or give this client a base URL of its own.",
}
_HINT = " Give the client that needs it a base URL of its own."


def find_other_api(request: Request) -> ApiError | None:
    """The error for a request to another API of the provider; None for any other unknown path."""
    first = request.path.removeprefix("/").partition("/")[0]
    if first not in _NAMES:
        return None
    message = (
        f"{request.method} {request.root}{request.path} is not part of this mock: {_NAMES[first]} are another API of the "
        f"provider than Responses, Conversations and Assistants.{_HINTS.get(first, _HINT)}"
    )
    return ApiError(404, message, None, "not_mocked", "harness_error")
