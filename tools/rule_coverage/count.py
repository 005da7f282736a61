"""Counts how often each rule decided in recordings, and how often as the API did."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.cassettes.format.recorded import Recorded
from harness.contract.rule_plan import applicable_rules
from harness.core.errors import ConfigError
from harness.verify.judging.judge import recorded_error
from harness.verify.judging.unverifiable import match_rules
from harness.verify.judging.verdict import DISAGREEMENTS, Verdict, VerdictKind
from harness.verify.output import explain_nothing_judged
from harness.verify.run import JudgeOptions, verify_recordings
from harness.world.world import World
from tools.rule_coverage.coverage import RuleRecord, RuleRecords


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
