"""Judges a recorded stream: each event by its schema, then all of them as the stream of one response or run."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from harness.answers.reader import StreamError
from harness.answers.recorded_stream import read_recorded
from harness.api.http.bodies import NO_EVENT_LINE
from harness.api.resources.assistants import apply_delta
from harness.cassettes.format.recorded import Recorded
from harness.contract.check import check_answer
from harness.contract.dialect_body import read_answer_by_schema
from harness.contract.ordered_validator import find_unknown_members, has_only_known
from harness.contract.schema import RESPONSE_EVENT_SCHEMA
from harness.core.dates import CONTRACT_DATE
from harness.core.exchange import Finding, Json
from harness.core.json_values import as_object
from harness.core.text import show

INCOMPLETE_FLAGS = frozenset({"cut", "sequence_gaps", "unread-answer"})
"""Flags of recordings whose stream is incomplete."""
NUMBERED_SINCE = "2025-05-31"
"""The day of the first recorded stream with a `sequence_number` in its events; older ones have none."""


class StreamJudgment(NamedTuple):
    """The findings about a stream, and the members in it that no schema has; places begin with `events[n]`."""

    findings: list[Finding]
    drift: list[Finding]


def judge_response_stream(
    recorded: Recorded, before: Sequence[Json] | None = None, as_of: str = CONTRACT_DATE
) -> StreamJudgment:
    """Judge the stream of an exchange by the contract of a day; `before` are the events of the stream it resumes."""
    events, judgment = recorded.events or [], judge_events(recorded, RESPONSE_EVENT_SCHEMA, as_of)
    if judgment.findings or not is_complete_stream(recorded):
        return judgment
    missed = _find_missed_events(recorded, before or ())
    if missed is None:
        return StreamJudgment(_find_misnumbered(events), judgment.drift)
    return _judge_as_response(events, missed, judgment.drift, numbered=as_of >= NUMBERED_SINCE)


def judge_events(recorded: Recorded, root: str, as_of: str) -> StreamJudgment:
    """Judge each event by the schema `root` of a day, and the lines around the events."""
    read = (read_answer_by_schema(event, recorded.provider) for event in recorded.events or ())
    events = [(index, event) for index, event in enumerate(read) if not has_only_known(root, event, as_of)]
    # A transcript, made for other readers, may leave out the names of events.
    is_named = "transcribed" not in recorded.flags
    findings = [finding for finding in recorded.misframed if is_named or finding.message != NO_EVENT_LINE]
    drift = list[Finding]()
    for index, event in events:
        if found := check_answer(root, event, as_of):
            findings.append(_prefix_event_index(index, found))
        drift += [_prefix_event_index(index, member) for member in find_unknown_members(root, event, as_of)]
    return StreamJudgment(findings, drift)


def is_complete_stream(recorded: Recorded) -> bool:
    """Return whether a recording has all events of a stream."""
    return bool(recorded.events) and INCOMPLETE_FLAGS.isdisjoint(recorded.flags)


def _prefix_event_index(index: int, found: Finding) -> Finding:
    return found._replace(at=f"events[{index}].{found.at}" if found.at else f"events[{index}]")


def _find_missed_events(recorded: Recorded, before: Sequence[Json]) -> list[Json] | None:
    """Find the events that a resumed stream omits; None if the recording does not have them."""
    last = recorded.query.get("starting_after")
    if not isinstance(last, str) or not last.isdecimal():
        return []
    missed = before[: int(last) + 1] if len(last) < 10 else ()
    numbers = [as_object(event).get("sequence_number") for event in missed]
    return [*missed] if missed and numbers == list(range(len(missed))) and len(missed) > int(last) else None


def _find_misnumbered(events: Sequence[Json]) -> list[Finding]:
    """Find the events of a resumed stream whose `sequence_number` is not the previous one plus 1."""
    numbers = [event.get("sequence_number") for event in events]
    first = numbers[0] if isinstance(numbers[0], int) else 0
    return [
        Finding(f"events[{index}].sequence_number", f"sequence_number is {show(number)}, expected {first + index}")
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


RUN_EVENT_SCHEMA = "AssistantStreamEvent"
FIRST_EVENTS = ("thread.created", "thread.run.created", "error")
"""Events with which the stream of a new run may begin; a continued run begins with its calls."""
LAST_EVENTS = tuple(
    f"thread.run.{status}"
    for status in ("completed", "incomplete", "failed", "cancelling", "cancelled", "expired", "requires_action")
)
"""Events with which the stream of a run may end, besides an error."""


def judge_run_stream(recorded: Recorded, as_of: str = CONTRACT_DATE) -> StreamJudgment:
    """Judge the stream of a run by the contract of a day; its events are `{"event", "data"}`."""
    events, judgment = recorded.events or [], judge_events(recorded, RUN_EVENT_SCHEMA, as_of)
    if judgment.findings or not is_complete_stream(recorded):
        return judgment
    continues = recorded.path.endswith("/submit_tool_outputs")
    ends = _check_ends(events, continues, "done-marker" in recorded.flags)
    return StreamJudgment([*ends, *_check_deltas(events)], judgment.drift)


def _check_ends(events: Sequence[Json], continues: bool, done: bool) -> Iterator[Finding]:
    """Check that a stream begins and ends with valid events and concerns a single run."""
    first, last = events[0]["event"], events[-1]["event"]
    if not continues and first not in FIRST_EVENTS:
        yield Finding("events[0]", f"a stream does not begin with {first}")
    if last not in (*LAST_EVENTS, "error"):
        yield Finding(f"events[{len(events) - 1}]", f"a stream does not end with {last}")
    if not done:
        yield Finding(f"events[{len(events) - 1}]", "expected done after it")
    runs = {event["data"]["id"] for event in events if event["data"].get("object") == "thread.run"}
    if len(runs) > 1:
        yield Finding("events", f"it has events of {len(runs)} runs")


def _check_deltas(events: Sequence[Json]) -> Iterator[Finding]:
    """Check that the deltas of messages and steps add up to the completed objects."""
    known: dict[str, Json] = {}
    for index, event in enumerate(events):
        data, kind = event["data"], event["event"].rpartition(".")[2]
        id = data.get("id", "")
        if kind == "delta":
            if id not in known:
                yield Finding(f"events[{index}].data.id", f"{id} was not created before its delta")
            known[id] = apply_delta(known.get(id, {}), data)
        elif kind == "created":
            known.setdefault(id, data)
        elif kind == "completed" and id in known and (wrong := list(_find_differing_texts(known[id], data))):
            yield Finding(f"events[{index}].data.{wrong[0]}", "its deltas add up to another text")


def _find_differing_texts(accumulated: Json, completed: Json) -> Iterator[str]:
    for number, (joined, whole) in enumerate(zip(_content_texts(accumulated), _content_texts(completed), strict=False)):
        if joined != whole:
            yield f"content[{number}]"
    if len(_content_texts(accumulated)) != len(_content_texts(completed)):
        yield "content"
    for number, (joined, whole) in enumerate(zip(_call_texts(accumulated), _call_texts(completed), strict=False)):
        if joined and joined != whole:
            yield f"step_details.tool_calls[{number}]"


def _content_texts(message: Json) -> list[Any]:
    return [(part.get("text") or {}).get("value") or part.get("refusal") or "" for part in message.get("content") or ()]


def _call_texts(step: Json) -> list[Any]:
    """List the arguments or the input of each call of a step."""
    calls = (step.get("step_details") or {}).get("tool_calls") or ()
    inner = [call.get(call.get("type", "")) or {} for call in calls]
    return [call.get("arguments", call.get("input")) for call in inner]
