"""Count how each rule did on everything recorded here, and keep the counts: `python -m tests.contract.evidence`.

`harness rules --coverage` shows them. The recordings are the cassettes of the project and those beside the checkout.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import harness.contract.rules  # noqa: F401  (registers every rule)
from harness.contract.rule import RULES
from harness.verify.evidence import evidence_directory
from harness.verify.evidence_coverage import KEPT_FILE, RuleRecords
from tests.support.shared import FOUNDRY_RECORDINGS, PRESENT, RECORDINGS, SHARED
from tools.rules_met import count_met_rules, write_kept_records


def count_everything() -> RuleRecords:
    """Return the records of the rules today."""
    return count_met_rules(
        (evidence_directory(), *RECORDINGS, FOUNDRY_RECORDINGS), datetime.now(UTC).date().isoformat()
    )


def main() -> int:
    """Write the counts; returns the exit code."""
    if not PRESENT:
        print(f"the recorded traffic is not in {SHARED}: without it the counts would be too low", file=sys.stderr)
        return 2
    write_kept_records(count_everything(), RULES)
    print(f"wrote {KEPT_FILE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
