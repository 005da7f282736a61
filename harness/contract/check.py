"""Checks a request against the contract: the first violation with the API's error, or None.

Rules are checked in source order: those of `access` and `transport`, the schema of the body, then the other rules.
Rules and schemas are those of the World's day.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from types import GeneratorType
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from harness.api.http.dialects import OPENAI
from harness.api.models import Models
from harness.api.responses import omit_agents
from harness.contract import first_violation
from harness.contract.call import WorldCall, drop_nulls
from harness.contract.dialect_body import read_answer_by_schema, read_by_schema
from harness.contract.overrides import Entry, Exemption, Overrides, repair_body
from harness.contract.rule import RULES, Rule
from harness.contract.rule_plan import AREAS_BEFORE_SCHEMA, plan_rules
from harness.contract.rules import ITEMS_MEMBER
from harness.core.dates import CONTRACT_DATE
from harness.core.errors import ApiError
from harness.core.exchange import Finding, Request

C = TypeVar("C", bound=WorldCall)
IsExempt = Callable[[Rule, Mapping[str, Any], ApiError], bool]
"""Returns whether the World's overrides exempt a request, as sent, from a rule with these facts."""

MAX_REPAIRS = 100
"""The maximum number of places that a World's overrides exempt in one body."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a request is refused: the rule, the API's error, and the facts in it."""

    rule: Rule
    error: ApiError
    facts: Mapping[str, Any]


class Checked(NamedTuple, Generic[C]):
    """The result of a check: the first violation, None if the API would accept the request.

    `call` is what endpoints may read: without the parts that its schema forbids and the World's overrides exempt.
    `applied` holds the World's overrides that changed the outcome.
    """

    violation: Violation | None
    call: C
    applied: tuple[Entry, ...] = ()


def check(call: C, is_exempt: IsExempt | None = None) -> Checked[C]:
    """Check a request in its World: rules of access and transport, the schema of its body, then the other rules.

    The body is not changed; null members at the top level count as absent. With `is_exempt` the World's overrides are
    applied already, except that it decides on the violations of rules.
    """
    if is_exempt is None and call.world is not None and call.world.overrides is not None:
        return _check_overruled(call, call.world.overrides, call.world.models)
    plan = plan_rules(call.request, call.world)
    violation = run_rules(plan.before, call, is_exempt)
    if violation is None and (found := _find_schema_violation(call.as_sent, call.as_of)):
        violation = _to_violation(found)
    if violation is None and plan.after:
        about = _read_after_schema(call.resolved)
        violation = run_rules(plan.narrow(about), about, is_exempt)
        if violation and (holder := ITEMS_MEMBER.get(call.request.operation)):
            violation = _relocate_violation(violation, holder)
    return Checked(violation, call)


def _check_overruled(call: C, overrides: Overrides, models: Models) -> Checked[C]:
    """Check a request in a World whose overrides exempt it from rules, or refuse it."""
    admitted, exemptions = _omit_exempted(call, overrides, models)
    applied: list[Entry] = [*exemptions]

    def is_exempt(rule: Rule, facts: Mapping[str, Any], error: ApiError) -> bool:
        exemption = overrides.find_exemption(rule.id, facts, error.param, call.request, models)
        applied.extend([exemption] if exemption else ())
        return exemption is not None

    violation = check(admitted, is_exempt).violation
    if found := overrides.find_refusal(call.request, models, violation.rule.id if violation else ""):
        refusal, rule, facts = found
        violation = Violation(rule, rule.error.fill(facts), facts)
        applied.append(refusal)
    return Checked(violation, admitted, tuple(applied))


def _omit_exempted(call: C, overrides: Overrides, models: Models) -> tuple[C, list[Exemption]]:
    """Remove the exempted schema violations from a request; also returns the exemptions."""
    exemptions: list[Exemption] = []
    if not overrides.exemptions or not isinstance(call.body, dict):
        return call, exemptions
    admitted, last = call.request, ""
    for _ in range(MAX_REPAIRS):
        found = _find_schema_violation(admitted, call.as_of)
        if found is None:
            break
        rule, path = rule_for(found.keyword, found.rule), found.path
        param = rule.error.fill(found.facts).param
        exemption = overrides.find_exemption(rule.id, found.facts, param, admitted, models)
        if exemption is None:
            break
        exemptions.append(exemption)
        # The same place again: repairing the member did not help, so remove the object that holds it.
        place = path.rpartition(".")[0] if path == last else path
        repaired = repair_body(admitted.body, place, found.filler)
        if repaired == admitted.body:
            break
        admitted, last = admitted._replace(body=repaired), path
    return call.with_request(admitted), exemptions


def run_rules(rules: Iterable[Rule], call: WorldCall, is_exempt: IsExempt | None = None) -> Violation | None:
    """Return the first violation of these rules that is not exempt."""
    subject = partial(getattr, call)
    for rule in rules:
        assert rule.check is not None  # the schema finds the violations of a rule without a function
        if not (found := rule.check(*map(subject, rule.needs))):
            continue
        for facts in found if isinstance(found, GeneratorType) else ({},):
            error = rule.error.fill(facts)
            if is_exempt is None or not is_exempt(rule, facts, error):
                return Violation(rule, error, facts)
    return None


def _read_after_schema(call: WorldCall) -> WorldCall:
    """Return a call as the rules that rely on the schema read it.

    Rules about items expect them as `input`, and first search the bytes for members that most histories lack.
    """
    request = call.request
    if holder := ITEMS_MEMBER.get(request.operation):
        request = request._replace(body={"input": request.body.get(holder) or []})
    if not request.raw and isinstance(request.body, dict) and isinstance(request.body.get("input"), list):
        with suppress(orjson.JSONEncodeError):  # an integer beyond 64 bits
            request = request._replace(raw=orjson.dumps(request.body))
    return call.with_request(request)


def _relocate_violation(violation: Violation, holder: str) -> Violation:
    """Turn a violation at `input` into one at the member that holds the items of this operation."""
    place = str(violation.facts.get("path", ""))
    path = f"{holder}{place[len('input') :]}" if place.startswith("input") else place
    facts = {**violation.facts, "path": path}
    error = violation.rule.error.fill(facts)
    return Violation(violation.rule, replace(error, param=holder) if error.param == "input" else error, facts)


def _find_schema_violation(request: Request, as_of: str) -> first_violation.SchemaViolation | None:
    if not request.schema:
        return None
    body = omit_agents(request, read_by_schema(request))
    if isinstance(body, dict) and None in body.values():
        body = drop_nulls(body, request.schema)
    return first_violation.find_violation(request.schema, body, as_of)


def conforms_to_schema(call: WorldCall, violation: Violation | None) -> bool:
    """Return whether a request conforms to its schema.

    `violation` is the result of `check`, maybe of an earlier rule.
    """
    if violation is None or violation.rule.area not in AREAS_BEFORE_SCHEMA:
        # A rule without a check belongs to the schema: its violation is one of the schema.
        return violation is None or violation.rule.check is not None
    return violation.rule.area != "transport" and _find_schema_violation(call.as_sent, call.as_of) is None


def check_answer(root: str, body: Any, as_of: str = CONTRACT_DATE, dialect: str = OPENAI) -> Finding | None:
    """Return how an answer in a dialect first violates the schema `root` of a day; None if it conforms.

    Unknown members are allowed.
    """
    if (found := first_violation.find_violation(root, read_answer_by_schema(body, dialect), as_of)) is None:
        return None
    violation = _to_violation(found)
    return Finding(found.path, violation.error.message, violation.rule.id)


def _to_violation(found: first_violation.SchemaViolation) -> Violation:
    rule = rule_for(found.keyword, found.rule)
    return Violation(rule, rule.error.fill(found.facts), found.facts)


def rule_for(keyword: str, named: str | None) -> Rule:
    """Return the rule for a schema violation: the one named in the schema there, or else that of the keyword."""
    return RULES[named] if named and named in RULES else rules_by_keyword()[keyword]


@cache
def rules_by_keyword() -> Mapping[str, Rule]:
    """Return the rules that belong to a keyword wherever it stands, each by its keyword."""
    return {rule.keyword: rule for rule in RULES.values() if rule.keyword and rule.keyword != "x-rule"}


def named_rules(schema: Any) -> set[str]:
    """Return all rules that a schema names by `x-rule` or `x-known-rule`."""
    if isinstance(schema, list):
        return set().union(*map(named_rules, schema), set())
    if not isinstance(schema, dict):
        return set()
    own = {value for key in ("x-rule", "x-known-rule") if isinstance(value := schema.get(key), str)}
    return own.union(*map(named_rules, schema.values()))
