"""Settles with a checked request what holds for all that differ by `input` alone, and checks the rest of each."""

from __future__ import annotations

from typing import Any, NamedTuple

import jsonschema_rs

from harness.api.http.dialects import FOUNDRY
from harness.api.multi_agent import omit_agents
from harness.contract import schema
from harness.contract.check import Violation, check_after_schema, check_request, find_first_violation
from harness.contract.dialect_body import read_by_schema
from harness.contract.rule_plan import RulePlan, plan_rules_about_input
from harness.core.exchange import Request
from harness.items.history.transcript import Transcript


class Settled(NamedTuple):
    """What remains to be checked of requests that equal an accepted request in all but their `input`.

    They have the same other members, headers and query, and come to the same World with the same account, models and day.
    `about_text` and `about_items` are the rules that may decide differently about them, by the form of the input, and
    `input_schema` is the schema of that member.
    """

    about_text: RulePlan
    about_items: RulePlan
    input_schema: jsonschema_rs.Validator


def settle(request: Request, world: Any) -> Settled | None:
    """Find what is settled by an accepted request; None where others are to be checked as a whole.

    That is so of a Foundry agent, which adds what is stored of it, and of a World with a contract of its own.
    """
    if world is None or world.overrides is not None or request.dialect == FOUNDRY or not request.schema:
        return None
    root = schema.load(request.schema, world.as_of)
    if not isinstance(request.body, dict) or "input" not in root.get("properties", ()):
        return None
    return Settled(
        plan_rules_about_input(request, world, is_list=False),
        plan_rules_about_input(request, world, is_list=True),
        schema.part_validator(root, root["properties"]["input"]),
    )


def check_input(request: Request, world: Any, settled: Settled) -> tuple[Violation | None, Transcript | None]:
    """Check what is not settled about a request; returns the violation and the transcript that rules have read.

    Only a whole check can word that an input breaks the schema.
    """
    # A text reads the same in every dialect, and names no agents.
    body = request.body if isinstance(request.body.get("input"), str) else omit_agents(request, read_by_schema(request))
    if "input" not in body or not settled.input_schema.is_valid(body["input"]):
        checked = check_request(request, world)
        return checked.violation, checked.transcript
    plan = settled.about_items if isinstance(body["input"], list) else settled.about_text
    if plan.before and (violation := find_first_violation(plan.before, request, world)):
        return violation, None
    return check_after_schema(plan, request, world)
