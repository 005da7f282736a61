"""Names the provider's other APIs, which are not mocked, instead of reporting their addresses as invalid."""

from collections.abc import Mapping, Sequence

from harness.api.http.dialects import AZURE, FOUNDRY
from harness.api.project_types import PROJECT_ERROR_FORM
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
    "webhook_endpoints": "tests of webhooks",
}
"""What the first segment of a path is about; the segments are those of the SDK's resources, release 3.57."""

_PROJECT_NAMES: Mapping[str, str] = {
    "agent_insight_monitors": "monitors of agents",
    "a2a": "agents over A2A",
    "activity": "agents over the activity protocol",
    "agents:generate": "generated definitions of agents",
    "agent_optimization_jobs": "optimization jobs of agents",
    "evaluationrules": "evaluation rules",
    "evaluations": "evaluations",
    "evaluationtaxonomies": "evaluation taxonomies",
    "evaluator_generation_jobs": "generation jobs of evaluators",
    "evaluators": "evaluators",
    "insights": "insights",
    "invocations": "invocations of a hosted agent's own protocol",
    "invocations_ws": "invocations of a hosted agent's own protocol",
    "mcp": "agents over MCP",
    "mcp_tools": "tools over MCP",
    "models": "registered models",
    "redTeams": "red teams",
    "routines": "routines",
    "schedules": "schedules",
    "telephony": "telephony of voice agents",
    "microsoft365": "applications of Microsoft 365",
    "voice": "conversations by voice",
}
"""The same for segments directly below a Foundry project, or below one of its agents; as in azure-ai-projects 2.10."""

NOT_MOCKED = "not_mocked"
"""The code of the error for a request to another API of the provider."""
_HINTS: Mapping[str, str] = {
    "chat": " Call client.responses.create instead, or answer it with mock.route(…), in a script file `route:`."
}
_HINT = (
    " Answer it with mock.route(…), in a script file `route:`, or give the client that needs it a base URL of its own."
)
_FORMS: Mapping[str, Mapping[str, object]] = {
    AZURE: {"error": {"code": "{code}", "message": "{message}"}},
    FOUNDRY: PROJECT_ERROR_FORM,
}
"""The forms of errors in dialects with a form of their own."""


def _find_project_part(parts: Sequence[str]) -> str:
    """Return the segment of a path, below a project or one of its agents, that names the resource."""
    if parts[0] == "agents":
        parts = parts[2:] or parts[:1]
    return parts[2] if parts[:2] == ["endpoint", "protocols"] and len(parts) > 2 else parts[0]


def find_other_api(request: Request) -> ApiError | None:
    """Return the error for a request to another API of the provider; None for any other unknown path."""
    parts = request.path.removeprefix("/").split("/")
    if parts[0] == "openai" and not request.root:  # an address without the root of the API: `/openai/deployments/…`
        parts = parts[3:] if parts[1:2] == ["deployments"] else parts[1:]
    names, named = _NAMES, parts[0] if parts else ""
    if request.dialect == FOUNDRY and request.root.rpartition("/")[0].endswith("/projects"):
        names, named = _PROJECT_NAMES, _find_project_part(parts)
    if named not in names:
        return None
    message = (
        f"{request.method} {request.root}{request.path} is not part of this mock: {names[named]} are another API of the "
        f"provider than Responses, Conversations and Assistants.{_HINTS.get(named, _HINT)}"
    )
    error = ApiError(404, "{text}", None, NOT_MOCKED, "harness_error", body_template=_FORMS.get(request.dialect))
    return error.fill({"text": message})  # a path may contain braces
