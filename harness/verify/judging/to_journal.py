"""Recorded exchanges as the journal of a World has them: what was asked, what was answered, which rule refused it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from harness.api.dialects import parse_api_path
from harness.api.providers import split_url
from harness.api.statuses import END_EVENTS
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.format.recorded import Recorded, parse_recorded
from harness.contract.check import check
from harness.core.delivery import DISCONNECT_AT_END
from harness.core.exchange import Answer, Request
from harness.verify.compare import differing_error_members
from harness.verify.judging import websocket_exchanges
from harness.verify.judging.judge import answer_object, rebuild_request, recorded_error
from harness.verify.judging.unverifiable import match_rules
from harness.world.world import World


def build_journal(takes: Iterable[Interaction], name: str = "") -> World:
    """A World with the exchanges of these takes in its journal, without those with other services."""
    world = World(name)
    for take in takes:
        dialect = parse_api_path(split_url(take.uri)[1]).dialect
        for entry in websocket_exchanges.to_http_interactions(take):
            one = parse_recorded(
                replace(entry, notes={"provider": dialect, **entry.notes}), name, world.exchange_count + 1
            )
            if told := rebuild_exchange(one, world):
                world.add_exchange(*told)
    return world


def rebuild_exchange(one: Recorded, world: World) -> tuple[Request, Answer] | None:
    """A recorded request and its answer; None when the exchange is none with this API.

    The rule of a refusal is the one with which the mock refuses it in `world` in these words, else one that speaks so.
    """
    operation, request = rebuild_request(one)
    if operation is None:
        return None
    if "no_request" in one.flags:
        request = request._replace(body=None, schema=None)
    rule = _find_rule(one, request, world) if one.status >= 400 else None
    events = None if one.events is None else [event for event in one.events if isinstance(event, dict)]
    broke = DISCONNECT_AT_END if _is_broken_off(one) else None
    return request._replace(headers=one.headers), Answer(
        one.status, answer_object(one), one.answer_headers, events, rule, broke
    )


def _is_broken_off(one: Recorded) -> bool:
    """Whether no whole answer came; of some recordings only long values are cut."""
    if one.events is None:
        return answer_object(one) is None and (not one.status or "cut" in one.flags)
    return "cut" in one.flags and not any(event.get("type") in END_EVENTS for event in one.events)


def _find_rule(one: Recorded, request: Request, world: World) -> str | None:
    refusal = None if "no_request" in one.flags else check(request, world)
    if not (error := recorded_error(one)):
        return None
    said = {"status": one.status, **error}
    if refusal and differing_error_members(said, {"status": refusal.error.status, **refusal.error.members()}) in (
        [],
        ["list"],
    ):
        return refusal.rule.id
    return next((rule.id for rule in match_rules(one.status, error)), None)
