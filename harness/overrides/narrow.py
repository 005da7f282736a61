"""Narrows an entry that holds for requests which the API treated otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.contract.body_places import kind_of, type_of
from harness.contract.overrides import Exemption, MemberCondition
from harness.overrides.observe import Seen, atoms_of
from harness.overrides.propose import (
    ACCIDENTAL,
    Proposal,
    models_of,
    place_of,
    propose_exemption,
    propose_refusal,
    refused_place,
    shared_atoms,
)
from harness.verify.judging.verdict import VerdictKind


def narrow_proposal(proposal: Proposal, against: Sequence[Seen]) -> list[Proposal]:
    """Propose entries that leave out the requests `against`; none when nothing tells them apart.

    The types of the objects that have the member are parted first, then its values, then its models; an entry for one of
    each gets another condition.
    """
    for key in (_type_key, _value_key, lambda seen: seen.family):
        parts: dict[Any, list[Seen]] = {}
        for seen in proposal.made_from:
            parts.setdefault(key(seen), []).append(seen)
        if len(parts) > 1:
            propose = propose_exemption if isinstance(proposal.entry, Exemption) else propose_refusal
            return [replace(propose(part), is_narrowed=True) for part in parts.values()]
    narrowed = _add_condition(proposal, against)
    return [replace(narrowed, is_narrowed=True)] if narrowed else []


def _type_key(seen: Seen) -> Any:
    place = _decided_place(seen)
    return type_of(place[1]) if place else ""


def _decided_place(seen: Seen) -> tuple[str, Any, Any] | None:
    return place_of(seen) if seen.verdict is VerdictKind.REQUEST_REFUSED else refused_place(seen)


def _value_key(seen: Seen) -> Any:
    place = _decided_place(seen)
    value = place[2] if place else None
    return (type(value), value) if isinstance(value, str | int | float | None) else kind_of(value)


def _add_condition(proposal: Proposal, against: Sequence[Seen]) -> Proposal | None:
    condition, group = proposal.condition, proposal.made_from
    if (
        not condition.models
        and (models := models_of(group))
        and not {contrary.family for contrary in against} & set(models)
    ):
        return proposal.with_condition(replace(condition, models=models))
    theirs = [atoms_of(seen.request.body) for seen in against]
    used = {member.at for member in condition.members}
    for place, value in shared_atoms(group):
        if (
            place not in used
            and place not in ACCIDENTAL
            and value not in ("text", "list")
            and not any((place, value) in atoms for atoms in theirs)
        ):
            added = MemberCondition(place, (value,))
            return proposal.with_condition(replace(condition, members=(*condition.members, added)))
    ours = {place for seen in group for place, _ in atoms_of(seen.request.body)}
    common = [place for place, _ in theirs[0] if all(any(place == atom for atom, _ in atoms) for atoms in theirs)]
    for place in dict.fromkeys(common):
        if place not in ours and "[]" not in place and place not in used and place not in ACCIDENTAL:
            added = MemberCondition(place, kinds=("absent",))
            return proposal.with_condition(replace(condition, members=(*condition.members, added)))
    return None
