"""What cassettes and counted recordings say about how well the rules are known."""

from pathlib import Path

import pytest

from harness.cassettes.format.interaction import Interaction
from harness.contract.rule import Case, Rule, Source, assumed, documented, recorded, reported
from harness.core.errors import ApiError
from tools import rule_coverage as coverage
from tools.rule_coverage import EvidenceGap, RuleRecord, RuleRecords
from tools.rule_evidence.cassettes import EvidenceError, Origin, RuleCassette, attach_origin

PUBLISHED = Origin("reported", "https://example.org/1", "2026-03-27")
STORED = Origin("assumed", "not published")


def rule(id: str, *sources: Source, area: str = "pairing") -> Rule:
    return Rule(id, area, "Doc.", ApiError(400, "No."), sources, {"No.": Case({})}, ())


NOTHING_MET = RuleRecords("2026-11-23", 0, 0)
RULES = {
    made.id: made
    for made in (
        rule("first", reported("https://example.org/1", "2026"), area="state"),
        rule("second", recorded("a/b"), documented("https://example.org/2", "2026")),
        rule("third", reported("public reports of two origins", "2026")),
        rule("fourth", documented("https://example.org/4", "2026"), area="access"),
        rule("half", reported("https://example.org/5", "2026"), assumed("its param")),
        rule("fifth", assumed("nobody knows"), area="of_a_plugin"),
    )
}


def cassettes(*names: str) -> dict[str, RuleCassette]:
    """Return a cassette for each name, with a refusal, what preceded it, and another refusal."""
    parts = tuple(
        attach_origin(Interaction("POST", "https://api.openai.com/v1/responses", status=status), origin)
        for status, origin in ((400, PUBLISHED), (200, STORED), (400, PUBLISHED))
    )
    return {name: RuleCassette(name, Path(f"{name}.yaml"), parts) for name in names}


def test_every_claim_without_a_cassette_is_a_gap_with_its_reason() -> None:
    gaps = [
        EvidenceGap("first", "reported", "not transcribed yet"),
        EvidenceGap("second", "recorded", "no source has a date"),
        EvidenceGap("third", "reported", "no dated source has an address"),
        EvidenceGap("half", "reported", "assumed its param"),
    ]
    assert coverage.find_gaps(RULES, cassettes()) == gaps
    assert coverage.find_gaps(RULES, cassettes("first")) == gaps[1:]


def test_coverage_counts_rules_by_area_and_level_in_order_of_precedence() -> None:
    met = {"first": RuleRecord(seen=3, right=2), "third": RuleRecord(undecided=1, passed=7), "half": RuleRecord(1, 1)}
    found, records = cassettes("first", "third"), RuleRecords("2026-11-23", 2, 9, met)
    rows = coverage.coverage_rows(RULES, found, records)
    assert [{name: count for name, count in row.items() if count} for row in rows] == [
        {"area": "access", "rules": 1, "documented": 1, "never_met": 1},
        {"area": "state", "rules": 1, "reported": 1, "cassettes": 1, "refusals": 2, "seen": 3, "right": 2},
        {"area": "pairing", "rules": 3, "recorded": 1, "reported": 2, "cassettes": 1, "refusals": 2}
        | {"seen": 1, "right": 1, "never_met": 1},
        {"area": "of_a_plugin", "rules": 1, "assumed": 1, "never_met": 1},
        {"area": "all", "rules": 6, "recorded": 1, "reported": 3, "documented": 1, "assumed": 1}
        | {"cassettes": 2, "refusals": 4, "seen": 4, "right": 3, "never_met": 3},
    ]
    counted = ("recorded", "reported", "documented", "typed", "assumed", "cassettes", "refusals", "seen", "right")
    assert list(rows[0]) == ["area", "rules", *counted, "never_met"]


def test_a_cassette_of_no_rule_is_an_orphan_and_stops_the_count() -> None:
    found = cassettes("first", "frist")
    assert coverage.find_orphans(RULES, found) == ["frist"]
    with pytest.raises(EvidenceError, match="no rule is named like these cassettes: frist"):
        coverage.coverage_rows(RULES, found, NOTHING_MET)


def test_the_table_has_a_title_for_each_column_and_leaves_zeros_blank() -> None:
    rows = coverage.coverage_rows(RULES, cassettes("first"), NOTHING_MET)
    area, _, recorded_rules, *_ = coverage.coverage_table(rows).columns
    assert (area.header, list(area.cells)) == ("area", ["access", "state", "pairing", "of_a_plugin", "all"])
    assert (recorded_rules.header, list(recorded_rules.cells)) == ("recorded", ["", "", "1", "", "1"])
