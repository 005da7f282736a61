"""`python -m tools.rule_coverage [PATH…]`: shows how well the rules are known, as of the last count or in recordings."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson
import typer

import harness.foundry  # noqa: F401  (registers every rule)
from harness.cli.program import Options, argument, make_console, option, print_json
from harness.contract.rule import RULES
from harness.core.exchange import Json
from tools.program import make_program
from tools.rule_coverage.count import count_met_rules
from tools.rule_coverage.coverage import (
    KEPT_FILE,
    RuleRecords,
    coverage_rows,
    coverage_table,
    describe_records,
    find_gaps,
    load_kept_records,
    record_rows,
)
from tools.rule_evidence.cassettes import load_rule_cassettes

FORMAT = 1


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


def write_kept_records(records: RuleRecords, order: Iterable[str], file: Path = KEPT_FILE) -> None:
    """Write records, one line per rule in this order, without zero counts and without rules that have only these."""
    lines = {id: {name: n for name, n in asdict(records.of(id)).items() if n} for id in order}
    rules = [f'    "{id}": {orjson.dumps(counts).decode()}' for id, counts in lines.items() if counts]
    head: Json = {"format": FORMAT, "made": records.made}
    head |= {"recordings": records.recordings, "exchanges": records.exchanges}
    members = [f'  "{name}": {orjson.dumps(value).decode()}' for name, value in head.items()]
    text = ",\n".join([*members, '  "rules": {\n' + ",\n".join(rules) + "\n  }"])
    file.write_text("{\n" + text + "\n}\n", encoding="utf-8")


app = make_program(show_coverage)

if __name__ == "__main__":
    app()
