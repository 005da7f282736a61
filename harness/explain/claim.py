"""Claims about the path of a test that did not hold, and that the test made without an `assert`."""

from __future__ import annotations

from harness.analysis.path_lists import PathClaim
from harness.explain.model import Cause


def claim_cause(claim: PathClaim) -> Cause:
    """Explain a claim that does not hold, with the line that made it."""
    return Cause(
        f"A claim that nothing asserts does not hold: {claim.text}",
        kind="claim",
        general="A claim that nothing asserts does not hold.",
        where=claim.place.short,
        fix="Write `assert` before it, to fail in that line, and look at the path.",
    )
