"""Recordings that say something against the mock, and what it does once it has learned from them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.contract.overrides import Overrides
from harness.core.exchange import Request
from harness.overrides.contract_file import parse_overrides
from harness.world.world import World
from tests.support.recordings import HI, error, exchange, recorded

ASK = {"model": "gpt-4.1", "input": "hi"}
Learn = Callable[..., str]


def taken(**body: Any) -> dict[str, Any]:
    """Return an exchange whose request the API took, though the mock would not."""
    (one,) = recorded(HI)
    return {**one, "recorded_at": "2026-05-05T00:00:00Z", "request": {**ASK, **body}}


def refused(message: str, param: str | None, code: str | None = None, **body: Any) -> dict[str, Any]:
    """Return an exchange whose request the API refused, though the mock would not."""
    one = exchange(1, {**ASK, **body}, 400, error(message, param=param, code=code))
    return {**one, "recorded_at": "2026-05-05T00:00:00Z"}


def contract() -> Overrides:
    """Return the learned contract."""
    return parse_overrides(Path("contract.yaml").read_text())


def verdict(**body: Any) -> str:
    """Return what the mock with the learned contract says to a request: the message, or nothing."""
    world = World()
    world.overrides = contract()
    headers = {"authorization": "Bearer sk-x", "content-type": "application/json"}
    asked = Request(
        "POST", "/responses", headers, body={**ASK, **body}, operation="POST /responses", schema="CreateResponse"
    )
    found = check(WorldCall(asked, world)).violation
    return found.error.message if found else ""
