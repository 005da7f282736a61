"""Derives the contract of one's own from recordings: proposes entries, judges all recordings with them, narrows and drops.

An entry that turns a right judgement into a wrong one anywhere in the recordings is narrowed until it does not, or dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.cassettes.listing import files
from harness.contract.body_places import is_place
from harness.contract.own_contract import Evidence, Exemption, OwnContract, OwnMember, OwnRefusal
from harness.core.errors import ConfigError
from harness.verify.disagreements.generalize import join_types, propose_entries
from harness.verify.disagreements.narrow import narrow_proposal
from harness.verify.disagreements.observe import Observed, Seen, iterate_disagreements, observe
from harness.verify.disagreements.propose import Proposal, evidence_of
from harness.verify.judging.verdict import DISAGREEMENTS, VerdictKind

MAX_ROUNDS = 8
"""How often all recordings are judged at most."""
_BADNESS: Mapping[VerdictKind | None, int] = {
    VerdictKind.REQUEST_REFUSED: 2,
    VerdictKind.REFUSAL_MISSED: 2,
    VerdictKind.REFUSAL_DIFFERENT: 1,
}


@dataclass
class Derived:
    """The contract; how many exchanges disagreed `before` and disagree `after`; what was not learned, with the reason."""

    contract: OwnContract
    exchanges: int
    before: list[Seen] = field(default_factory=list)
    after: list[Seen] = field(default_factory=list)
    judged_files: frozenset[str] = frozenset()
    dropped: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)
    learned_from: dict[int, tuple[Seen, ...]] = field(default_factory=dict)


def derive_contract(
    paths: Sequence[Path], *, hosts: Collection[str] = (), progress: Callable[[str], None] | None = None
) -> Derived:
    """Derive a contract from every recording at `paths`, files or folders; ConfigError when nothing there is judged."""
    recordings = list(dict.fromkeys(files(paths)))
    first = observe(recordings, None, hosts)
    if not first.seen:
        raise ConfigError(_explain_nothing(paths, first))
    derived = Derived(OwnContract(), len(first.seen), unreadable=first.unreadable, foreign=first.foreign)
    derived.judged_files = frozenset(one.file for one in first.seen)
    derived.before = list(iterate_disagreements(first.seen))
    verdicts = {one.key: one.verdict for one in first.seen}
    proposals, members = join_types(propose_entries(derived.before)), _propose_members(first.seen)
    touched = {one.key for one in derived.before}
    for _ in range(MAX_ROUNDS):
        contract = OwnContract(
            exemptions=tuple(one.entry for one in proposals if isinstance(one.entry, Exemption)),
            refusals=tuple(one.entry for one in proposals if isinstance(one.entry, OwnRefusal)),
            members=members,
        )
        now = observe(recordings, contract, hosts)
        derived.contract, derived.after = contract, list(iterate_disagreements(now.seen))
        worse = [one for one in now.seen if one.acted and is_worse(one.verdict, verdicts[one.key])]
        kept = _narrow_wrong(proposals, worse, derived)
        more = _propose_more(now.seen, kept, touched)
        if kept == proposals and not more:
            break
        proposals = join_types([*kept, *more])
    else:
        derived.contract = _drop_wrong(derived.contract, worse)
    derived.contract, derived.learned_from = _drop_idle(derived.contract, proposals, now)
    return derived


def is_worse(verdict: VerdictKind | None, before: VerdictKind | None) -> bool:
    """Whether recording and mock disagree more than before: a refusal in other words is nearer than none."""
    return _BADNESS.get(verdict, 0) > _BADNESS.get(before, 0)


def _drop_wrong(contract: OwnContract, worse: Sequence[Seen]) -> OwnContract:
    """The contract without the entries that made anything worse."""
    wrong = {id for one in worse for id in one.acted}
    return replace(
        contract,
        exemptions=tuple(each for each in contract.exemptions if id(each) not in wrong),
        refusals=tuple(each for each in contract.refusals if id(each) not in wrong),
    )


def _narrow_wrong(proposals: Sequence[Proposal], worse: Sequence[Seen], derived: Derived) -> list[Proposal]:
    """The proposals, narrowed where they made something worse than it was without them."""
    kept: list[Proposal] = []
    for proposal in proposals:
        against = [one for one in worse if id(proposal.entry) in one.acted]
        narrowed = narrow_proposal(proposal, against) if against else [proposal]
        kept += narrowed
        if not narrowed:
            first = against[0]
            derived.dropped[proposal.made_from[0].key] = f"the API did otherwise in {first.file}#{first.number}"
    return kept


def _propose_more(seen: Sequence[Seen], proposals: Sequence[Proposal], touched: Collection[str]) -> list[Proposal]:
    """Entries for what the first ones have uncovered: a second reason for which the mock refuses the same request."""
    errors = {one.key: one.violation.error for one in seen if one.violation}
    made_from = (one for proposal in proposals for one in proposal.made_from if one.violation)
    known = {one.key for one in made_from if one.violation and one.violation.error == errors.get(one.key)}
    again = [
        one
        for one in iterate_disagreements(seen)
        if one.acted and one.key in touched and one.verdict is VerdictKind.REQUEST_REFUSED and one.key not in known
    ]
    entries = [replace(proposal.entry, seen=()) for proposal in proposals]
    return [one for one in propose_entries(again) if replace(one.entry, seen=()) not in entries]


def _propose_members(seen: Sequence[Seen]) -> tuple[OwnMember, ...]:
    by_place: dict[tuple[str, str], list[Seen]] = {}
    for one in seen:
        for place in one.drift:
            by_place.setdefault(place, []).append(one)
    return tuple(OwnMember(root, at, evidence_of(group)) for (root, at), group in by_place.items() if is_place(at))


def _drop_idle(
    contract: OwnContract, proposals: Sequence[Proposal], now: Observed
) -> tuple[OwnContract, dict[int, tuple[Seen, ...]]]:
    """The contract without the entries that made nothing right; and what each of the others is made from."""
    acted = {id for one in now.seen if one.verdict not in DISAGREEMENTS for id in one.acted}
    kept = OwnContract(
        tuple(each for each in contract.exemptions if id(each) in acted),
        tuple(each for each in contract.refusals if id(each) in acted),
        contract.members,
    )
    return kept, {id(one.entry): one.made_from for one in proposals if id(one.entry) in acted}


def relative_evidence(contract: OwnContract, name: Callable[[str], str]) -> OwnContract:
    """The contract with its evidence's files under other names."""

    def renamed(seen: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
        return tuple(replace(each, file=name(each.file)) for each in seen)

    return replace(
        contract,
        exemptions=tuple(replace(each, seen=renamed(each.seen)) for each in contract.exemptions),
        refusals=tuple(replace(each, seen=renamed(each.seen)) for each in contract.refusals),
        members=tuple(replace(each, seen=renamed(each.seen)) for each in contract.members),
    )


def explain_foreign(place: str, model: str) -> str:
    """Why an exchange says nothing about the API."""
    return f"{place}: {model!r} is a model of another provider; what a gateway takes for it is no contract of the API."


def _explain_nothing(paths: Sequence[Path], found: Observed) -> str:
    named = ", ".join(map(str, paths))
    if found.unreadable:
        file, why = next(iter(found.unreadable.items()))
        return f"nothing to learn from in {named}: {why if file in why else f'{file}: {why}'}"
    if found.foreign:
        place, model = next(iter(found.foreign.items()))
        return f"nothing to learn from in {named}: {explain_foreign(place, model)}"
    return f"nothing to learn from in {named}: no exchange there is one with the API. `harness verify -v {named}` says why."
