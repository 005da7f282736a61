"""Converts recorded exchanges to the journal of a World: requests, answers, and the rules of refusals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from harness.api.http.dialects import parse_api_path, split_url
from harness.api.responses import END_EVENTS
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.format.recorded import Recorded, parse_recorded
from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.core.delivery import Delivery
from harness.core.exchange import Answer, Request
from harness.verify.compare import differing_error_members
from harness.verify.judging.judge import answer_object, rebuild_request, recorded_error
from harness.verify.judging.unverifiable import match_rules
from harness.verify.judging.websockets import to_http_interactions
from harness.world.world import World


def build_journal(interactions: Iterable[Interaction], name: str = "") -> World:
    """Build a World with these interactions in its journal, except those with other services."""
    world = World(name)
    for interaction in interactions:
        dialect = parse_api_path(split_url(interaction.uri)[1]).dialect
        for entry in to_http_interactions(interaction):
            recorded = parse_recorded(
                replace(entry, notes={"provider": dialect, **entry.notes}), name, world.exchange_count + 1
            )
            if exchange := rebuild_exchange(recorded, world):
                world.add_exchange(*exchange)
    return world


def rebuild_exchange(recorded: Recorded, world: World) -> tuple[Request, Answer] | None:
    """Rebuild a recorded request and its answer; None for exchanges with other services.

    The rule of a refusal is the one by which the mock refuses the request in `world` with the same error, else any rule
    with that error.
    """
    operation, request = rebuild_request(recorded)
    if operation is None:
        return None
    if "no_request" in recorded.flags:
        request = request._replace(body=None, schema=None)
    rule = _find_rule(recorded, request, world) if recorded.status >= 400 else None
    events = None if recorded.events is None else [event for event in recorded.events if isinstance(event, dict)]
    broke = _is_broken_off(recorded)
    delivery = Delivery(disconnects=broke, times=recorded.times) if broke or recorded.times else None
    return request._replace(headers=recorded.headers), Answer(
        recorded.status, answer_object(recorded), recorded.answer_headers, events, rule, delivery
    )


def _is_broken_off(recorded: Recorded) -> bool:
    """Return whether the answer is incomplete."""
    if recorded.events is None:
        return answer_object(recorded) is None and (not recorded.status or "cut" in recorded.flags)
    # The flag may also mean that only long values are cut.
    return "cut" in recorded.flags and not any(event.get("type") in END_EVENTS for event in recorded.events)


def _find_rule(recorded: Recorded, request: Request, world: World) -> str | None:
    violation = None if "no_request" in recorded.flags else check(WorldCall(request, world)).violation
    if not (error := recorded_error(recorded)):
        return None
    if violation:
        mock = {"status": violation.error.status, **violation.error.members()}
        if differing_error_members({"status": recorded.status, **error}, mock) in ([], ["list"]):
            return violation.rule.id
    return next((rule.id for rule in match_rules(recorded.status, error)), None)
