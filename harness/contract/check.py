"""Checks a request against the contract: the first violation with the API's error, or None.

Rules are checked in source order: those of `access` and `transport`, the schema of the body, then the other rules.
Rules and schemas are those of the World's day.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import orjson

from harness.api.http.dialects import FOUNDRY, OPENAI, apply_agent
from harness.api.multi_agent import omit_agents
from harness.contract import first_violation, schema
from harness.contract.body_places import repair_body
from harness.contract.dialect_body import PROMPT_SCHEMAS, apply_known_definition, read_answer_by_schema, read_by_schema
from harness.contract.overrides import Entry, Exemption, Overrides
from harness.contract.rule import RULES, Rule
from harness.contract.rule_plan import AREAS_BEFORE_SCHEMA, BoundRule, RulePlan, plan_rules
from harness.contract.rules import ITEMS_MEMBER
from harness.core.account import Organization
from harness.core.dates import CONTRACT_DATE
from harness.core.errors import ApiError
from harness.core.exchange import Finding, Request
from harness.items.transcript import Transcript

IsExempt = Callable[[Rule, Mapping[str, Any], ApiError], bool]
"""Returns whether the World's overrides exempt a request, as sent, from a rule with these facts."""

MAX_REPAIRS = 100
"""The maximum number of places that a World's overrides exempt in one body."""
MEANINGFUL_NULLS = ("model", "input", "metadata", "attributes")
"""Members whose null has a meaning: an update may set the metadata of a conversation to null."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a request is refused: the rule, the API's error, and the facts in it."""

    rule: Rule
    error: ApiError
    facts: Mapping[str, Any]


class CheckedRequest(NamedTuple):
    """A request and the result of its check.

    `violation` is the first one, None if the API would accept the request. `request` is what rules and endpoints may
    read: without the parts that its schema forbids and the World's overrides exempt. `transcript` is the one that the
    rules about items have read (with a Foundry agent's definition applied), None if no rule needed it. `acted` holds
    the World's overrides that changed the outcome.
    """

    violation: Violation | None
    request: Request
    transcript: Transcript | None = None
    acted: tuple[Entry, ...] = ()


class _WorldWithAccount:
    """A World with another account."""

    def __init__(self, world: Any, account: Organization) -> None:
        self._world = world
        self.account = account

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)


def check(request: Request, world: Any, account: Organization | None = None) -> Violation | None:
    """Return the first violation of a request in this World; None if the API would accept it."""
    return check_request(request, world, account).violation


def check_request(request: Request, world: Any, account: Organization | None = None) -> CheckedRequest:
    """Check a request in this World, or in the same World with another account.

    `world` is None if the key has no World. The body is not changed; null members at the top level count as absent.
    """
    if account is not None and world is not None:
        world = _WorldWithAccount(world, account)
    if world is None or world.overrides is None:
        return _check_rules(request, world, None)
    own: Overrides = world.overrides
    admitted, exemptions = _admit(request, world)
    acted: list[Entry] = [*exemptions]

    def is_exempt(rule: Rule, facts: Mapping[str, Any], error: ApiError) -> bool:
        exemption = own.find_exemption(rule.id, facts, error.param, request, world.models)
        acted.extend([exemption] if exemption else ())
        return exemption is not None

    try:
        checked = _check_rules(admitted, world, is_exempt)
    except Exception:
        if admitted is request:
            raise
        checked = CheckedRequest(None, admitted)  # a rule relied on the schema, which an exempted body violates
    violation = checked.violation
    if found := own.find_refusal(request, world.models, violation.rule.id if violation else ""):
        refusal, rule, facts = found
        violation = Violation(rule, rule.error_for(facts), facts)
        acted.append(refusal)
    return checked._replace(violation=violation, acted=tuple(acted))


def _admit(request: Request, world: Any) -> tuple[Request, list[Exemption]]:
    """Remove the exempted schema violations from a request; also returns the exemptions."""
    own: Overrides = world.overrides
    exemptions: list[Exemption] = []
    if not own.exemptions or not request.schema or not isinstance(request.body, dict):
        return request, exemptions
    admitted, last = request, ""
    for _ in range(MAX_REPAIRS):
        found = _find_schema_violation(admitted, world.as_of)
        if found is None:
            break
        rule, path = rule_for(found.keyword, found.rule), found.path
        param = rule.error_for(found.facts).param
        exemption = own.find_exemption(rule.id, found.facts, param, admitted, world.models)
        if exemption is None:
            break
        exemptions.append(exemption)
        # The same place again: repairing the member did not help, so remove the object that holds it.
        place = path.rpartition(".")[0] if path == last else path
        repaired = repair_body(admitted.body, place, found.filler)
        if repaired == admitted.body:
            break
        admitted, last = admitted._replace(body=repaired), path
    return admitted, exemptions


def _check_rules(admitted: Request, world: Any, is_exempt: IsExempt | None) -> CheckedRequest:
    as_of = CONTRACT_DATE if world is None else world.as_of
    plan = plan_rules(admitted, world)
    violation = find_first_violation(plan.before, admitted, world, None, is_exempt)
    sent = request = admitted
    if request.dialect == FOUNDRY and world is not None:
        # The schema validates only what the client has sent, rules also what its agent adds.
        sent, request = apply_agent(request, None), apply_known_definition(request, world, as_of)
    violation = violation or _check_schema(sent, as_of)
    if violation or not plan.after:
        return CheckedRequest(violation, admitted)
    if holder := ITEMS_MEMBER.get(request.operation):
        # Rules about items expect them as `input`; _relocate_violation restores the member's name.
        request = request._replace(body={"input": request.body.get(holder) or []})
    violation, transcript = check_after_schema(plan, request, world, is_exempt)
    if violation and holder:
        violation = _relocate_violation(violation, holder)
    return CheckedRequest(violation, admitted, transcript)


def check_after_schema(
    plan: RulePlan, request: Request, world: Any, is_exempt: IsExempt | None = None
) -> tuple[Violation | None, Transcript | None]:
    """Check the rules that rely on the schema; also returns the transcript that they have read."""
    transcript = world.store.transcript(request.body or {}) if plan.reads_transcript else None
    request = _with_raw_bytes(request)
    rules = plan.narrow(request, transcript)
    return find_first_violation(rules, request, world, transcript, is_exempt), transcript


def _with_raw_bytes(request: Request) -> Request:
    """Add its bytes to a request; rules first search them for members that most histories lack."""
    if request.raw or not isinstance(request.body, dict) or not isinstance(request.body.get("input"), list):
        return request
    try:
        return request._replace(raw=orjson.dumps(request.body))
    except orjson.JSONEncodeError:  # an integer beyond 64 bits
        return request


def _relocate_violation(violation: Violation, holder: str) -> Violation:
    """Turn a violation at `input` into one at the member that holds the items of this operation."""
    place = str(violation.facts.get("path", ""))
    path = f"{holder}{place[len('input') :]}" if place.startswith("input") else place
    facts = {**violation.facts, "path": path}
    error = violation.rule.error_for(facts)
    return Violation(violation.rule, replace(error, param=holder) if error.param == "input" else error, facts)


def find_first_violation(
    checks: tuple[BoundRule, ...],
    request: Request,
    world: Any,
    transcript: Transcript | None = None,
    is_exempt: IsExempt | None = None,
) -> Violation | None:
    """Return the first violation of these rules that is not exempt."""
    for rule, rule_check in checks:
        for facts in rule_check(request, world, transcript):
            error = rule.error_for(facts)
            if is_exempt is None or not is_exempt(rule, facts, error):
                return Violation(rule, error, facts)
    return None


def _check_schema(request: Request, as_of: str) -> Violation | None:
    found = _find_schema_violation(request, as_of)
    return _to_violation(found) if found else None


def _find_schema_violation(request: Request, as_of: str) -> first_violation.SchemaViolation | None:
    if not request.schema:
        return None
    body = drop_nulls(omit_agents(request, read_by_schema(request)), request.schema)
    return first_violation.find_violation(request.schema, body, as_of)


def conforms_to_schema(request: Request, world: Any, violation: Violation | None) -> bool:
    """Return whether a request conforms to its schema.

    `violation` is the result of `check`, maybe of an earlier rule.
    """
    if violation is None or violation.rule.area not in AREAS_BEFORE_SCHEMA:
        # A rule without a check belongs to the schema: its violation is one of the schema.
        return violation is None or violation.rule.check is not None
    if violation.rule.area == "transport":
        return False
    if request.dialect == FOUNDRY and world is not None:
        request = apply_agent(request, None)
    return _check_schema(request, CONTRACT_DATE if world is None else world.as_of) is None


def check_answer(root: str, body: Any, as_of: str = CONTRACT_DATE, dialect: str = OPENAI) -> Finding | None:
    """Return how an answer in a dialect first violates the schema `root` of a day; None if it conforms.

    Unknown members are allowed.
    """
    if (found := first_violation.find_violation(root, read_answer_by_schema(body, dialect), as_of)) is None:
        return None
    violation = _to_violation(found)
    return Finding(found.path, violation.error.message, violation.rule.id)


def drop_nulls(body: Any, root: str = "") -> Any:
    """Copy a body without null members at the top level, which the API ignores, except those of MEANINGFUL_NULLS.

    An unknown null member is kept if `root` is the schema of a body that a model reads: the API reports it (public
    probe, project smg, 2026-08-21: `stop`).
    """
    if not isinstance(body, dict) or None not in body.values():
        return body
    known = schema.load(root)["properties"] if root in PROMPT_SCHEMAS else body
    return {
        name: value
        for name, value in body.items()
        if value is not None or name in MEANINGFUL_NULLS or name not in known
    }


def _to_violation(found: first_violation.SchemaViolation) -> Violation:
    rule = rule_for(found.keyword, found.rule)
    return Violation(rule, rule.error_for(found.facts), found.facts)


def rule_for(keyword: str, named: str | None) -> Rule:
    """Return the rule for a schema violation: the one named in the schema there, or else that of the keyword."""
    if named and named in RULES:
        return RULES[named]
    by_keyword = _rules_by_keyword()
    return by_keyword.get(keyword) or by_keyword["unexplained"]


@cache
def _rules_by_keyword() -> Mapping[str, Rule]:
    return {rule.keyword: rule for rule in RULES.values() if rule.keyword and rule.keyword != "x-rule"}


def named_rules(schema: Any) -> set[str]:
    """Return all rules that a schema names by `x-rule` or `x-known-rule`."""
    if isinstance(schema, list):
        return set().union(*map(named_rules, schema), set())
    if not isinstance(schema, dict):
        return set()
    own = {value for key in ("x-rule", "x-known-rule") if isinstance(value := schema.get(key), str)}
    return own.union(*map(named_rules, schema.values()))
