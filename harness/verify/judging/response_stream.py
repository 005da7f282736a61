"""A recorded stream judged: each event by its schema, then all of them as the stream of one response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from harness.answers.reader import StreamError
from harness.answers.stream import read_recorded
from harness.api.http.decoding import NO_EVENT_LINE
from harness.cassettes.format.recorded import Recorded
from harness.contract.check import check_answer
from harness.contract.dialect_body import read_answer_by_schema
from harness.contract.schema import RESPONSE_EVENT_SCHEMA
from harness.contract.unknown_members import find_unknown_members, has_only_known
from harness.core.dates import CONTRACT_DATE
from harness.core.exchange import Finding, Json

INCOMPLETE_FLAGS = frozenset({"cut", "sequence_gaps", "unread-answer"})
"""Flags of recordings whose stream is not complete."""
NUMBERED_SINCE = "2025-05-31"
"""The day of the first recorded stream with a `sequence_number` in its events; older ones have none."""


class StreamJudgment(NamedTuple):
    """The findings about a stream, and the members in it that no schema knows; places begin with `events[n]`."""

    findings: list[Finding]
    drift: list[Finding]


def judge_response_stream(
    recorded: Recorded, before: Sequence[Json] | None = None, as_of: str = CONTRACT_DATE
) -> StreamJudgment:
    """Judge the stream of an exchange by the contract of a day; `before` are the events of the one that it resumes."""
    events, judgment = recorded.events or [], judge_events(recorded, RESPONSE_EVENT_SCHEMA, as_of)
    if judgment.findings or not is_complete_stream(recorded):
        return judgment
    missed = _find_missed_events(recorded, before or ())
    if missed is None:
        return StreamJudgment(_find_misnumbered(events), judgment.drift)
    return _judge_as_response(events, missed, judgment.drift, numbered=as_of >= NUMBERED_SINCE)


def judge_events(recorded: Recorded, root: str, as_of: str) -> StreamJudgment:
    """Judge each event by the schema `root` of a day, and the lines that it came in."""
    read = (read_answer_by_schema(event, recorded.provider) for event in recorded.events or ())
    events = [(index, event) for index, event in enumerate(read) if not has_only_known(root, event, as_of)]
    return StreamJudgment(
        [
            *_find_misframed(recorded),
            *(
                _prefix_event_index(index, found)
                for index, event in events
                if (found := check_answer(root, event, as_of))
            ),
        ],
        [
            _prefix_event_index(index, member)
            for index, event in events
            for member in find_unknown_members(root, event, as_of)
        ],
    )


def _find_misframed(recorded: Recorded) -> Iterator[Finding]:
    """Find what is wrong with the lines around the events; a transcript for other readers may leave out the names."""
    named = "transcribed" not in recorded.flags
    yield from (finding for finding in recorded.misframed if named or finding.message != NO_EVENT_LINE)


def is_complete_stream(recorded: Recorded) -> bool:
    """Tell whether a recording holds all events of a stream."""
    return bool(recorded.events) and INCOMPLETE_FLAGS.isdisjoint(recorded.flags)


def _prefix_event_index(index: int, found: Finding) -> Finding:
    return found._replace(at=f"events[{index}].{found.at}" if found.at else f"events[{index}]")


def _find_missed_events(recorded: Recorded, before: Sequence[Json]) -> list[Json] | None:
    """Find the events that a resumed stream omits; None when the recording does not hold all of them."""
    last = recorded.query.get("starting_after")
    if not isinstance(last, str) or not last.isdecimal():
        return []
    missed = before[: int(last) + 1] if len(last) < 10 else ()
    numbers = [event.get("sequence_number") if isinstance(event, dict) else None for event in missed]
    return [*missed] if missed and numbers == list(range(len(missed))) and len(missed) > int(last) else None


def _find_misnumbered(events: Sequence[Json]) -> list[Finding]:
    """Find the events of a resumed stream whose `sequence_number` does not follow that of the event before."""
    numbers = [event.get("sequence_number") for event in events]
    first = numbers[0] if isinstance(numbers[0], int) else 0
    return [
        Finding(f"events[{index}].sequence_number", f"sequence_number is {number!r}, expected {first + index}")
        for index, number in enumerate(numbers)
        if number != first + index
    ]


def _judge_as_response(
    events: list[Json], missed: list[Json], unknown: list[Finding], *, numbered: bool
) -> StreamJudgment:
    try:
        _, found = read_recorded([*missed, *events])
    except StreamError as problem:
        at = max(0, problem.index - len(missed))
        return StreamJudgment([Finding(f"events[{at}]", str(problem).partition(": ")[2])], unknown)
    wrong = [finding for finding in found if finding.rule == "unnumbered" and numbered]
    return StreamJudgment(wrong, unknown + [finding for finding in found if finding not in wrong])
