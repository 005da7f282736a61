"""The multi-agent beta: its header, the requests that enable it, and the members of items."""

from __future__ import annotations

from typing import Any

from harness.core.exchange import Json, Request

MULTI_AGENT = "multi_agent"
MULTI_AGENT_BETA = "responses_multi_agent=v1"
"""The value in `OpenAI-Beta`, a comma-separated list."""


def has_multi_agent_beta(request: Request) -> bool:
    """Return whether a request, or the upgrade of its connection, asks for the beta."""
    return MULTI_AGENT_BETA in [beta.strip() for beta in request.headers.get("openai-beta", "").split(",")]


def enables_agents(body: Json) -> bool:
    """Return whether a request lets the model spawn agents."""
    settings = body.get(MULTI_AGENT)
    return isinstance(settings, dict) and settings.get("enabled") is True


def omit_agents(request: Request, body: Any) -> Any:
    """Drop the beta's members from a body for validation by the schema: the agents of items."""
    items = body.get("input") if isinstance(body, dict) else None
    if not isinstance(items, list) or not has_multi_agent_beta(request):
        return body
    return {**body, "input": [_omit_agent(item) for item in items]}


def _omit_agent(item: Any) -> Any:
    if not isinstance(item, dict) or "agent" not in item:
        return item
    return {name: value for name, value in item.items() if name != "agent"}
