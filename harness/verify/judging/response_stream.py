"""What is wrong with a recorded stream: each event by itself, then all of them as the telling of one response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.answers.reader import StreamError
from harness.answers.stream import read_recorded
from harness.cassettes.format.recorded import Recorded
from harness.contract.check import check_answer
from harness.contract.unknown_members import find_unknown_members
from harness.core.exchange import Finding, Json

EVENT = "ResponseStreamEvent"
BROKEN = frozenset({"cut", "sequence_gaps", "unread-answer"})
"""Flags of recordings that do not hold a whole stream."""
UNNUMBERED = 1_748_649_600
"""2025-05-31, unix seconds: the first recorded stream whose events have a `sequence_number`; older ones have none."""


class Heard(NamedTuple):
    """What a stream departs in, and what in it no schema knows; places begin with `events[n]`."""

    findings: list[Finding]
    drift: list[Finding]


def listen(recorded: Recorded, before: Sequence[Json] | None = None) -> Heard:
    """Judge the stream of an exchange; `before` is the stream that this one resumes."""
    events, heard = recorded.events or [], one_by_one(recorded, EVENT)
    if heard.findings or not is_whole(recorded):
        return heard
    missed = _missed(recorded, before or ())
    if missed is None:
        return Heard(_misnumbered(events), heard.drift)
    return _read(events, missed, heard.drift)


def one_by_one(recorded: Recorded, root: str) -> Heard:
    """Judge each event by itself, by the schema `root` of events."""
    events = list(enumerate(recorded.events or ()))
    findings = [_within(index, found) for index, event in events if (found := check_answer(root, event)) is not None]
    return Heard(
        findings, [_within(index, found) for index, event in events for found in find_unknown_members(root, event)]
    )


def is_whole(recorded: Recorded) -> bool:
    """Whether a recording holds a stream from its first event to its last."""
    return bool(recorded.events) and BROKEN.isdisjoint(recorded.flags)


def _within(index: int, found: Finding) -> Finding:
    return found._replace(at=f"events[{index}].{found.at}" if found.at else f"events[{index}]")


def _missed(recorded: Recorded, before: Sequence[Json]) -> list[Json] | None:
    """The events that a resumed stream leaves out; None when the recording does not hold them all."""
    asked = recorded.query.get("starting_after")
    if not isinstance(asked, str) or not asked.isdecimal():
        return []
    missed = [event for event in before if event["sequence_number"] <= int(asked)]
    return missed if len(missed) == int(asked) + 1 else None


def _misnumbered(events: Sequence[Json]) -> list[Finding]:
    """Where the numbers of a part of a stream do not rise by one."""
    numbers = [event.get("sequence_number") for event in events]
    first = numbers[0] if isinstance(numbers[0], int) else 0
    return [
        Finding(f"events[{index}].sequence_number", f"sequence_number is {number!r}, expected {first + index}")
        for index, number in enumerate(numbers)
        if number != first + index
    ]


def _read(events: list[Json], missed: list[Json], unknown: list[Finding]) -> Heard:
    try:
        _, found = read_recorded([*missed, *events])
    except StreamError as problem:
        at = max(0, problem.index - len(missed))
        return Heard([Finding(f"events[{at}]", str(problem).partition(": ")[2])], unknown)
    wrong = [each for each in found if each.rule == "unnumbered" and not _is_old(events[0])]
    return Heard(wrong, unknown + [each for each in found if each not in wrong])


def _is_old(created: Json) -> bool:
    response = created.get("response")
    made = response.get("created_at") if isinstance(response, dict) else None
    return isinstance(made, int | float) and made < UNNUMBERED
