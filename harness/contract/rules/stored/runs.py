"""What a run that is under way does not allow, and what it asks for before it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.contract.rule import Case, World, after, assumed, recorded, reported, rule
from harness.contract.rules.stored.threads import ASSISTANT, GREETED, HI, MADE, RUBY, RUN, STARTED, SUBMIT
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request
from harness.items import function_call, mcp_approval_request

OPENAI_PYTHON = "https://github.com/openai/openai-python/issues/1023"
ON_THREAD = RUN[1]
PATH = "/threads/{1.id}/runs/{2.id}"
READ = Case(on=f"GET {PATH}")
CALLS = ([function_call("f", {}, call_id="call_a"), function_call("g", {}, call_id="call_b")],)
ASKED = ([mcp_approval_request("s", "f")],)
MUTE = Case({"model": "gpt-4o"}, on="POST /assistants")


def _outputs(*ids: str) -> Case:
    outputs = [{"tool_call_id": id, "output": "ok"} for id in ids]
    return Case({"tool_outputs": outputs}, on=f"POST {PATH}/submit_tool_outputs")


@rule(
    on="POST /threads/{thread_id}/messages",
    error=ApiError(400, "Can't add messages to {thread} while a run {run} is active."),
    source=reported(OPENAI_PYTHON),
    rejects={
        "Can't add messages to {1.id} while a run {2.id} is active.": after(
            ASSISTANT, GREETED, STARTED, Case(HI, on="POST /threads/{1.id}/messages")
        )
    },
    accepts=[after(ASSISTANT, GREETED, STARTED, READ, READ, Case(HI, on="POST /threads/{1.id}/messages"))],
    fix="Wait until the run has ended, answer what it asks for, or cancel it and wait.",
)
def message_while_active(request: Request, world: World) -> Iterator[Json]:
    """A thread takes no messages while a run on it is under way or waits for the client."""
    thread = request.params["thread_id"]
    if run := world.threads[thread].active_run:
        yield {"thread": thread, "run": run["id"]}


@rule(
    on=ON_THREAD,
    error=ApiError(400, "Thread {thread} already has an active run {run}."),
    source=reported("public reports of several origins"),
    rejects={
        "Thread {1.id} already has an active run {2.id}.": after(ASSISTANT, GREETED, STARTED, STARTED),
    },
    accepts=[after(ASSISTANT, GREETED, STARTED, READ, READ, STARTED)],
    fix="One run a thread at a time: wait until it has ended, or cancel it and wait.",
)
def run_while_active(request: Request, world: World) -> Iterator[Json]:
    """A thread has one run at a time."""
    thread = request.params["thread_id"]
    if run := world.threads[thread].active_run:
        yield {"thread": thread, "run": run["id"]}


@rule(
    on=RUN,
    error=ApiError(
        400,
        "Run creation requires a Thread with a user message or an assistant with instructions.",
        code="invalid_thread",
    ),
    source=recorded(f"{RUBY}, an older one"),
    rejects={
        "Run creation requires a Thread with a user message or an assistant with instructions.": after(
            MUTE, MADE, STARTED
        )
    },
    accepts=[
        after(ASSISTANT, MADE, STARTED),
        after(MUTE, GREETED, STARTED),
        after(
            MUTE, MADE, Case({"assistant_id": "{0.id}", "additional_messages": [HI]}, on="POST /threads/{1.id}/runs")
        ),
        after(MUTE, MADE, Case({"assistant_id": "{0.id}", "instructions": "Go."}, on="POST /threads/{1.id}/runs")),
    ],
    fix="Add a message to the thread first, or give the assistant instructions.",
)
def run_without_input(request: Request, world: World) -> Iterator[Json]:
    """A model needs something to read: a message of the thread, or instructions."""
    body = request.body
    thread = world.threads[request.params["thread_id"]].messages if request.params else None
    added = body.get("additional_messages") or (body.get("thread") or {}).get("messages")
    told = body.get("instructions") or body.get("additional_instructions")
    if not (thread or added or told or world.assistants[body["assistant_id"]]["instructions"]):
        yield {}


def _run(request: Request, world: World) -> Any:
    return world.threads[request.params["thread_id"]].runs[request.params["run_id"]]


@rule(
    on=SUBMIT,
    error=ApiError(400, 'Runs in status "{status}" do not accept tool outputs.'),
    source=recorded(RUBY),
    rejects={
        'Runs in status "in_progress" do not accept tool outputs.': after(
            ASSISTANT, GREETED, STARTED, READ, _outputs("call_a")
        ),
        'Runs in status "expired" do not accept tool outputs.': after(
            ASSISTANT, GREETED, STARTED, READ, READ, Case(on=READ.on, skip=601), _outputs("call_a"), turns=CALLS
        ),
    },
    accepts=[after(ASSISTANT, GREETED, STARTED, READ, READ, _outputs("call_a", "call_b"), turns=CALLS)],
    fix="Poll until the run is `requires_action`, and answer within ten minutes.",
)
def outputs_not_expected(request: Request, world: World) -> Iterator[Json]:
    """Only a run that requires an action takes the outputs for it."""
    status = _run(request, world)["status"]
    if status != "requires_action":
        yield {"status": status}


@rule(
    on=SUBMIT,
    error=ApiError(400, "Expected tool {what} for call_ids {expected}, got {got}"),
    source=[reported("public report with the whole body"), assumed("that approvals are missed in the same words")],
    rejects={
        "Expected tool outputs for call_ids ['call_a', 'call_b'], got ['call_a']": after(
            ASSISTANT, GREETED, STARTED, READ, READ, _outputs("call_a"), turns=CALLS
        ),
        "Expected tool outputs for call_ids ['call_a', 'call_b'], got []": after(
            ASSISTANT, GREETED, STARTED, READ, READ, _outputs(), turns=CALLS
        ),
        "Expected tool approvals for call_ids ['{4.required_action.submit_tool_approval.tool_calls.0.id}'], got []": after(
            ASSISTANT,
            GREETED,
            STARTED,
            READ,
            READ,
            Case({"tool_approvals": []}, on=f"POST !/api/projects/p{PATH}/submit_tool_outputs?api-version=v1"),
            turns=ASKED,
        ),
    },
    accepts=[after(ASSISTANT, GREETED, STARTED, READ, READ, _outputs("call_b", "call_a"), turns=CALLS)],
    fix="Answer every call of `required_action` in one request.",
)
def outputs_missing(request: Request, world: World) -> Iterator[Json]:
    """Every call that a run waits for is answered at once, and no other; the ids are printed as Python prints a list."""
    action = _run(request, world)["required_action"]
    what = "outputs" if action["type"] == "submit_tool_outputs" else "approvals"
    expected = [call["id"] for call in action[action["type"]]["tool_calls"]]
    got = [each.get("tool_call_id") for each in request.body.get(f"tool_{what}") or ()]
    if sorted(expected) != sorted(map(str, got)):
        yield {"what": what, "expected": expected, "got": got}


@rule(
    on="POST /threads/{thread_id}/runs/{run_id}",
    error=ApiError(400, "Cannot update run with status '{status}'."),
    source=[
        recorded(f"{RUBY}: in_progress"),
        assumed("that a run is as fixed before it starts and while it is cancelled"),
    ],
    rejects={
        "Cannot update run with status 'queued'.": after(
            ASSISTANT, GREETED, STARTED, Case({"metadata": {"a": "b"}}, on=f"POST {PATH}")
        ),
        "Cannot update run with status 'in_progress'.": after(
            ASSISTANT, GREETED, STARTED, READ, Case({"metadata": {"a": "b"}}, on=f"POST {PATH}")
        ),
    },
    accepts=[after(ASSISTANT, GREETED, STARTED, READ, READ, Case({"metadata": {"a": "b"}}, on=f"POST {PATH}"))],
    fix="Give the metadata when the run is made, or wait until it has ended.",
)
def update_active_run(request: Request, world: World) -> Iterator[Json]:
    """A run that is under way cannot be changed."""
    status = _run(request, world)["status"]
    if status in ("queued", "in_progress", "cancelling"):
        yield {"status": status}


@rule(
    on="POST /threads/{thread_id}/runs/{run_id}/cancel",
    error=ApiError(400, "Cannot cancel run with status '{status}'."),
    source=assumed("that it is said as of an update"),
    rejects={
        "Cannot cancel run with status 'completed'.": after(
            ASSISTANT, GREETED, STARTED, READ, READ, Case(on=f"POST {PATH}/cancel")
        ),
        "Cannot cancel run with status 'cancelling'.": after(
            ASSISTANT, GREETED, STARTED, Case(on=f"POST {PATH}/cancel"), Case(on=f"POST {PATH}/cancel")
        ),
    },
    accepts=[after(ASSISTANT, GREETED, STARTED, READ, Case(on=f"POST {PATH}/cancel"))],
    fix="Look at the status first.",
)
def cancel_ended_run(request: Request, world: World) -> Iterator[Json]:
    """A run that has ended, or is being cancelled, cannot be cancelled."""
    status = _run(request, world)["status"]
    if status not in ("queued", "in_progress", "requires_action"):
        yield {"status": status}
