"""Recorded exchanges as the journal of a World has them: what was asked, what was answered, which rule refused it."""

from __future__ import annotations

from collections.abc import Iterable

from harness.api.dialects import parse_api_path
from harness.api.providers import split_url
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.format.recorded import Recorded, parse_recorded
from harness.contract.check import check
from harness.core.delivery import DISCONNECT_AT_END
from harness.core.exchange import Answer, Request
from harness.verify.judging import websocket_exchanges
from harness.verify.judging.judge import differing, error_of, request_of, said
from harness.verify.judging.rerender import ENDS
from harness.verify.judging.unverifiable import speakers
from harness.world.world import World


def journal(takes: Iterable[Interaction], name: str = "") -> World:
    """A World with the exchanges of these takes in its journal, without those with other services."""
    world = World(name)
    for take in takes:
        dialect = parse_api_path(split_url(take.uri)[1]).dialect
        for entry in websocket_exchanges.entries(take):
            one = parse_recorded(
                entry._replace(extra={"provider": dialect, **entry.extra}), name, world.exchange_count + 1
            )
            if told := recount(one, world):
                world.add_exchange(*told)
    return world


def recount(one: Recorded, world: World) -> tuple[Request, Answer] | None:
    """A recorded request and its answer; None when the exchange is none with this API.

    The rule of a refusal is the one with which the mock refuses it in `world` in these words, else one that speaks so.
    """
    operation, request = request_of(one)
    if operation is None:
        return None
    if "no_request" in one.flags:
        request = request._replace(body=None, schema=None)
    rule = _rule(one, request, world) if one.status >= 400 else None
    events = None if one.events is None else [event for event in one.events if isinstance(event, dict)]
    broke = DISCONNECT_AT_END if _breaks_off(one) else None
    return request._replace(headers=one.headers), Answer(one.status, said(one), one.answer_headers, events, rule, broke)


def _breaks_off(one: Recorded) -> bool:
    """Whether no whole answer came; of some recordings only long values are cut."""
    if one.events is None:
        return said(one) is None and (not one.status or "cut" in one.flags)
    return "cut" in one.flags and not any(event.get("type") in ENDS for event in one.events)


def _rule(one: Recorded, request: Request, world: World) -> str | None:
    refusal = None if "no_request" in one.flags else check(request, world)
    if not (error := error_of(one)):
        return None
    said = {"status": one.status, **error}
    if refusal and differing(said, {"status": refusal.error.status, **refusal.error.members()}) in ([], ["list"]):
        return refusal.rule.id
    return next((rule.id for rule in speakers(one.status, error)), None)
