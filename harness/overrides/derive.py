"""Derives overrides from recordings: generalizes disagreements, judges all recordings with the entries, drops wrong ones.

An entry that makes a correct judgement wrong anywhere in the recordings is narrowed until it does not, or dropped.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.cassettes.files import files
from harness.contract.overrides import AddedMember, Exemption, MemberCondition, Overrides, is_place, kind_of, type_of
from harness.contract.rule import RULES
from harness.core.errors import COMMAND, ConfigError
from harness.overrides.observe import Observed, Seen, atoms_of, iterate_disagreements, observe
from harness.overrides.project_file import with_entries
from harness.overrides.propose import (
    ACCIDENTAL,
    Proposal,
    evidence_of,
    exemption_key,
    models_of,
    place_of,
    propose_exemption,
    propose_refusal,
    refusal_key,
    refused_place,
    shared_atoms,
)
from harness.verify.judging.verdict import DISAGREEMENTS, VerdictKind

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


MAX_ROUNDS = 8
"""The maximum number of times that all recordings are judged."""
_BADNESS: Mapping[VerdictKind | None, int] = {
    VerdictKind.REQUEST_REFUSED: 2,
    VerdictKind.REFUSAL_MISSED: 2,
    VerdictKind.REFUSAL_DIFFERENT: 1,
}


@dataclass
class Derived:
    """The overrides, the exchanges that disagree `before` and `after` them, and what was not learned, with reasons."""

    overrides: Overrides
    exchanges: int
    before: list[Seen] = field(default_factory=list)
    after: list[Seen] = field(default_factory=list)
    judged_files: frozenset[str] = frozenset()
    dropped: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)


def derive_overrides(paths: Sequence[Path], *, hosts: Collection[str] = ()) -> Derived:
    """Derive overrides from every recording at `paths`, files or folders. ConfigError if nothing there is judged."""
    recordings = list(dict.fromkeys(files(paths)))
    first = observe(recordings, None, hosts)
    if not first.seen:
        raise ConfigError(_explain_nothing(paths, first))
    derived = Derived(Overrides(), len(first.seen), unreadable=first.unreadable, foreign=first.foreign)
    derived.judged_files = frozenset(seen.file for seen in first.seen)
    derived.before = list(iterate_disagreements(first.seen))
    verdicts = {seen.key: seen.verdict for seen in first.seen}
    proposals, members = join_types(propose_entries(derived.before)), _propose_members(first.seen)
    touched = {seen.key for seen in derived.before}
    for _ in range(MAX_ROUNDS):
        overrides = with_entries(Overrides(), (*(proposal.entry for proposal in proposals), *members))
        now = observe(recordings, overrides, hosts)
        derived.overrides, derived.after = overrides, list(iterate_disagreements(now.seen))
        worse = [seen for seen in now.seen if seen.acted and is_worse(seen.verdict, verdicts[seen.key])]
        kept = _narrow_wrong(proposals, worse, derived)
        more = _propose_more(now.seen, kept, touched)
        if kept == proposals and not more:
            break
        proposals = join_types([*kept, *more])
    else:
        # Narrowing did not end in time: drop the entries that still do harm.
        derived.overrides = _drop(derived.overrides, {number for seen in worse for number in seen.acted})
    # Drop the entries that never led to a correct judgement, too.
    idle = {id(entry) for entry in derived.overrides.entries}
    idle -= {number for seen in now.seen if seen.verdict not in DISAGREEMENTS for number in seen.acted}
    derived.overrides = _drop(derived.overrides, idle)
    return derived


def is_worse(verdict: VerdictKind | None, before: VerdictKind | None) -> bool:
    """Return whether recording and mock disagree more than before; a refusal with another message beats none."""
    return _BADNESS.get(verdict, 0) > _BADNESS.get(before, 0)


def _drop(overrides: Overrides, dropped: Collection[int]) -> Overrides:
    """Drop the exemptions and refusals with these `id()`s; added members stay."""
    kept = (entry for entry in overrides.entries if isinstance(entry, AddedMember) or id(entry) not in dropped)
    return with_entries(overrides, kept)


def _narrow_wrong(proposals: Sequence[Proposal], worse: Sequence[Seen], derived: Derived) -> list[Proposal]:
    """Narrow or drop the proposals that made an exchange worse than it was without them."""
    kept: list[Proposal] = []
    for proposal in proposals:
        against = [seen for seen in worse if id(proposal.entry) in seen.acted]
        narrowed = narrow_proposal(proposal, against) if against else [proposal]
        kept += narrowed
        if not narrowed:
            first = against[0]
            derived.dropped[proposal.made_from[0].key] = f"the API behaved differently in {first.file}#{first.number}"
    return kept


def _propose_more(seen: Sequence[Seen], proposals: Sequence[Proposal], touched: Collection[str]) -> list[Proposal]:
    """Propose entries for what earlier ones have uncovered: a second reason to refuse the same request."""
    errors = {disagreement.key: disagreement.violation.error for disagreement in seen if disagreement.violation}
    made_from = (made for proposal in proposals for made in proposal.made_from if made.violation)
    known = {made.key for made in made_from if made.violation and made.violation.error == errors.get(made.key)}
    refused = (exchange for exchange in seen if exchange.verdict is VerdictKind.REQUEST_REFUSED and exchange.acted)
    again = [exchange for exchange in refused if exchange.key in touched and exchange.key not in known]
    entries = [replace(proposal.entry, seen=()) for proposal in proposals]
    return [made for made in propose_entries(again) if replace(made.entry, seen=()) not in entries]


def _propose_members(seen: Sequence[Seen]) -> tuple[AddedMember, ...]:
    by_place: dict[tuple[str, str], list[Seen]] = {}
    for exchange in seen:
        for place in exchange.drift:
            by_place.setdefault(place, []).append(exchange)
    return tuple(AddedMember(*place, evidence_of(group)) for place, group in by_place.items() if is_place(place[1]))


def relative_evidence(overrides: Overrides, name: Callable[[str], str]) -> Overrides:
    """Rename the files in the evidence of overrides."""
    renamed = (
        replace(entry, seen=tuple(replace(evidence, file=name(evidence.file)) for evidence in entry.seen))
        for entry in overrides.entries
    )
    return with_entries(overrides, renamed)


def explain_foreign(place: str, model: str) -> str:
    """Explain why an exchange reveals nothing about the API."""
    return f"{place}: {model!r} is a model of another provider; what a gateway takes for it is no contract of the API."


def _explain_nothing(paths: Sequence[Path], found: Observed) -> str:
    named = ", ".join(map(str, paths))
    if found.unreadable:
        file, why = next(iter(found.unreadable.items()))
        return f"nothing to learn from in {named}: {why if file in why else f'{file}: {why}'}"
    if found.foreign:
        place, model = next(iter(found.foreign.items()))
        return f"nothing to learn from in {named}: {explain_foreign(place, model)}"
    why = f"`{COMMAND} verify -v {named}` says why"
    return f"nothing to learn from in {named}: no exchange there is one with the API. {why}."


def narrow_proposal(proposal: Proposal, against: Sequence[Seen]) -> list[Proposal]:
    """Propose narrower entries that exclude the requests `against`; none if nothing distinguishes those.

    A proposal is split by the types of the objects that have the member, else by its values, else by models; one that
    cannot be split gets another condition.
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
    return type_of(place[1]) if (place := _decided_place(seen)) else ""


def _decided_place(seen: Seen) -> tuple[str, Any, Any] | None:
    return place_of(seen) if seen.verdict is VerdictKind.REQUEST_REFUSED else refused_place(seen)


def _value_key(seen: Seen) -> Any:
    place = _decided_place(seen)
    value = place[2] if place else None
    return (type(value), value) if isinstance(value, str | int | float | None) else kind_of(value)


def _add_condition(proposal: Proposal, against: Sequence[Seen]) -> Proposal | None:
    condition, group = proposal.condition, proposal.made_from
    models = () if condition.models else models_of(group)
    if models and not {contrary.family for contrary in against} & {*models}:
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
