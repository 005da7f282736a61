"""A thread of the Assistants API, and how the events of its runs change it.

An event is `{"event": "thread.run.created", "data": {…}}`. A stream sends it; a polled run applies it in a later step.
The stored state is thus always what a client would have assembled from a stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.core.exchange import Json

ACTIVE_STATUSES = ("queued", "in_progress", "requires_action", "cancelling")
"""The statuses of a run during which its thread is locked."""
RUN_START_EVENT = "thread.run.in_progress"
DONE_EVENT: Json = {"event": "done", "data": "[DONE]"}
"""The last event of every stream."""


def make_event(name: str, data: Json) -> Json:
    """Make an event, with its name next to the object instead of in it."""
    return {"event": name, "data": data}


def merge_delta(value: Any, delta: Any) -> Any:
    """Return a value with a delta merged: strings are joined, elements of lists are matched by their `index`."""
    if isinstance(delta, dict):
        known = value if isinstance(value, dict) else {}
        return known | {
            name: part if name == "type" else merge_delta(known.get(name), part)
            for name, part in delta.items()
            if name != "index"
        }
    if isinstance(delta, list):
        merged = list(value or ())
        for part in delta:
            at = part.get("index", len(merged))
            merged[at : at + 1] = [merge_delta(merged[at] if at < len(merged) else None, part)]
        return merged
    return value + delta if isinstance(value, str) and isinstance(delta, str) else delta


def apply_delta(entry: Json, delta: Json) -> Json:
    """Apply a delta to a message or a step."""
    merged: Json = merge_delta(entry, delta["delta"])
    return merged


@dataclass(slots=True)
class Thread:
    """A stored thread: its object; its messages, runs and steps by id, oldest first.

    `pending_events` holds the events of active runs that are yet to be applied, by run id.

    The states of a run:

        queued -> in_progress -> completed, incomplete or failed, as its turn ends
        in_progress -> requires_action -> queued, when the client submits what the run waits for
        queued, in_progress, requires_action -> cancelling -> cancelled
        an active state -> expired, when the run's time is over
    """

    object: Json
    messages: dict[str, Json] = field(default_factory=dict)
    runs: dict[str, Json] = field(default_factory=dict)
    steps: dict[str, Json] = field(default_factory=dict)
    pending_events: dict[str, list[Json]] = field(default_factory=dict)

    @property
    def active_run(self) -> Json | None:
        """The run that is active or waits for the client, if any."""
        return next((run for run in reversed(self.runs.values()) if run["status"] in ACTIVE_STATUSES), None)

    def steps_of(self, run_id: str) -> list[Json]:
        """Return the steps of a run, oldest first."""
        return [step for step in self.steps.values() if step["run_id"] == run_id]

    def apply_events(self, events: Iterable[Json]) -> None:
        """Apply events to the thread."""
        for event in events:
            data = event["data"]
            kind, delta, _ = data["object"].partition(".delta")
            if kind == "thread":
                self.object = data
                continue
            table = {"thread.run": self.runs, "thread.run.step": self.steps, "thread.message": self.messages}[kind]
            table[data["id"]] = apply_delta(table[data["id"]], data) if delta else data

    def start_run(self, run_id: str, events: Sequence[Json], *, at_once: bool) -> Json:
        """Start a run, or with `at_once` play it to its end; returns the run."""
        names = [event["event"] for event in events]
        start = len(events) if at_once else names.index(RUN_START_EVENT)
        self.apply_events(events[:start])
        if not at_once:
            self.pending_events[run_id] = list(events[start:])
        return self.runs[run_id]

    def advance_run(self, run_id: str) -> Json:
        """Advance an active run by one step: it starts, then it ends or waits for the client."""
        events = self.pending_events.pop(run_id)
        if events[0]["event"] == RUN_START_EVENT and len(events) > 1:
            self.pending_events[run_id] = events[1:]
            events = events[:1]
        self.apply_events(events)
        return self.runs[run_id]

    def cancel_run(self, run_id: str, now: int) -> Json:
        """Set a run to `cancelling`, unless it is already or has ended; its next step cancels it."""
        if self.runs[run_id]["status"] not in ("queued", "in_progress", "requires_action"):
            return self.runs[run_id]
        run = {**self.runs[run_id], "status": "cancelling", "required_action": None}
        self.runs[run_id] = run
        ended = {**run, "status": "cancelled", "cancelled_at": now, "expires_at": None}
        steps = [
            make_event(
                "thread.run.step.cancelled", {**step, "status": "cancelled", "cancelled_at": now, "expires_at": None}
            )
            for step in self.steps_of(run_id)
            if step["status"] == "in_progress"
        ]
        self.pending_events[run_id] = [*steps, make_event("thread.run.cancelled", ended)]
        return run

    def expire_run(self, now: int) -> None:
        """Expire the active run if its time is over; `now` is unix seconds."""
        run = self.active_run
        if run and run["expires_at"] is not None and run["expires_at"] <= now:
            self.pending_events.pop(run["id"], None)
            self.runs[run["id"]] = {**run, "status": "expired", "required_action": None}
            for step in self.steps_of(run["id"]):
                if step["status"] == "in_progress":
                    self.steps[step["id"]] = {**step, "status": "expired", "expired_at": now}
