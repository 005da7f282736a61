"""The objects of the Assistants API, with all members of recorded ones (2025-09 to 2026-03) and their defaults.

`as_responses_body` converts a run to a request to `POST /responses`, so that one script drives both. The events of runs
change a `Thread`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.core.exchange import Json
from harness.core.ids import Ids
from harness.core.json_values import as_object, omit, without_nulls

RUN_LIFETIME = 600
"""Seconds after which a run that waits for the client expires."""
COMPUTER_USE = "computer_use_preview"
"""The tool with which a classic agent of Foundry acts on the client's screen."""
DEFAULT_RANKING: Json = {"ranker": "default_2024_08_21", "score_threshold": 0.0}
THREAD_STORE_EXPIRY: Json = {"expires_after": {"anchor": "last_active_at", "days": 7}}
"""The expiration of a vector store created with a thread, according to OpenAI's guide to file search."""

StoreMaker = Callable[[Sequence[str], Json], str]
"""Creates a vector store from file ids and members of `POST /vector_stores`; returns its id."""


def update_from_body(body: Json, current: Json) -> Json:
    """Return `current` with the members that a body sets; null is ignored unless the current value is null."""
    members = {name: _echo_value(name, value) for name, value in body.items() if name in current}
    return current | {name: value for name, value in members.items() if value is not None or current[name] is None}


def _echo_value(name: str, value: Any) -> Any:
    if value is not None and name in ("tools", "metadata"):
        return [with_tool_defaults(tool) for tool in value] if name == "tools" else keep_metadata(value)
    return value


def keep_metadata(metadata: Json | None) -> Json:
    """Return metadata as stored: values that are not strings become strings, `True` (recorded 2023-11 to 2024-04)."""
    return {name: str(value) for name, value in (metadata or {}).items()}


def with_tool_defaults(tool: Json) -> Json:
    """Add the defaults of absent members to a tool, as the API shows it."""
    if tool["type"] == "function":
        return {**tool, "function": {**tool["function"], "strict": tool["function"].get("strict") or False}}
    if tool["type"] == "file_search":
        own = tool.get("file_search") or {}
        ranking = {**DEFAULT_RANKING, "hybrid_search": None, **(own.get("ranking_options") or {})}
        return {**tool, "file_search": {**own, "ranking_options": ranking}}
    return tool


def new_assistant(body: Json, ids: Ids, now: int, make_store: StoreMaker) -> Json:
    """Make a new assistant; `now` is unix seconds."""
    blank: Json = {
        "id": ids.alphanumeric("asst_"),
        "object": "assistant",
        "created_at": now,
        "name": None,
        "description": None,
        "model": "",
        "instructions": None,
        "tools": [],
        "top_p": 1.0,
        "temperature": 1.0,
        "reasoning_effort": None,
        "tool_resources": {},
        "metadata": {},
        "response_format": "auto",
    }
    assistant = update_from_body(body, blank)
    code: Json = {"code_interpreter": {"file_ids": []}} if {"type": "code_interpreter"} in assistant["tools"] else {}
    return {**assistant, "tool_resources": code | make_tool_resources(body, make_store)}


def make_tool_resources(body: Json, make_store: StoreMaker, **expiry: Json) -> Json:
    """Make the `tool_resources` of a new object: requested vector stores are created and named by id.

    `expiry` is their `expires_after`, if any.
    """
    resources: Json = body.get("tool_resources") or {}
    if not (new := requested_stores(body)):
        return resources
    store_ids = [make_store(store.get("file_ids", ()), {**omit(store, "file_ids"), **expiry}) for store in new]
    known = omit(resources["file_search"], "vector_stores")
    return {**resources, "file_search": {**known, "vector_store_ids": [*known.get("vector_store_ids", ()), *store_ids]}}


def requested_stores(body: Json) -> Sequence[Json]:
    """Return the vector stores to be created with an assistant or a thread."""
    search = (body.get("tool_resources") or {}).get("file_search") or {}
    stores: Sequence[Json] = search.get("vector_stores") or ()
    return stores


def new_thread(body: Json, ids: Ids, now: int, make_store: StoreMaker) -> Json:
    """Make a new thread, without its messages."""
    head = {"id": ids.alphanumeric("thread_"), "object": "thread", "created_at": now}
    return {
        **head,
        "metadata": keep_metadata(body.get("metadata")),
        "tool_resources": make_tool_resources(body, make_store, **THREAD_STORE_EXPIRY),
    }


def new_message(body: Json, thread_id: str, ids: Ids, now: int) -> Json:
    """Make a new message of the client."""
    content = body["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {
        "id": ids.message(),
        "object": "thread.message",
        "created_at": now,
        "assistant_id": None,
        "thread_id": thread_id,
        "run_id": None,
        "role": body["role"],
        "content": [_content_part(part) for part in parts],
        "attachments": body.get("attachments") or [],
        "metadata": keep_metadata(body.get("metadata")),
    }


def _content_part(part: Json) -> Json:
    if part["type"] == "text":
        return {"type": "text", "text": {"value": part["text"], "annotations": []}}
    return {"type": part["type"], part["type"]: {"detail": "auto", **part[part["type"]]}}


def new_run(body: Json, assistant: Json, thread_id: str, ids: Ids, now: int) -> Json:
    """Make a new queued run."""
    blank: Json = {
        "id": ids.alphanumeric("run_"),
        "object": "thread.run",
        "created_at": now,
        "assistant_id": assistant["id"],
        "thread_id": thread_id,
        "status": "queued",
        "started_at": None,
        "expires_at": now + RUN_LIFETIME,
        **dict.fromkeys(("cancelled_at", "failed_at", "completed_at", "required_action", "last_error")),
        **{name: assistant[name] for name in ("model", "instructions", "tools")},
        "tool_resources": assistant["tool_resources"],
        "metadata": {},
        **{name: assistant[name] for name in ("temperature", "top_p", "reasoning_effort")},
        **dict.fromkeys(("max_completion_tokens", "max_prompt_tokens")),
        "truncation_strategy": {"type": "auto", "last_messages": None},
        **dict.fromkeys(("incomplete_details", "usage")),
        "response_format": assistant["response_format"],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
    }
    run = update_from_body(without_nulls(body), blank)
    if more := body.get("additional_instructions"):
        run["instructions"] = f"{run['instructions']}\n{more}" if run["instructions"] else more
    run["truncation_strategy"] = {**blank["truncation_strategy"], **run["truncation_strategy"]}
    return run


def as_responses_body(run: Json, assistant: Json, messages: Iterable[Json], steps: Iterable[Json]) -> Json:
    """Return the input of a run's model, as the body of a request to `POST /responses`.

    `steps` holds those of this run so far, which are its calls with their outputs. Routes match the assistant's name as
    `agent`.
    """
    return {
        "model": run["model"],
        "instructions": run["instructions"],
        "tools": [{"type": "function", **tool["function"]} if "function" in tool else tool for tool in run["tools"]],
        "tool_choice": _convert_tool_choice(run["tool_choice"]),
        "parallel_tool_calls": run["parallel_tool_calls"],
        "text": {"format": _convert_format(run["response_format"])},
        "metadata": run["metadata"],
        "agent": {"name": assistant["name"] or ""},
        "input": [*map(_as_input_message, messages), *(item for step in steps for item in _call_items(step))],
    }


def _convert_tool_choice(choice: Any) -> Any:
    return {"type": "function", **choice["function"]} if isinstance(choice, dict) and "function" in choice else choice


def _convert_format(format: Any) -> Json:
    if not isinstance(format, dict):
        return {"type": "text"}
    return {"type": "json_schema", **format["json_schema"]} if format["type"] == "json_schema" else format


_PART_CONVERTERS: dict[str, Callable[[Json], Json]] = {
    "text": lambda part: {"type": "input_text", "text": part["text"]["value"]},
    "refusal": lambda part: {"type": "refusal", "refusal": part["refusal"]},
    "image_url": lambda part: {"type": "input_image", "image_url": part["image_url"]["url"]},
    "image_file": lambda part: {"type": "input_image", "file_id": part["image_file"]["file_id"]},
}


def _as_input_message(message: Json) -> Json:
    parts = [_PART_CONVERTERS[part["type"]](part) for part in message["content"]]
    if message["role"] == "assistant":
        parts = [{**part, "type": "output_text"} if part["type"] == "input_text" else part for part in parts]
    return {"type": "message", "role": message["role"], "content": parts}


def _call_items(step: Json) -> Iterator[Json]:
    for call in step["step_details"].get("tool_calls") or ():
        if call["type"] == "function":
            yield {"type": "function_call", "call_id": call["id"], **_name_and_arguments(call["function"])}
            yield {"type": "function_call_output", "call_id": call["id"], "output": call["function"]["output"] or ""}
        elif call["type"] == COMPUTER_USE and (output := call[COMPUTER_USE]["output"]):
            yield {"type": "computer_call", "call_id": call["id"], "action": call[COMPUTER_USE]["action"]}
            yield {"type": "computer_call_output", "call_id": call["id"], "output": output}
        elif call["type"] == "mcp" and step["status"] == "completed":
            named = {name: call[name] for name in ("server_label", "name", "arguments")}
            yield {"type": "mcp_call", "id": call["id"], **named, "output": call.get("output")}


def _name_and_arguments(function: Json) -> Json:
    return {name: function[name] for name in ("name", "arguments")}


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
        known = as_object(value)
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
        """Set a run that has not ended to `cancelling`; the next step cancels it."""
        if self.runs[run_id]["status"] == "cancelling":
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
