"""Lookups for rules about a request's model: its family, and the types of the declared tools."""

from __future__ import annotations

from harness.api.models import Model, is_nonexistent_model
from harness.contract.rule import WorldView
from harness.core.exchange import Json, Request

FAMILY = ("model", "world.models")
"""What a rule reads that looks up the family."""


def family_of(request: Request, world: WorldView) -> Model | None:
    """Return the model's family; None for an unlisted model or a prompt template, so that all features are accepted."""
    return world.models.find(request.body.get("model") or "")


def is_missing_model(name: str, world: WorldView) -> bool:
    """Return whether the API has no model of this name on the World's day."""
    family = world.models.find(name)
    return is_nonexistent_model(name) or (family is not None and family.has_ended(world.as_of))


def reasoning_options(request: Request) -> Json:
    """Return the member `reasoning`; empty if it is absent."""
    return request.body.get("reasoning") or {}


def tool_types(request: Request) -> list[str]:
    """Return the types of the declared tools, without version suffixes."""
    return [tool["type"].partition("_2025")[0] for tool in request.body.get("tools") or ()]
