"""Deltas that differ from their text, which `done` has right."""

from __future__ import annotations

from dataclasses import dataclass

from harness.core.exchange import Answer
from harness.faults.alterations import Alteration


@dataclass(frozen=True, slots=True)
class EditedDeltas(Alteration):
    """Each delta of a text that is `was` comes as `sent`."""

    was: str
    sent: str

    def alter(self, answer: Answer) -> Answer:
        """Answers that are no stream stay as they are."""
        if answer.events is None:
            return answer
        edited = [{**event, "delta": self.sent} if event.get("delta") == self.was else event for event in answer.events]
        return answer._replace(events=edited)
