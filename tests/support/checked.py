"""Requests as the contract checks them, without a mock around it."""

from typing import Any

import pytest

from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.core.exchange import Request
from harness.world.world import World

AUTH = {"authorization": "Bearer sk-contract"}


def request(body: Any = None, **members: Any) -> Request:
    """Return a request for a response that says this besides what each says."""
    whole = {"model": "gpt-4.1", "input": "hi", **(body or {})}
    return Request(
        "POST", "/responses", AUTH, {}, whole, operation="POST /responses", schema="CreateResponse", **members
    )


def refused(sent: Request, world: World | None = None) -> str | None:
    """Return the rule that refuses a request, if one does."""
    refusal = check(WorldCall(sent, world or World())).violation
    return refusal.rule.id if refusal else None


def accept_everything(patch: pytest.MonkeyPatch) -> None:
    """Make the mock accept every request."""
    patch.setattr("harness.contract.check.run_rules", lambda *_: None)
    patch.setattr("harness.contract.check._find_schema_violation", lambda *_: None)
