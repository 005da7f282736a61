"""What `harness rules --coverage` shows: how many rules of each area a cassette proves, and which it should but does not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.contract.rule import LEVELS, Level, Rule
from harness.contract.rules import AREAS
from harness.verify.evidence import EVIDENCE_LEVELS, EvidenceError, RuleCassette

if TYPE_CHECKING:
    from rich.table import Table

NOT_TRANSCRIBED = "not transcribed yet"
"""The one reason for a gap that is work left to do."""
_URL = re.compile(r"https?://\S+")


@dataclass(frozen=True, slots=True)
class EvidenceGap:
    """A rule that claims to be recorded or reported and has no cassette, and why."""

    rule: str
    level: Level
    reason: str


def find_orphans(rules: Mapping[str, Rule], cassettes: Iterable[str]) -> list[str]:
    """The names of cassettes that are not the id of a rule."""
    return [name for name in cassettes if name not in rules]


def find_gaps(rules: Mapping[str, Rule], cassettes: Mapping[str, RuleCassette]) -> list[EvidenceGap]:
    """Every rule that claims to be recorded or reported and has no cassette, in order of precedence."""
    return [
        EvidenceGap(rule.id, rule.level, _explain_gap(rule))
        for rule in rules.values()
        if rule.level in EVIDENCE_LEVELS and rule.id not in cassettes
    ]


def _explain_gap(rule: Rule) -> str:
    if rule.error.body_template is not None and "error" not in rule.error.body_template:
        return "its answer is no error object, which a cassette holds"
    assumptions = [source.where for source in rule.sources if source.level == "assumed"]
    proving = [source for source in rule.sources if source.level in EVIDENCE_LEVELS]
    if assumptions:
        return f"assumed {assumptions[0]}"
    if not any(source.date for source in proving):
        return "no source has a date"
    if not any(source.date and _URL.search(source.where) for source in proving):
        return "no dated source has an address"
    return NOT_TRANSCRIBED


def coverage_rows(rules: Mapping[str, Rule], cassettes: Mapping[str, RuleCassette]) -> list[dict[str, Any]]:
    """For each area the number of its rules, in all and by level, its cassettes, and the refusals in them.

    A row for each area, in order of precedence, and a last one, `all`. EvidenceError when a cassette belongs to no rule.
    """
    if orphans := find_orphans(rules, cassettes):
        raise EvidenceError(f"no rule is named like these cassettes: {', '.join(orphans)}; rename or delete them")
    areas = dict.fromkeys((*AREAS, *(rule.area for rule in rules.values())))
    rules_of = {area: [rule for rule in rules.values() if rule.area == area] for area in areas}
    rows = [_coverage_row(area, own, cassettes) for area, own in rules_of.items() if own]
    return [*rows, _coverage_row("all", list(rules.values()), cassettes)]


def _coverage_row(area: str, rules: list[Rule], cassettes: Mapping[str, RuleCassette]) -> dict[str, Any]:
    proofs = [cassettes[rule.id] for rule in rules if rule.id in cassettes]
    levels = [rule.level for rule in rules]
    return {
        "area": area,
        "rules": len(rules),
        **{level: levels.count(level) for level in LEVELS},
        "cassettes": len(proofs),
        "refusals": sum(interaction.is_refusal for cassette in proofs for interaction in cassette.interactions),
    }


def coverage_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The rows as a table for a terminal; zeros are blank."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in rows[0]:
        table.add_column(name, justify="left" if name == "area" else "right")
    for row in rows:
        table.add_row(*(str(value or "") for value in row.values()))
    return table
