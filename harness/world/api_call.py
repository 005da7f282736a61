"""The argument of every operation handler: a request that the contract has accepted, and the World that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from harness.answers.prompt import Prompt
from harness.contract.check import Violation, check_request
from harness.core.exchange import Request
from harness.items.transcript import Transcript
from harness.world.store import Store
from harness.world.world import World


class ApiCall(NamedTuple):
    """An accepted request on its way to an answer.

    `transcript` is what the rules have read, None if no rule read it; `prompt` is what the request asks of the model,
    if already known.
    """

    request: Request
    world: World
    transcript: Transcript | None = None
    prompt: Prompt | None = None

    @property
    def params(self) -> Mapping[str, str]:
        """The path parameters, by the operation's template."""
        return self.request.params

    @property
    def query(self) -> Mapping[str, Any]:
        """The query parameters, typed."""
        return self.request.query

    @property
    def body(self) -> Any:
        """The parsed body."""
        return self.request.body

    @property
    def store(self) -> Store:
        """The store of the World."""
        return self.world.store


def admit(request: Request, world: Any) -> ApiCall | Violation:
    """Check a request: return the call for its handler, or the violation that refuses it."""
    checked = check_request(request, world)
    return checked.violation or ApiCall(checked.request, world, checked.transcript)
