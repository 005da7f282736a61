"""A script whose turns get the steps of a variation when they are taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.examine.explore.other_deltas import OtherDeltas
from harness.examine.explore.variations import Step
from harness.faults import Refusal, ScriptedRefusal, ends_early
from harness.world.script import Script, Taken


class VariedScript(Script):
    """The turns of a script, each with the faults of the steps for its answer.

    A refused request has taken no turn, and one that is sent again after its answer broke off gets the same turn whole.
    """

    __slots__ = ("_broken_off", "_given", "_steps")

    def __init__(self, script: Script, steps: Sequence[Step]) -> None:
        super().__init__(script.fallback, vocabulary=script.vocabulary, pace=script.pace)
        self._steps = list(steps)
        self._given = 0
        self._broken_off: tuple[object, Taken] | None = None

    def next(self, call: Any) -> Taken:
        """Take the next turn, with the faults that are due."""
        if self._broken_off and self._broken_off[0] == call.request.body:
            (_, taken), self._broken_off = self._broken_off, None
            return taken
        due = [step for step in self._steps if step.answer == self._given + 1]
        for step in due:
            if isinstance(step.fault, Refusal):
                self._steps.remove(step)
                raise ScriptedRefusal(step.fault)
        self._steps = [step for step in self._steps if step not in due]
        taken = super().next(call)
        self._given += 1
        varied = list(taken.lines)
        for step in due:
            varied = step.fault.apply(varied) if isinstance(step.fault, OtherDeltas) else [*varied, step.fault]
        if ends_early(varied) and not ends_early(taken.lines):
            self._broken_off = call.request.body, taken
        return taken._replace(lines=varied)
