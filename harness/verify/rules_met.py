"""How each rule did on recordings: the exchanges in which it decided, and in how many of them as the API did.

`rules_met.json` keeps the counts over everything recorded that the maintainers have.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from harness.cassettes.format.recorded import Recorded
from harness.contract.rule_plan import applicable_rules
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.verify.judging.judge import recorded_error
from harness.verify.judging.unverifiable import match_rules
from harness.verify.judging.verdict import DISAGREEMENTS, Verdict, VerdictKind
from harness.verify.nothing_judged import explain_nothing_judged
from harness.verify.run import verify_recordings
from harness.world.world import World

KEPT_FILE = Path(__file__).with_name("rules_met.json")
FORMAT = 1


@dataclass(slots=True)
class RuleRecord:
    """How often a rule was seen, and was right.

    - `seen`: exchanges that the rule decided, or that the API decided in its words: a recorded refusal that the mock makes
      by this rule, a recorded refusal that has this rule's message while the mock says another or none, an exchange that
      this rule refuses while the API took it or said something else.
    - `right`: those of them in which the mock refuses by this rule as recorded.
    - `undecided`: recorded refusals in its words whose cause no recording shows (the account, what was stored before).
    - `passed`: recorded requests that the API took and the rule was asked about without objecting; 0 where the rule is a
      keyword of the schemas, which is not asked one by one.

    A message that several rules share counts for each of them, unless the mock makes it.
    """

    seen: int = 0
    right: int = 0
    undecided: int = 0
    passed: int = 0

    @property
    def is_met(self) -> bool:
        """Whether any recording holds a refusal in its words, or one of its own."""
        return bool(self.seen or self.undecided)


@dataclass(frozen=True, slots=True)
class RuleRecords:
    """The records of the rules, those without any left out: made on the day `made`, of so many recordings and exchanges.

    A recording is one conversation with the API, as a file of a recorder holds it.
    """

    made: str
    recordings: int
    exchanges: int
    rules: Mapping[str, RuleRecord] = field(default_factory=dict)

    def of(self, rule: str) -> RuleRecord:
        """The record of a rule."""
        return self.rules.get(rule) or RuleRecord()


class RulesMet:
    """Counts what each rule decides while recordings are judged."""

    def __init__(self) -> None:
        self.records: dict[str, RuleRecord] = defaultdict(RuleRecord)
        self.recordings: set[str] = set()
        self.exchanges = 0
        self._recorded: Recorded
        self._world: World

    def begin_exchange(self, number: int, one: Recorded, world: World) -> None:  # noqa: ARG002
        """Note the exchange on which the verdicts follow."""
        self._recorded, self._world = one, world
        self.recordings.add(one.file)
        self.exchanges += 1

    def note_verdict(self, verdict: Verdict) -> None:
        """Count a verdict on the request for the rules that it is about; the World has not learned from the answer yet."""
        own = [verdict.violation.rule.id] if verdict.violation else []
        if verdict.kind is VerdictKind.REQUEST_ACCEPTED and verdict.request:
            for rule in applicable_rules(verdict.request, self._world):
                self.records[rule.id].passed += 1
        elif verdict.kind is VerdictKind.REFUSAL_SAME:
            self._count(own, right=True)
        elif verdict.kind is VerdictKind.REQUEST_REFUSED:
            self._count(own, right=False)
        elif verdict.kind in DISAGREEMENTS:
            self._count({*own, *self._rules_in_words()}, right=False)
        elif verdict.kind is VerdictKind.REFUSAL_UNVERIFIABLE:
            for id in self._rules_in_words():
                self.records[id].undecided += 1

    def close(self) -> None:
        """Every exchange of the file was judged."""

    def _count(self, rules: Iterable[str], *, right: bool) -> None:
        for rule in rules:
            self.records[rule].seen += 1
            self.records[rule].right += right

    def _rules_in_words(self) -> list[str]:
        """The rules whose error the recorded one may be."""
        error = recorded_error(self._recorded)
        return [rule.id for rule in match_rules(self._recorded.status, error)] if error else []


def count_met_rules(paths: Sequence[Path], made: str) -> RuleRecords:
    """The records of the rules in these recordings, files or folders; `made` is the day of the count.

    HarnessError when a path does not exist, or nothing there says anything about a rule.
    """
    met = RulesMet()
    with TemporaryDirectory() as folder:
        tally = verify_recordings(paths, Path(folder), make_observer=lambda recording, seen: met)
    if not met.records and (why := explain_nothing_judged(tally)):
        raise ConfigError(why)
    return RuleRecords(made, len(met.recordings), met.exchanges, met.records)


def load_kept_records(file: Path = KEPT_FILE) -> RuleRecords:
    """The records that the package keeps."""
    kept = orjson.loads(file.read_bytes())
    rules = {id: RuleRecord(**counts) for id, counts in kept["rules"].items()}
    return RuleRecords(kept["made"], kept["recordings"], kept["exchanges"], rules)


def write_kept_records(records: RuleRecords, order: Iterable[str], file: Path = KEPT_FILE) -> None:
    """Write records, a rule a line in this order, counts of zero left out; a rule without any has no line."""
    lines = {id: {name: n for name, n in asdict(records.of(id)).items() if n} for id in order}
    rules = [f'    "{id}": {orjson.dumps(counts).decode()}' for id, counts in lines.items() if counts]
    head: Json = {"format": FORMAT, "made": records.made}
    head |= {"recordings": records.recordings, "exchanges": records.exchanges}
    members = [f'  "{name}": {orjson.dumps(value).decode()}' for name, value in head.items()]
    text = ",\n".join([*members, '  "rules": {\n' + ",\n".join(rules) + "\n  }"])
    file.write_text("{\n" + text + "\n}\n", encoding="utf-8")
