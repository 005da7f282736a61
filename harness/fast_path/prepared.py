"""What requests share that differ in their `input` alone, decided once: most rules, and how the response begins.

That holds for the headers, the account, the models and the day for which it was decided, in a World without a contract of
its own. It is kept of requests of which another came before, as what comes once is not worth it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from harness.answers.settings import Settings, read_settings
from harness.api.http.dialects import OPENAI
from harness.api.models import Models
from harness.contract.check import Settled, Violation, check_request, drop_nulls, settle
from harness.contract.rule import CREATE_RESPONSE
from harness.core.account import Organization
from harness.core.exchange import Request
from harness.core.limits import RepeatCache
from harness.items.history.transcript import conversation_id
from harness.world.api_call import ApiCall

MAX_KEY = 16 * 1024
"""Bytes of the longest bodies without their `input` of which anything is kept."""

Key = tuple[tuple[tuple[str, str], ...], bytes]
"""The headers of a request but for the size of its body, and the body without its `input`."""


class Prepared(NamedTuple):
    """What is decided about requests, and the facts of a World for which it is."""

    settled: Settled
    settings: Settings
    account: Organization
    models: Models
    as_of: str

    def holds_in(self, world: Any) -> bool:
        """Whether it is the same in this World."""
        if world.own_contract is not None or self.models is not world.models or self.as_of != world.as_of:
            return False
        return self.account is world.account or self.account == world.account


class PreparedRequests:
    """What is decided about the requests of one server, of bounded size."""

    def __init__(self) -> None:
        self._prepared: RepeatCache[Key, Prepared] = RepeatCache()

    def admit(self, request: Request, world: Any) -> ApiCall | Violation:
        """Check a request, as `harness.server.answering.admit` does, without what is decided about it."""
        key = _key_of(request) if world is not None else None
        prepared = self._prepared.get(key) if key else None
        if prepared and not prepared.holds_in(world):
            prepared = None
        violation, admitted, transcript = check_request(request, world, settled=prepared and prepared.settled)
        if violation:
            return violation
        if key and not prepared and self._prepared.has_seen(key):
            self._prepare(key, admitted, world)
        return ApiCall(admitted, world, transcript, prepared and prepared.settings)

    def _prepare(self, key: Key, request: Request, world: Any) -> None:
        if settled := settle(request, world):
            body = drop_nulls(request.body)
            settings = read_settings(body, conversation_id(body), (), world.models, world.as_of)
            prepared = Prepared(settled, settings, world.account, world.models, world.as_of)
            self._prepared.put(key, prepared, len(key[1]))


def _key_of(request: Request) -> Key | None:
    """The key of a request of which something may be kept."""
    if request.operation != CREATE_RESPONSE or request.dialect != OPENAI or request.query or request.fault:
        return None
    body = request.body
    if not isinstance(body, dict) or "input" not in body:
        return None
    try:
        others = orjson.dumps({name: value for name, value in body.items() if name != "input"})
    except orjson.JSONEncodeError:  # an integer beyond 64 bits
        return None
    headers = tuple([header for header in request.headers.items() if header[0] != "content-length"])
    return (headers, others) if len(others) <= MAX_KEY else None
