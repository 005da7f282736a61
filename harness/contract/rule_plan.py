"""Selects the rules to check for a request, in order.

A plan is cached for all requests that the `when` of rules cannot distinguish.
"""

from dataclasses import dataclass
from functools import cache, lru_cache

import orjson

from harness.api.http.dialects import FOUNDRY, OPENAI
from harness.contract.call import WorldCall
from harness.contract.rule import (
    CREATE_RESPONSE,
    INPUT_LIST,
    LIMITED_ACCOUNT,
    PATH_ID,
    RULES,
    UNKNOWN_KEY,
    UNREADABLE_BODY,
    Rule,
    WorldView,
    matches_operation,
)
from harness.contract.rules import AREAS, ITEMS_MEMBER, SHARED_RULES
from harness.core.account import DEFAULT_ORGANIZATION
from harness.core.dates import CONTRACT_DATE, days_of_change, is_valid_on, start_of_epoch
from harness.core.exchange import Request

MAX_NARROWED = 256
"""The number of narrowed rule sets that a plan caches; most requests need one of a few."""
SHARED_FACTS = frozenset(
    ("request.root", "request.path", "request.query", "world.account", "world.models", "world.as_of")
)
"""What rules read that is shared by requests that only differ in `input`, besides other members and headers."""
AREAS_BEFORE_SCHEMA = (
    *("access", "gateway", "transport", "beta", "multi_agent"),
    *("preview", "agents", "agent_tools", "agent_sessions", "agent_responses", "project_input"),
)


@dataclass(frozen=True, slots=True)
class RulePlan:
    """The rules to check for a request, in order: those before the schema, and those after it."""

    before: tuple[Rule, ...]
    after: tuple[Rule, ...]
    words: tuple[bytes, ...]
    item_types: frozenset[str]
    narrowed: dict[frozenset[bytes | str], tuple[Rule, ...]]

    def narrow(self, call: WorldCall) -> tuple[Rule, ...]:
        """Return the rules after the schema, without those whose words or types of items the request lacks."""
        text = _searchable_bytes(call.request) if self.words else b""
        if text is None or not (self.words or self.item_types):
            return self.after
        types = self.item_types & call.transcript.types if self.item_types else ()
        found = frozenset([*types, *filter(text.__contains__, self.words)])
        if (rules := self.narrowed.get(found)) is None:
            rules = tuple(rule for rule in self.after if rule.may_apply(found))
            # A client could use endless combinations of words; beyond this, the rules are selected anew each time.
            if len(self.narrowed) < MAX_NARROWED:
                self.narrowed[found] = rules
        return rules


def _searchable_bytes(request: Request) -> bytes | None:
    """Return the JSON of a body, without escaped words but with an agent's additions; None if a number is too large."""
    if request.raw and request.dialect != FOUNDRY and b"\\u" not in request.raw:
        return request.raw
    try:
        return orjson.dumps(request.body)
    except orjson.JSONEncodeError:  # an integer beyond 64 bits
        return None


def plan_rules(request: Request, world: WorldView | None) -> RulePlan:
    """Return the plan for a request in this World."""
    as_of = CONTRACT_DATE if world is None else world.as_of
    return _make_plan(request.operation, _collect_when_names(request, world), request.dialect, _epoch_of(as_of))


def plan_rules_about_input(request: Request, world: WorldView, *, is_list: bool) -> RulePlan:
    """Return the plan without rules that decide the same about all requests that only differ in `input`.

    `is_list` says whether `input` is a list of items.
    """
    names = _collect_when_names(request, world) - {INPUT_LIST}
    names |= {INPUT_LIST} if is_list else frozenset()
    return _make_plan(request.operation, names, request.dialect, _epoch_of(world.as_of), about_input=True)


def is_about_input(rule: Rule) -> bool:
    """Return whether a rule may decide differently about two requests that only differ in `input`."""
    return rule.reads is None or not all(map(_is_shared, rule.reads))


def _is_shared(name: str) -> bool:
    """Return whether requests that only differ in `input` share this fact that a rule reads."""
    if name.startswith("request.headers.") or name in SHARED_FACTS:
        return True
    return "." not in name and name not in ("input", "transcript")


def applicable_rules(request: Request, world: WorldView | None) -> list[Rule]:
    """Return the rules with a function that are checked for an accepted request, in order."""
    plan = plan_rules(request, world)
    return [*plan.before, *plan.after]


def forget_plans() -> None:
    """Clear all cached plans after a change of the rules."""
    for cached in (_make_plan, _epoch_of, _known_when_names):
        cached.cache_clear()


def _collect_when_names(request: Request, world: WorldView | None) -> frozenset[str]:
    """Return what the `when` of rules may name: members of the body, `input[]` for an array, special conditions."""
    body, names = request.body, []
    if isinstance(body, dict):
        items = body.get(ITEMS_MEMBER.get(request.operation, "input"))
        names = [*body, INPUT_LIST] if isinstance(items, list) else list(body)
    elif request.fault or request.raw:
        names = [UNREADABLE_BODY]
    if request.params:
        names.append(PATH_ID)
    if world is None:
        names.append(UNKNOWN_KEY)
    elif world.account is not DEFAULT_ORGANIZATION:
        names.append(LIMITED_ACCOUNT)
    return _known_when_names().intersection(names)  # cache keys: a client's own names would fill the memory


@cache
def _known_when_names() -> frozenset[str]:
    return frozenset(name for rule in RULES.values() for name in rule.when)


@lru_cache(maxsize=4096)
def _epoch_of(as_of: str) -> str:
    """Return the last day up to this one on which a rule began or ended."""
    return start_of_epoch(as_of, days_of_change(RULES.values()))


@lru_cache(maxsize=4096)
def _make_plan(
    operation: str, names: frozenset[str], dialect: str = OPENAI, as_of: str = CONTRACT_DATE, about_input: bool = False
) -> RulePlan:
    applicable = [
        rule
        for rule in RULES.values()
        # The most selective test comes first: matching the patterns of operations is slowest.
        if rule.check
        and (not rule.when or not names.isdisjoint(rule.when))
        and (not rule.dialects or dialect in rule.dialects)
        and is_valid_on(as_of, rule.since, rule.until)
        and (is_about_input(rule) or not about_input)
        and _applies_to(rule, operation)
    ]
    applicable.sort(key=lambda rule: AREAS.index(rule.area) if rule.area in AREAS else len(AREAS))
    before = tuple(rule for rule in applicable if rule.area in AREAS_BEFORE_SCHEMA)
    after = tuple(rule for rule in applicable if rule.area not in AREAS_BEFORE_SCHEMA)
    # Bytes, to search them in the body as received, without encoding it again.
    words = dict.fromkeys(word.encode() for rule in after for word in rule.mentions)
    types = frozenset(type for rule in after for type in rule.items)
    return RulePlan(before, after, tuple(words), types, {})


def _applies_to(rule: Rule, operation: str) -> bool:
    shared = SHARED_RULES.get(operation, ()) if matches_operation(rule.on, CREATE_RESPONSE) else ()
    return matches_operation(rule.on, operation) or rule.area in shared or rule.id in shared
