"""Turns disagreements into entries, one for all model families and item types that agree.

An entry for several families has the values that were recorded with each of them; what was recorded for three types of
items or tools is assumed for all types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from harness.contract.overrides import Exemption, MemberCondition
from harness.contract.rule import RULES
from harness.overrides.observe import Seen
from harness.overrides.propose import (
    Proposal,
    evidence_of,
    exemption_key,
    propose_exemption,
    propose_refusal,
    refusal_key,
)
from harness.verify.judging.verdict import VerdictKind

ALL_TYPES = 3
"""The number of item types with the same recorded behaviour that stand for all types."""


def propose_entries(disagreements: Iterable[Seen]) -> list[Proposal]:
    """Propose entries for disagreements, grouped by the rule or the message that they are about."""
    groups: dict[tuple[Any, ...], list[Seen]] = {}
    for seen in disagreements:
        key = exemption_key(seen) if seen.verdict is VerdictKind.REQUEST_REFUSED else refusal_key(seen)
        if key is not None:
            groups.setdefault(key, []).append(seen)
    return [proposal for group in groups.values() for proposal in propose_group(group)]


def propose_group(group: Sequence[Seen]) -> list[Proposal]:
    """Propose entries for a group of disagreements: one for all model families with the same recorded members."""
    propose = propose_exemption if group[0].verdict is VerdictKind.REQUEST_REFUSED else propose_refusal
    whole = propose(group)
    if len(whole.condition.models) < 2:
        return [whole]
    families: dict[str, list[Seen]] = {}
    for seen in group:
        families.setdefault(seen.family, []).append(seen)
    alike: dict[frozenset[tuple[Any, ...]], list[Seen]] = {}
    for part in families.values():
        alike.setdefault(frozenset(map(_compare_by, propose(part).condition.members)), []).extend(part)
    return [propose(part) for part in alike.values()]


def _compare_by(member: MemberCondition) -> tuple[Any, ...]:
    """Return a key for a condition that ignores the order of its values."""
    # The types distinguish 1 from True.
    return member.at, frozenset((type(value), value) for value in member.values), frozenset(member.kinds), member.of


def join_types(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Join entries that differ only in the type of the member's object, if there are enough."""
    groups: dict[Any, list[Proposal]] = {}
    for number, proposal in enumerate(proposals):
        groups.setdefault(_key_without_type(proposal) or number, []).append(proposal)
    joined: list[Proposal] = []
    for group in groups.values():
        joined += [_join(group)] if len(group) >= ALL_TYPES else group
    return joined


def _key_without_type(proposal: Proposal) -> Any:
    """Return a key for an exemption from a schema keyword that ignores the type; None for other entries."""
    entry, condition = proposal.entry, proposal.condition
    if proposal.is_narrowed or not isinstance(entry, Exemption):
        return None
    if not RULES[entry.rule].keyword or len(condition.members) != 1:
        return None
    member = _compare_by(condition.members[0])[:-1]
    return (entry.rule, condition.on, condition.dialect, condition.models, member) if condition.members[0].of else None


def _join(group: Sequence[Proposal]) -> Proposal:
    made_from = tuple(seen for proposal in group for seen in proposal.made_from)
    first = group[0].condition
    condition = replace(first, members=(replace(first.members[0], of=""),))
    return Proposal(replace(group[0].entry, condition=condition, seen=evidence_of(made_from)), made_from)
