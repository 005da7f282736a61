"""Histories that become shorter."""

from __future__ import annotations

from dataclasses import replace

from harness.examine.case import case, turns
from harness.examine.cases.common import ASKED_TWICE
from harness.examine.cases.session_checks import compacts
from harness.examine.checks import shows
from harness.items import compaction, message
from harness.items.code import PLACEHOLDER_CIPHERTEXT

THREE = replace(ASKED_TWICE, prompts=("What is A?", "What is B?", "What is C?"))
REPLAYS = ("replay", "stateless")

case(
    "state/compaction-by-hand",
    shows("A is 1.", "B is 2.", "C is 3."),
    compacts("A is 1.", "B is 2."),
    title="Compaction by hand",
    does="After two prompts the history is compacted: all but the user's messages become one item.",
    source="API reference, `POST /responses/compact`, 2025-12; recorded",
    shows="The next request holds what the API made of the history, as it is.",
    severity="must",
    states=REPLAYS,
    task=replace(THREE, compact_after=2),
    script=turns(message("A is 1."), message("B is 2."), message("C is 3.")),
)

case(
    "state/compaction-by-threshold",
    shows("A is 1.", "B is 2.", "C is 3."),
    compacts(),
    title="Compaction by a threshold",
    does="The second response begins with a compaction item, as the history has become too long.",
    source="API reference, `context_management` with `compact_threshold`, 2026-02; recorded",
    shows="The compaction item goes back as it is; what was before it may be left out.",
    severity="must",
    states=REPLAYS,
    task=replace(THREE, options={"context_management": [{"type": "compaction", "compact_threshold": 1000}]}),
    script=turns(message("A is 1."), [compaction(PLACEHOLDER_CIPHERTEXT), message("B is 2.")], message("C is 3.")),
)
