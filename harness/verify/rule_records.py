"""The records of the rules: how each did on recordings, and `rules_met.json`, which keeps them.

`python -m tools.rules_met` counts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

KEPT_FILE = Path(__file__).with_name("rules_met.json")


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
        """Find the record of a rule; without one it was never seen."""
        return self.rules.get(rule) or RuleRecord()


def load_kept_records(file: Path = KEPT_FILE) -> RuleRecords:
    """Read the records that the package keeps."""
    kept = orjson.loads(file.read_bytes())
    rules = {id: RuleRecord(**counts) for id, counts in kept["rules"].items()}
    return RuleRecords(kept["made"], kept["recordings"], kept["exchanges"], rules)
