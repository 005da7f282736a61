"""`python -m tools.rule_coverage [PATH…]`: shows how well the rules are known, as of the last count or in recordings.

Each area and rule has its evidence, how it did on recordings, and a reason if no cassette shows its evidence.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import orjson
import typer

import harness.foundry  # noqa: F401  (registers every rule)
from harness.cassettes.format.recorded import Recorded
from harness.cli.program import Options, argument, make_console, option, print_json
from harness.contract.rule import LEVELS, RULES, Level, Rule
from harness.contract.rule_plan import applicable_rules
from harness.contract.rules import AREAS
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.text import pluralize
from harness.verify.judge_files import JudgeOptions, verify_recordings
from harness.verify.judging.judge import recorded_error
from harness.verify.judging.unverifiable import match_rules
from harness.verify.judging.verdict import DISAGREEMENTS, Verdict, VerdictKind
from harness.verify.output import explain_nothing_judged
from harness.world.world import World
from tools.program import make_program
from tools.rule_evidence.cassettes import EVIDENCE_LEVELS, EvidenceError, RuleCassette, load_rule_cassettes

if TYPE_CHECKING:
    from rich.table import Table

FORMAT = 1
KEPT_FILE = Path(__file__).with_name("rule_coverage.json")
"""How each rule did on all recordings when it was last counted."""


@dataclass(slots=True)
class RuleRecord:
    """How often a rule was seen in recordings, and how often it was right.

    - `seen`: exchanges that this rule or its message decided: recorded refusals that the mock reproduces by this rule,
      recorded refusals with this rule's message that the mock does not reproduce, and exchanges that this rule refuses
      although the API accepted them or gave another error.
    - `right`: those among them that the mock refuses by this rule as recorded. - `undecided`: recorded refusals with
    its message whose cause is not recorded (the account, what was stored before). - `passed`: recorded requests that
    both the API and this rule accepted; 0 if the rule is a keyword of the schemas, which
      is not checked individually.

    A message that several rules share counts for each of them, unless the mock produces it.
    """

    seen: int = 0
    right: int = 0
    undecided: int = 0
    passed: int = 0

    @property
    def is_met(self) -> bool:
        """Whether any recording has a refusal with its message, or one that the rule decided."""
        return bool(self.seen or self.undecided)


@dataclass(frozen=True, slots=True)
class RuleRecords:
    """The records of all rules that have one, computed on the day `made` from `recordings` with `exchanges`.

    A recording is one conversation with the API, as a recorder stores it in a file.
    """

    made: str
    recordings: int
    exchanges: int
    rules: Mapping[str, RuleRecord] = field(default_factory=dict)

    def of(self, rule: str) -> RuleRecord:
        """Return the record of a rule; an empty one if it was never seen."""
        return self.rules.get(rule) or RuleRecord()


def load_kept_records(file: Path = KEPT_FILE) -> RuleRecords:
    """Read the records of the last count."""
    kept = orjson.loads(file.read_bytes())
    rules = {id: RuleRecord(**counts) for id, counts in kept["rules"].items()}
    return RuleRecords(kept["made"], kept["recordings"], kept["exchanges"], rules)


def write_kept_records(records: RuleRecords, order: Iterable[str], file: Path = KEPT_FILE) -> None:
    """Write records, one line per rule in this order, leaving out zero counts and rules without others."""
    lines = {id: {name: n for name, n in asdict(records.of(id)).items() if n} for id in order}
    rules = [f'    "{id}": {orjson.dumps(counts).decode()}' for id, counts in lines.items() if counts]
    head: Json = {"format": FORMAT, "made": records.made}
    head |= {"recordings": records.recordings, "exchanges": records.exchanges}
    members = [f'  "{name}": {orjson.dumps(value).decode()}' for name, value in head.items()]
    text = ",\n".join([*members, '  "rules": {\n' + ",\n".join(rules) + "\n  }"])
    file.write_text("{\n" + text + "\n}\n", encoding="utf-8")


class RulesMet:
    """Counts the decisions of each rule while recordings are judged."""

    def __init__(self) -> None:
        self.records: dict[str, RuleRecord] = defaultdict(RuleRecord)
        self.recordings: set[str] = set()
        self.exchanges = 0
        self._recorded: Recorded
        self._world: World

    def begin_exchange(self, number: int, recorded: Recorded, world: World) -> None:  # noqa: ARG002
        """Remember the exchange whose verdicts follow."""
        self._recorded, self._world = recorded, world
        self.recordings.add(recorded.file)
        self.exchanges += 1

    def note_verdict(self, verdict: Verdict) -> None:
        """Count a verdict on the request for the rules that it is about."""
        # The World does not remember the answer yet, so the rules see the state before the request.
        decided = [verdict.violation.rule.id] if verdict.violation else []
        if verdict.kind is VerdictKind.REQUEST_ACCEPTED and verdict.request:
            for rule in applicable_rules(verdict.request, self._world):
                self.records[rule.id].passed += 1
        elif verdict.kind is VerdictKind.REFUSAL_SAME:
            self._count(decided, right=True)
        elif verdict.kind is VerdictKind.REQUEST_REFUSED:
            self._count(decided, right=False)
        elif verdict.kind in DISAGREEMENTS:
            self._count({*decided, *self._rules_in_words()}, right=False)
        elif verdict.kind is VerdictKind.REFUSAL_UNVERIFIABLE:
            for id in self._rules_in_words():
                self.records[id].undecided += 1

    def close(self) -> None:
        """Do nothing at the end of a file: everything is counted."""

    def _count(self, rules: Iterable[str], *, right: bool) -> None:
        for rule in rules:
            self.records[rule].seen += 1
            self.records[rule].right += right

    def _rules_in_words(self) -> list[str]:
        """Return the rules whose error matches the recorded one."""
        error = recorded_error(self._recorded)
        return [rule.id for rule in match_rules(self._recorded.status, error)] if error else []


def count_met_rules(paths: Sequence[Path], made: str) -> RuleRecords:
    """Count how the rules did on these recordings, files or folders; `made` is the day of the count.

    HarnessError if a path does not exist, or if nothing there concerns a rule.
    """
    met = RulesMet()
    with TemporaryDirectory() as folder:
        tally = verify_recordings(paths, Path(folder), 1, JudgeOptions(make_observer=lambda recording, seen: met))
    if not met.records and (why := explain_nothing_judged(tally)):
        raise ConfigError(why)
    return RuleRecords(made, len(met.recordings), met.exchanges, met.records)


NOT_TRANSCRIBED = "not transcribed yet"
"""The only reason for a gap that means work to do."""
NEVER_MET = "never met"
"""Marks a rule for which no recording has a refusal."""
_URL = re.compile(r"https?://\S+")


@dataclass(frozen=True, slots=True)
class EvidenceGap:
    """A rule that claims to be recorded or reported but has no cassette, and the reason."""

    rule: str
    level: Level
    reason: str


def find_orphans(rules: Mapping[str, Rule], cassettes: Iterable[str]) -> list[str]:
    """Find the names of cassettes that are not ids of rules."""
    return [name for name in cassettes if name not in rules]


def find_gaps(rules: Mapping[str, Rule], cassettes: Mapping[str, RuleCassette]) -> list[EvidenceGap]:
    """List every rule that claims to be recorded or reported but has no cassette, in order of precedence."""
    return [
        EvidenceGap(rule.id, rule.level, _explain_gap(rule))
        for rule in rules.values()
        if rule.level in EVIDENCE_LEVELS and rule.id not in cassettes
    ]


def _explain_gap(rule: Rule) -> str:
    if rule.error.body_template is not None and "error" not in rule.error.body_template:
        return "its answer is not an error object, which a cassette holds"
    assumptions = [source.where for source in rule.sources if source.level == "assumed"]
    proving = [source for source in rule.sources if source.level in EVIDENCE_LEVELS]
    if assumptions:
        return f"assumed {assumptions[0]}"
    if not any(source.date for source in proving):
        return "no source has a date"
    if not any(source.date and _URL.search(source.where) for source in proving):
        return "no dated source has an address"
    return NOT_TRANSCRIBED


def coverage_rows(rules: Mapping[str, Rule], cassettes: Mapping[str, RuleCassette], records: RuleRecords) -> list[Json]:
    """Count the rules of each area, in total and by level, and their cassettes, refusals and records.

    One row per area, in order of precedence, and a last one, `all`. EvidenceError if a cassette belongs to no rule.
    """
    if orphans := find_orphans(rules, cassettes):
        raise EvidenceError(f"no rule is named like these cassettes: {', '.join(orphans)}; rename or delete them")
    areas = dict.fromkeys((*AREAS, *(rule.area for rule in rules.values())))
    rules_of = {area: [rule for rule in rules.values() if rule.area == area] for area in areas}
    rows = [_coverage_row(area, area_rules, cassettes, records) for area, area_rules in rules_of.items() if area_rules]
    return [*rows, _coverage_row("all", list(rules.values()), cassettes, records)]


def _coverage_row(area: str, rules: list[Rule], cassettes: Mapping[str, RuleCassette], records: RuleRecords) -> Json:
    proofs = [cassettes[rule.id] for rule in rules if rule.id in cassettes]
    levels, known = [rule.level for rule in rules], [records.of(rule.id) for rule in rules]
    return {
        "area": area,
        "rules": len(rules),
        **{level: levels.count(level) for level in LEVELS},
        "cassettes": len(proofs),
        "refusals": sum(interaction.is_refusal for cassette in proofs for interaction in cassette.interactions),
        "seen": sum(record.seen for record in known),
        "right": sum(record.right for record in known),
        "never_met": sum(not record.is_met for record in known),
    }


def record_rows(rules: Mapping[str, Rule], records: RuleRecords) -> list[Json]:
    """List the record of each rule, in order of precedence; `passed` is None if a rule is not checked individually."""
    return [
        {"id": rule.id, "area": rule.area, "level": rule.level, **_record_counts(rule, records.of(rule.id))}
        for rule in rules.values()
    ]


def _record_counts(rule: Rule, record: RuleRecord) -> Json:
    return {**asdict(record), "passed": record.passed if rule.check else None, "met": record.is_met}


def describe_records(records: RuleRecords) -> str:
    """Describe what the records were computed from, and when."""
    exchanges = f"{records.exchanges:,} {'exchange' if records.exchanges == 1 else 'exchanges'}"
    return f"Counted {records.made} over {pluralize(records.recordings, 'recording')} with {exchanges}."


def coverage_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Build a table of the rows for a terminal; zeros are blank, and rules that were never met are marked."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    shown = [name for name in rows[0] if name != "met"]
    for name in shown:
        table.add_column(name.replace("_", " "), justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        cells = {**row, "right": row["right"] if row.get("met", True) else NEVER_MET}
        table.add_row(*(str(cells[name] or "") for name in shown))
    return table


@dataclass(frozen=True, kw_only=True)
class CoverageOptions(Options):
    """The options of the command."""

    paths: list[Path] | None = argument(None, "Recordings to count; default: the last count.", metavar="PATH")
    as_json: bool = option(False, "Print JSON.", "--json")
    keep: bool = option(False, "Keep the count of these recordings as the last one.")


def show_coverage(options: CoverageOptions) -> None:
    """Show how well each area is known, its evidence, and how each rule performed on recordings."""
    paths, keep = options.paths, options.keep
    if keep and not paths:
        raise typer.BadParameter("--keep keeps a count of recordings: pass their paths.")
    records = count_met_rules(paths, datetime.now(UTC).date().isoformat()) if paths else load_kept_records()
    if keep:
        write_kept_records(records, RULES)
    print_coverage(records, options.as_json)


def print_coverage(records: RuleRecords, as_json: bool) -> None:
    """Print the rules by area, their results on recordings, and those whose evidence no cassette shows, and why."""
    cassettes = load_rule_cassettes()
    areas, rules, gaps = (
        coverage_rows(RULES, cassettes, records),
        record_rows(RULES, records),
        find_gaps(RULES, cassettes),
    )
    if as_json:
        counted = {"made": records.made, "recordings": records.recordings, "exchanges": records.exchanges}
        print_json({"areas": areas, "counted": counted, "rules": rules, "gaps": [asdict(gap) for gap in gaps]})
        return
    console = make_console()
    for rows in (areas, rules):
        console.print(coverage_table(rows))
        console.print()
    console.print(describe_records(records))
    for gap in gaps:
        console.print(f"no cassette  {gap.rule}  ({gap.level}): {gap.reason}")


app = make_program(show_coverage)

if __name__ == "__main__":
    app()
