"""A recorded stream of a run judged: each event by its schema, then all of them accumulated as clients do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from harness.api.resources.threads import apply_delta
from harness.cassettes.format.recorded import Recorded
from harness.core.dates import CONTRACT_DATE
from harness.core.exchange import Finding, Json
from harness.verify.judging.response_stream import StreamJudgment, is_complete_stream, judge_events

RUN_EVENT_SCHEMA = "AssistantStreamEvent"
FIRST_EVENTS = ("thread.created", "thread.run.created", "error")
"""Events with which the stream of a new run may begin; that of a continued run begins with its calls."""
LAST_EVENTS = tuple(
    f"thread.run.{status}"
    for status in ("completed", "incomplete", "failed", "cancelling", "cancelled", "expired", "requires_action")
)
"""Events with which a stream may end, besides an error."""


def judge_run_stream(recorded: Recorded, as_of: str = CONTRACT_DATE) -> StreamJudgment:
    """Judge the stream of a run by the contract of a day; its events are `{"event", "data"}`."""
    events, judgment = recorded.events or [], judge_events(recorded, RUN_EVENT_SCHEMA, as_of)
    if judgment.findings or not is_complete_stream(recorded):
        return judgment
    continues = recorded.path.endswith("/submit_tool_outputs")
    found = [
        *_check_start(events, continues),
        *_check_end(events, "done-marker" in recorded.flags),
        *_check_deltas(events),
    ]
    return StreamJudgment(found, judgment.drift)


def _check_start(events: Sequence[Json], continues: bool) -> Iterator[Finding]:
    if not continues and events[0]["event"] not in FIRST_EVENTS:
        yield Finding("events[0]", f"a stream does not begin with {events[0]['event']}")


def _check_end(events: Sequence[Json], done: bool) -> Iterator[Finding]:
    """Tell whether a stream ends as it may and concerns one run."""
    last = events[-1]["event"]
    if last not in (*LAST_EVENTS, "error"):
        yield Finding(f"events[{len(events) - 1}]", f"a stream does not end with {last}")
    if not done:
        yield Finding(f"events[{len(events) - 1}]", "expected done after it")
    runs = {event["data"]["id"] for event in events if event["data"].get("object") == "thread.run"}
    if len(runs) > 1:
        yield Finding("events", f"it tells of {len(runs)} runs")


def _check_deltas(events: Sequence[Json]) -> Iterator[Finding]:
    """Tell whether the deltas of messages and steps add up to the completed objects."""
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
            yield Finding(f"events[{index}].data.{wrong[0]}", "its deltas say something else")


def _find_differing_texts(accumulated: Json, completed: Json) -> Iterator[str]:
    """Find the places where accumulated deltas differ from the completed object."""
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
