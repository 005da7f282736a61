"""Derives overrides from recordings: generalizes disagreements, judges all recordings with the entries, drops wrong ones.

An entry that makes a correct judgement wrong anywhere in the recordings is narrowed until it does not, or dropped. What
can be learned is offered, and the exchanges that contradict the mock are bundled to be shared.
"""

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from harness.api.http.dialects import API_ROOTS
from harness.cassettes.files import files
from harness.cassettes.scrubbing.mask_text import Masker
from harness.contract.overrides import (
    AddedMember,
    Exemption,
    MemberCondition,
    Overrides,
    is_place,
    kind_of,
    normalize_path,
    type_of,
    violation_path,
)
from harness.contract.rule import RULES
from harness.core.errors import COMMAND, ConfigError, HarnessError
from harness.core.exchange import Json
from harness.core.json_values import omit
from harness.core.secret_prefixes import redact
from harness.core.text import pluralize, shorten
from harness.overrides.contract_file import with_entries
from harness.overrides.observe import JudgedExchange, Observed, atoms_of, iterate_disagreements, observe
from harness.overrides.project_file import (
    DEFAULT_NAME,
    describe_entry,
    find_project_file,
    read_overrides,
    scrub_overrides,
)
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


def propose_entries(disagreements: Iterable[JudgedExchange]) -> list[Proposal]:
    """Propose entries for disagreements, grouped by the rule or the message that they are about."""
    groups: dict[tuple[Any, ...], list[JudgedExchange]] = {}
    for judged in disagreements:
        key = exemption_key(judged) if judged.verdict is VerdictKind.REQUEST_REFUSED else refusal_key(judged)
        if key is not None:
            groups.setdefault(key, []).append(judged)
    return [proposal for group in groups.values() for proposal in propose_group(group)]


def propose_group(group: Sequence[JudgedExchange]) -> list[Proposal]:
    """Propose entries for a group of disagreements: one for all model families with the same recorded members."""
    propose = propose_exemption if group[0].verdict is VerdictKind.REQUEST_REFUSED else propose_refusal
    whole = propose(group)
    if len(whole.condition.models) < 2:
        return [whole]
    families: dict[str, list[JudgedExchange]] = {}
    for judged in group:
        families.setdefault(judged.family, []).append(judged)
    alike: dict[frozenset[tuple[Any, ...]], list[JudgedExchange]] = {}
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
    made_from = tuple(judged for proposal in group for judged in proposal.made_from)
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
    before: list[JudgedExchange] = field(default_factory=list)
    after: list[JudgedExchange] = field(default_factory=list)
    judged_files: frozenset[str] = frozenset()
    dropped: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)


def derive_overrides(paths: Sequence[Path], *, hosts: Collection[str]) -> Derived:
    """Derive overrides from every recording at `paths`, files or folders. ConfigError if nothing there is judged."""
    recordings = list(dict.fromkeys(files(paths)))
    first = observe(recordings, None, hosts)
    if not first.exchanges:
        raise ConfigError(_explain_nothing(paths, first))
    derived = Derived(Overrides(), len(first.exchanges), unreadable=first.unreadable, foreign=first.foreign)
    derived.judged_files = frozenset(judged.file for judged in first.exchanges)
    derived.before = list(iterate_disagreements(first.exchanges))
    verdicts = {judged.key: judged.verdict for judged in first.exchanges}
    proposals, members = join_types(propose_entries(derived.before)), _propose_members(first.exchanges)
    touched = {judged.key for judged in derived.before}
    for _ in range(MAX_ROUNDS):
        overrides = with_entries(Overrides(), (*(proposal.entry for proposal in proposals), *members))
        now = observe(recordings, overrides, hosts)
        derived.overrides, derived.after = overrides, list(iterate_disagreements(now.exchanges))
        worse = [
            judged for judged in now.exchanges if judged.applied and is_worse(judged.verdict, verdicts[judged.key])
        ]
        kept = _narrow_wrong(proposals, worse, derived)
        more = _propose_more(now.exchanges, kept, touched)
        if kept == proposals and not more:
            break
        proposals = join_types([*kept, *more])
    else:
        # Narrowing did not end in time: drop the entries that still do harm.
        derived.overrides = _drop(derived.overrides, {number for judged in worse for number in judged.applied})
    # Drop the entries that never led to a correct judgement, too.
    idle = {id(entry) for entry in derived.overrides.entries}
    idle -= {number for judged in now.exchanges if judged.verdict not in DISAGREEMENTS for number in judged.applied}
    derived.overrides = _drop(derived.overrides, idle)
    return derived


def is_worse(verdict: VerdictKind | None, before: VerdictKind | None) -> bool:
    """Return whether recording and mock disagree more than before; a refusal with another message beats none."""
    return _BADNESS.get(verdict, 0) > _BADNESS.get(before, 0)


def _drop(overrides: Overrides, dropped: Collection[int]) -> Overrides:
    """Drop the exemptions and refusals with these `id()`s; added members stay."""
    kept = (entry for entry in overrides.entries if isinstance(entry, AddedMember) or id(entry) not in dropped)
    return with_entries(overrides, kept)


def _narrow_wrong(proposals: Sequence[Proposal], worse: Sequence[JudgedExchange], derived: Derived) -> list[Proposal]:
    """Narrow or drop the proposals that made an exchange worse than it was without them."""
    kept: list[Proposal] = []
    for proposal in proposals:
        against = [judged for judged in worse if id(proposal.entry) in judged.applied]
        narrowed = narrow_proposal(proposal, against) if against else [proposal]
        kept += narrowed
        if not narrowed:
            first = against[0]
            derived.dropped[proposal.made_from[0].key] = f"the API behaved differently in {first.file}#{first.number}"
    return kept


def _propose_more(
    exchanges: Sequence[JudgedExchange], proposals: Sequence[Proposal], touched: Collection[str]
) -> list[Proposal]:
    """Propose entries for what earlier ones have uncovered: a second reason to refuse the same request."""
    errors = {disagreement.key: disagreement.violation.error for disagreement in exchanges if disagreement.violation}
    made_from = (made for proposal in proposals for made in proposal.made_from if made.violation)
    known = {made.key for made in made_from if made.violation and made.violation.error == errors.get(made.key)}
    refused = (
        exchange for exchange in exchanges if exchange.verdict is VerdictKind.REQUEST_REFUSED and exchange.applied
    )
    again = [exchange for exchange in refused if exchange.key in touched and exchange.key not in known]
    entries = [replace(proposal.entry, seen=()) for proposal in proposals]
    return [made for made in propose_entries(again) if replace(made.entry, seen=()) not in entries]


def _propose_members(exchanges: Sequence[JudgedExchange]) -> tuple[AddedMember, ...]:
    by_place: dict[tuple[str, str], list[JudgedExchange]] = {}
    for exchange in exchanges:
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


def narrow_proposal(proposal: Proposal, against: Sequence[JudgedExchange]) -> list[Proposal]:
    """Propose narrower entries that exclude the requests `against`; none if nothing distinguishes those.

    A proposal is split by the types of the objects that have the member, else by its values, else by models; one that
    cannot be split gets another condition.
    """
    for key in (_type_key, _value_key, lambda judged: judged.family):
        parts: dict[Any, list[JudgedExchange]] = {}
        for judged in proposal.made_from:
            parts.setdefault(key(judged), []).append(judged)
        if len(parts) > 1:
            propose = propose_exemption if isinstance(proposal.entry, Exemption) else propose_refusal
            return [replace(propose(part), is_narrowed=True) for part in parts.values()]
    narrowed = _add_condition(proposal, against)
    return [replace(narrowed, is_narrowed=True)] if narrowed else []


def _type_key(judged: JudgedExchange) -> Any:
    return type_of(place[1]) if (place := _decided_place(judged)) else ""


def _decided_place(judged: JudgedExchange) -> tuple[str, Any, Any] | None:
    return place_of(judged) if judged.verdict is VerdictKind.REQUEST_REFUSED else refused_place(judged)


def _value_key(judged: JudgedExchange) -> Any:
    place = _decided_place(judged)
    value = place[2] if place else None
    return (type(value), value) if isinstance(value, str | int | float | None) else kind_of(value)


def _add_condition(proposal: Proposal, against: Sequence[JudgedExchange]) -> Proposal | None:
    condition, group = proposal.condition, proposal.made_from
    models = () if condition.models else models_of(group)
    if models and not {contrary.family for contrary in against} & {*models}:
        return proposal.with_condition(replace(condition, models=models))
    theirs = [atoms_of(judged.request.body) for judged in against]
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
    ours = {place for judged in group for place, _ in atoms_of(judged.request.body)}
    common = [place for place, _ in theirs[0] if all(any(place == atom for atom, _ in atoms) for atoms in theirs)]
    for place in dict.fromkeys(common):
        if place not in ours and "[]" not in place and place not in used and place not in ACCIDENTAL:
            added = MemberCondition(place, kinds=("absent",))
            return proposal.with_condition(replace(condition, members=(*condition.members, added)))
    return None


def render_bundle(disagreements: Iterable[JudgedExchange]) -> str:
    """Render a bundle: a line for the first exchange of each kind, by verdict, recorded error and the mock's rule."""
    masker, first = Masker(), dict[bytes, JudgedExchange]()
    for judged in disagreements:
        violated = judged.violation
        rule = violated and (violated.rule.id, normalize_path(violation_path(violated.facts, violated.error.param)))
        first.setdefault(orjson.dumps([judged.verdict, judged.error, rule]), judged)
    entries = (_share_exchange(judged, number) for number, judged in enumerate(first.values(), 1))
    return "".join(f"{masker.mask_text(orjson.dumps(redact(entry)).decode())}\n" for entry in entries)


def _share_exchange(judged: JudgedExchange, number: int) -> Json:
    error = omit(judged.error, "status")
    request = judged.request
    return {
        "id": f"shared-{number}#1",
        "provider": request.dialect,
        "method": request.method,
        "url_path": f"{API_ROOTS[request.dialect]}{request.path}",
        "recorded_at": judged.date or None,
        "request": request.body,
        "status": judged.error["status"],
        "response": {"error": error} if error else None,
    }


MAX_SHOWN = 5
"""The maximum number of disagreements, and of entries, that are shown."""


def offer_learning(recordings: Sequence[Path], root: Path, hosts: Collection[str] = ()) -> list[str]:
    """Describe the disagreements in recordings, what would be learned, and the command, as lines; empty without any.

    What the overrides of the project at `root` already contain is not offered again. `hosts` are gateways to the API.
    """
    try:
        file = find_project_file(root)
        known = read_overrides(file) if file and file.exists() else None
        lines = _offer(recordings, known, file or recordings[0].parent / DEFAULT_NAME, hosts)
        return [line.replace(f"{root.absolute().as_posix()}/", "") for line in lines]
    except HarnessError:  # nothing can be judged, or the project's file has an error, which is reported elsewhere
        return []


def _offer(recordings: Sequence[Path], known: Overrides | None, file: Path, hosts: Collection[str]) -> Iterator[str]:
    exchanges = observe(recordings, known, hosts).exchanges
    differ = list(iterate_disagreements(exchanges))
    if not differ and not any(exchange.drift for exchange in exchanges):
        return
    learned, _ = scrub_overrides(relative_evidence(derive_overrides(recordings, hosts=hosts).overrides, str))
    old = {describe_entry(entry) for entry in known.entries} if known else ()
    entries = [text for text in map(describe_entry, learned.entries) if text not in old]
    yield f"{pluralize(len(exchanges), 'exchange')}; the API and the mock disagree in {len(differ)}:"
    yield from _cut([f"  {describe_disagreement(judged)}" for judged in differ])
    if not entries:
        yield "  nothing can be learned from it: it depends on more than the request."
        return
    command = " ".join([f"{COMMAND} learn", *(f"--host {shlex.quote(host)}" for host in hosts)])
    named = " ".join(shlex.quote(recording.as_posix()) for recording in recordings)
    yield f"learn it: {command} --contract {shlex.quote(file.as_posix())} {named}"
    yield "  writes what makes the mock do as the API did:"
    yield from _cut([f"  - {shorten(text, 200)}" for text in entries])


def describe_disagreement(judged: JudgedExchange) -> str:
    """Describe in which exchange the API and the mock differ, and how."""
    what = f"{judged.file}#{judged.number}, {judged.request.method} {judged.request.path}"
    recorded = f"{judged.error['status']} {judged.error.get('message', '')}"
    mock = f"{judged.violation.error.message} ({judged.violation.rule.id})" if judged.violation else ""
    if judged.verdict is VerdictKind.REQUEST_REFUSED:
        return shorten(f"{what}: accepted, the mock refuses it: {mock}", 400)
    if judged.verdict is VerdictKind.REFUSAL_MISSED:
        return shorten(f"{what}: refused, the mock accepts it: {recorded}", 400)
    return shorten(f"{what}: refused with another message: {recorded} (the mock: {mock})", 400)


def _cut(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:MAX_SHOWN]
    if more := lines[MAX_SHOWN:]:
        yield f"  … {len(more)} more"
