"""Measures how much of the API a journal covers: rules, item types, events, endpoints, dialects.

A rule is covered if it was applied to a request that has what the rule is about, whether or not the request broke it. A
suite that never sends a tool covers no rule about tools; a suite of valid requests alone can cover every rule.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import harness.foundry  # noqa: F401  (registers every operation and rule)
from harness.analysis.lanes import asks_model
from harness.api.http.dialects import PROVIDERS
from harness.api.operations import OPERATIONS
from harness.api.responses import CREATE_EVENT, SOCKET
from harness.contract import check, schema
from harness.contract.call import drop_nulls
from harness.contract.dialect_body import read_by_schema
from harness.contract.first_violation import NAMED_RULE_KEYWORDS
from harness.contract.rule import CREATE_RESPONSE, RULES
from harness.contract.rule_plan import plan_rules
from harness.contract.schema import JSON_TYPES, allowed_types, deref, discriminator_values
from harness.core.exchange import Exchange, Json, Request
from harness.core.json_values import as_object, as_string, objects_in, omit
from harness.items.kind import ITEMS
from harness.items.transcript import input_items
from harness.world.world import World

Coverage = Mapping[str, frozenset[str]]
"""The covered names by dimension."""

DIMENSIONS: Mapping[str, str] = {
    "rules": "Rules that applied to a request",
    "refusals": "Rules that a request broke",
    "said": "Kinds of items that the model sent",
    "sent": "Kinds of items that a client sent",
    "events": "Events that were streamed",
    "endpoints": "Endpoints",
    "dialects": "Dialects",
}
"""The dimensions, each with its title."""

_EVENT_SCHEMAS = {"ResponseStreamEvent": "type", "ResponsesServerEvent": "type", "AssistantStreamEvent": "event"}
"""The schemas of all events, each with the member that holds the type."""
_SIZE_KEYWORDS = ("minLength", "minItems")


@cache
def api_surface() -> Coverage:
    """Return all names of each dimension; only rules that can be applied to a request count."""
    rules = frozenset(rule.id for rule in RULES.values() if rule.check or rule.keyword)
    root = schema.load("CreateResponse")
    items = next(branch["items"] for branch in root["properties"]["input"]["anyOf"] if "items" in branch)
    named = (discriminator_values(schema.load(name), schema.load(name), key) for name, key in _EVENT_SCHEMAS.items())
    return {
        "rules": rules,
        "refusals": rules,
        "said": frozenset(name for name, kind in ITEMS.items() if not kind.dialects),
        "sent": frozenset(discriminator_values(root, items, "type")),
        "events": frozenset(name for names in named for name in names),
        "endpoints": frozenset([*OPERATIONS, SOCKET]),
        "dialects": frozenset(PROVIDERS),
    }


def measure_coverage(exchanges: Sequence[Exchange], world: World) -> Coverage:
    """Collect what the exchanges of a World cover in each dimension."""
    seen: _Seen = {}
    requests = [exchange.request for exchange in exchanges]
    answers = [exchange.answer for exchange in exchanges]
    found: dict[str, Iterable[str]] = {
        "rules": (id for exchange in exchanges for id in _checked_rules(exchange, world, seen)),
        "refusals": (answer.rule for answer in answers if answer.rule),
        "said": (
            as_string(item.get("type"))
            for answer in answers
            for item in objects_in(as_object(answer.body).get("output"))
        ),
        "sent": (
            as_string(item.get("type", "message"))
            for request in requests
            if asks_model(request) and isinstance(request.body, dict)
            for item in objects_in(input_items(request.body))
        ),
        "events": (
            as_string(event.get("event") or event.get("type")) for answer in answers for event in answer.events or ()
        ),
        "endpoints": (request.operation for request in requests),
        "dialects": (request.dialect for request in requests),
    }
    return {name: api_surface()[name].intersection(touched) for name, touched in found.items()}


def merge_coverage(many: Iterable[Coverage]) -> Coverage:
    """Unite several coverages."""
    every = list(many)
    return {name: frozenset().union(*(coverage.get(name, ()) for coverage in every)) for name in DIMENSIONS}


def percent_covered(hit: frozenset[str], of: frozenset[str]) -> int:
    """Return the covered share in whole per cent, rounded down."""
    return 100 * len(hit & of) // len(of) if of else 0


def has_coverage(hit: frozenset[str], of: frozenset[str], least: float) -> bool:
    """Return whether at least `least` per cent are covered."""
    return 100 * len(hit & of) >= least * len(of)


_Seen = dict[tuple[int, int | type], Any]
"""The parts of schemas with the values, or kinds of values, whose rules were yielded; what it holds keeps its identity."""


def _checked_rules(exchange: Exchange, world: World, seen: _Seen) -> Iterator[str]:
    """Yield the rules applied to a request that are not in `seen`, up to the rule that refused it."""
    request, refusing_rule = exchange.request, exchange.answer.rule or ""
    for checked in _requests_to_check(request):
        plan = plan_rules(checked, world)
        before = [rule.id for rule in plan.before]
        yield from _ids_until(before, refusing_rule)
        if refusing_rule in before:
            return
        yield from _schema_rules(checked, seen)
        if not (refusing_rule in RULES and RULES[refusing_rule].check is None):
            yield from _ids_until([rule.id for rule in plan.after], refusing_rule)
    if refusing_rule:
        yield refusing_rule


def _requests_to_check(request: Request) -> Iterator[Request]:
    """Yield a request as the contract checks it; a WebSocket event is checked again as the request that it carries."""
    yield request
    body = as_object(request.body)
    if request.operation == SOCKET and body.get("type") == CREATE_EVENT:
        carried = omit(body, "type")
        yield request._replace(operation=CREATE_RESPONSE, body=carried, schema=OPERATIONS[CREATE_RESPONSE].body_schema)


def _ids_until(ids: Sequence[str], last: str | None) -> Sequence[str]:
    return ids[: ids.index(last) + 1] if last in ids else ids


def _schema_rules(request: Request, seen: _Seen) -> set[str]:
    if request.schema is None or request.fault:
        return set()
    root = schema.load(request.schema)
    found: set[str] = set()
    _collect_schema_rules(root, root, drop_nulls(read_by_schema(request)), found, seen)
    return found


def _collect_schema_rules(root: Json, node: Json, value: Any, found: set[str], seen: _Seen) -> None:
    """Collect the rules of a part of a schema, and of the parts for members and items of the value."""
    key = id(node), id(value) if isinstance(value, dict | list) else type(value)
    if key in seen:
        return
    seen[key] = node, value
    node = deref(root, node)
    found |= (_known_rules.get(id(node)) or _known_rules.setdefault(id(node), (node, _rules_of_node(node))))[1]
    if "anyOf" in node:
        key = node.get("x-key", "type")
        discriminator = value.get(key, node.get("x-default")) if isinstance(value, dict) else None
        kind = JSON_TYPES.get(type(value), "null")
        for branch in _matching_branches(
            root, node, key, kind, discriminator if isinstance(discriminator, str) else None
        ):
            _collect_schema_rules(root, branch, value, found, seen)
    if isinstance(value, dict):
        members, others = node.get("properties", {}), node.get("additionalProperties")
        for name, member_value in value.items():
            if isinstance(member := members.get(name, others), dict):
                _collect_schema_rules(root, member, member_value, found, seen)
    elif isinstance(value, list) and isinstance(node.get("items"), dict):
        for member_value in value:
            _collect_schema_rules(root, node["items"], member_value, found, seen)


def _matching_branches(root: Json, union: Json, key: str, kind: str, discriminator: str | None) -> Iterator[Json]:
    """Select the branches of a union that apply to a value by its JSON type, and for an object by its discriminator."""
    types = {kind, "number"} if kind == "integer" else {kind}
    for branch in union["anyOf"]:
        if types & allowed_types(root, branch):
            names = discriminator_values(root, branch, key) if discriminator is not None else ()
            if not names or discriminator in names:
                yield branch


_known_rules: dict[int, tuple[Json, frozenset[str]]] = {}
"""The rules of a part of a schema, and the part itself, by its identity."""


def _rules_of_node(node: Json) -> frozenset[str]:
    keywords = [*node, *(f"{size}:empty" for size in _SIZE_KEYWORDS if node.get(size))]
    keywords += ["enum"] if "const" in node else []
    ruled = [word for word in keywords if word in check.rules_by_keyword()]
    rules = [check.rule_for(word, node.get("x-rule") if word in NAMED_RULE_KEYWORDS else None) for word in ruled]
    named = [RULES[node[name]] for name in ("x-rule", "x-known-rule") if node.get(name) in RULES]
    return frozenset(rule.id for rule in (*rules, *named))
