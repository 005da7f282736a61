"""`python -m tools.rules_met PATH…`: counts how often each rule decided in recordings, and how often as the API did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import orjson
import typer

from harness.cassettes.format.recorded import Recorded
from harness.cli.rules import print_coverage
from harness.contract.rule_plan import applicable_rules
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.verify.evidence_coverage import KEPT_FILE, RuleRecord, RuleRecords
from harness.verify.judging.judge import recorded_error
from harness.verify.judging.unverifiable import match_rules
from harness.verify.judging.verdict import DISAGREEMENTS, Verdict, VerdictKind
from harness.verify.nothing_judged import explain_nothing_judged
from harness.verify.run import JudgeOptions, verify_recordings
from harness.world.world import World
from tools.program import make_program

FORMAT = 1


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


def write_kept_records(records: RuleRecords, order: Iterable[str], file: Path = KEPT_FILE) -> None:
    """Write records, one line per rule in this order, without zero counts and without rules that have only these."""
    lines = {id: {name: n for name, n in asdict(records.of(id)).items() if n} for id in order}
    rules = [f'    "{id}": {orjson.dumps(counts).decode()}' for id, counts in lines.items() if counts]
    head: Json = {"format": FORMAT, "made": records.made}
    head |= {"recordings": records.recordings, "exchanges": records.exchanges}
    members = [f'  "{name}": {orjson.dumps(value).decode()}' for name, value in head.items()]
    text = ",\n".join([*members, '  "rules": {\n' + ",\n".join(rules) + "\n  }"])
    file.write_text("{\n" + text + "\n}\n", encoding="utf-8")


def count_rules(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Recordings, files or folders.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print what `harness rules --coverage` prints, counted in other recordings."""
    print_coverage(count_met_rules(paths, datetime.now(UTC).date().isoformat()), as_json)


app = make_program(count_rules)

if __name__ == "__main__":
    app()
