"""Objects of the Assistants API must exist and be of the right kind; what an active run does not allow and requires."""

from collections.abc import Iterator
from typing import Any

from harness.api.http.dialects import OPENAI
from harness.contract.phrasing import invalid_id
from harness.contract.rule import Case, RuleScope, WorldView, after, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import (
    ADD_MESSAGE,
    CREATE_ASSISTANT,
    CREATE_GREETED_THREAD,
    CREATE_THREAD,
    HI,
    START_RUN,
    STARTED_RUN,
)
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request
from harness.items import function_call, mcp_approval_request

ID_PREFIXES = {"assistant_id": "asst", "thread_id": "thread", "message_id": "msg", "run_id": "run", "step_id": "step"}
RUN_CREATIONS = ("POST /threads/runs", "POST /threads/{thread_id}/runs")
CREATE_MESSAGE = "POST /threads/{thread_id}/messages"
SUBMIT_OUTPUTS = "POST /threads/{thread_id}/runs/{run_id}/submit_tool_outputs"
RUBY_CASSETTES = "alexrudall/ruby-openai spec/fixtures/cassettes"


@rule(
    invalid_id("{name}", "{prefix}"),
    reported("https://github.com/openai/openai-node/issues/1545: thread_id", "2025-06-14"),
    recorded(f"{RUBY_CASSETTES}: a step with id 123 was not found, with version 1", "2024-04-27"),
    assumed("that the ids of a path are checked alike and in order; that this came with version 2"),
    on=("* /assistants/{*", "* /threads/{*"),
    since="2024-05",
    rejects={
        ("thread_id", "undefined", "thread"): "GET /threads/undefined/runs/run_x",
        ("assistant_id", "abc", "asst"): "GET /assistants/abc",
        ("run_id", "thread_x", "run"): "GET /threads/thread_x/runs/thread_x",
    },
    fix="Pass the ids in the order of the path; some SDKs take `thread_id` by name.",
)
def path_ids(request: Request) -> Iterator[Json]:
    """Each id in a path must begin with the prefix of its kind."""
    for name, id in request.params.items():
        if name in ID_PREFIXES and not id.startswith(ID_PREFIXES[name]):
            yield {"name": name, "id": id, "prefix": ID_PREFIXES[name]}


@rule(
    ApiError(404, "No assistant found with id '{id}'."),
    reported("https://github.com/flows-network/openai-assistant-telegram/issues/1", "2023-11-21"),
    on=("*{assistant_id}*", *RUN_CREATIONS),
    rejects={
        "asst_x": "GET /assistants/asst_x",
        "asst_y": after(CREATE_THREAD, Case({"assistant_id": "asst_y"}, on="POST /threads/{0.id}/runs")),
        "asst_z": Case({"assistant_id": "asst_z"}, on="POST /threads/runs"),
    },
    accepts=[after(CREATE_ASSISTANT, "GET /assistants/{0.id}")],
    fix="Use the id the API gave to this key; a deleted assistant is gone.",
)
def assistant_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The assistant must belong to this key."""
    id = request.params.get("assistant_id") or request.body["assistant_id"]
    if id not in world.store.assistants:
        yield {"id": id}


@rule(
    ApiError(404, "No {kind} found with id '{id}'."),
    recorded(f"{RUBY_CASSETTES}: of a step"),
    reported("public tests of three clients with the whole error: of a thread", "2024"),
    assumed("that messages and runs have this error, too"),
    on="*{thread_id}*",
    rejects={
        ("thread", "thread_x"): "GET /threads/thread_x",
        ("thread", "thread_y"): Case(HI, on="POST /threads/thread_y/messages"),
        ("thread", "undefined"): Case(on="GET /threads/undefined", as_of="2024-04-27"),
        ("thread", "{0.id}"): after(CREATE_THREAD, "DELETE /threads/{0.id}", "GET /threads/{0.id}/messages"),
        ("message", "msg_x"): after(CREATE_THREAD, "GET /threads/{0.id}/messages/msg_x"),
        ("run", "run_x"): after(CREATE_THREAD, "GET /threads/{0.id}/runs/run_x"),
        ("run", "run_y"): after(CREATE_THREAD, "POST /threads/{0.id}/runs/run_y/cancel"),
        ("run step", "step_123"): after(*STARTED_RUN, "GET /threads/{1.id}/runs/{2.id}/steps/step_123"),
        ("run step", "123"): after(
            *STARTED_RUN, Case(on="GET /threads/{1.id}/runs/{2.id}/steps/123", as_of="2024-04-27")
        ),
    },
    accepts=[
        after(CREATE_THREAD, "GET /threads/{0.id}"),
        after(CREATE_THREAD, ADD_MESSAGE, "GET /threads/{0.id}/messages/{1.id}"),
        after(*STARTED_RUN, "GET /threads/{1.id}/runs/{2.id}"),
    ],
    fix="Use the ids that the API gave to this key; what is deleted is gone.",
)
def thread_object_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The thread must belong to this key, and its messages, runs and steps to the thread."""
    thread = world.store.threads.get(request.params["thread_id"])
    if thread is None:
        yield {"kind": "thread", "id": request.params["thread_id"]}
    for name, kind in (("message_id", "message"), ("run_id", "run"), ("step_id", "run step")):
        if thread and name in request.params and request.params[name] not in getattr(thread, f"{kind.split()[-1]}s"):
            yield {"kind": kind, "id": request.params[name]}


@rule(
    bad_request("Message content must be non-empty.", "content"),
    reported("public notes on the tests of an assistant, with the whole error", "2025"),
    on=CREATE_MESSAGE,
    when="content",
    reads=(),
    dialects=OPENAI,
    rejects=[after(CREATE_THREAD, Case({"role": "user", "content": ""}, on="POST /threads/{0.id}/messages"))],
    accepts=[after(CREATE_THREAD, ADD_MESSAGE)],
    fix="Add no message if there is nothing to say.",
)
def message_empty(request: Request) -> bool:
    """A message needs a text; of empty parts nothing is known."""
    return bool(request.body.get("content") == "")


SCOPE = RuleScope(area="runs")
OPENAI_PYTHON_ISSUE = "https://github.com/openai/openai-python/issues/1023"
CREATE_RUN = RUN_CREATIONS[1]
RUN_PATH = "/threads/{1.id}/runs/{2.id}"
READ_RUN = Case(on=f"GET {RUN_PATH}")
TWICE_READ_RUN = (*STARTED_RUN, READ_RUN, READ_RUN)
"""The steps to a run that has ended, or waits for the outputs of its calls."""
UPDATE_RUN = Case({"metadata": {"a": "b"}}, on=f"POST {RUN_PATH}")
CANCEL_RUN = Case(on=f"POST {RUN_PATH}/cancel")
CALLS_TURN = ([function_call("f", {}, call_id="call_a"), function_call("g", {}, call_id="call_b")],)
APPROVAL_REQUEST_TURN = ([mcp_approval_request("s", "f")],)
CREATE_BARE_ASSISTANT = Case({"model": "gpt-4o"}, on="POST /assistants")


def _start_run(**members: Any) -> Case:
    return Case({"assistant_id": "{0.id}", **members}, on=START_RUN.on)


def _submit_outputs(*ids: str) -> Case:
    outputs = [{"tool_call_id": id, "output": "ok"} for id in ids]
    return Case({"tool_outputs": outputs}, on=f"POST {RUN_PATH}/submit_tool_outputs")


@rule(
    bad_request("Can't add messages to {thread} while a run {run} is active."),
    reported(OPENAI_PYTHON_ISSUE),
    on=CREATE_MESSAGE,
    rejects={("{1.id}", "{2.id}"): after(*STARTED_RUN, Case(HI, on="POST /threads/{1.id}/messages"))},
    accepts=[after(*TWICE_READ_RUN, Case(HI, on="POST /threads/{1.id}/messages"))],
    fix="Wait until the run has ended, answer what it asks for, or cancel it and wait.",
)
def message_while_active(request: Request, world: WorldView) -> Iterator[Json]:
    """Threads accept no messages while one of their runs is in progress or waits for the client."""
    thread = request.params["thread_id"]
    if run := world.store.threads[thread].active_run:
        yield {"thread": thread, "run": run["id"]}


@rule(
    bad_request("Thread {thread} already has an active run {run}."),
    reported("public reports of several origins"),
    on=CREATE_RUN,
    rejects={("{1.id}", "{2.id}"): after(*STARTED_RUN, START_RUN)},
    accepts=[after(*TWICE_READ_RUN, START_RUN)],
    fix="Wait until the run of the thread has ended, or cancel it and wait.",
)
def run_while_active(request: Request, world: WorldView) -> Iterator[Json]:
    """Threads can only have one run at a time."""
    thread = request.params["thread_id"]
    if run := world.store.threads[thread].active_run:
        yield {"thread": thread, "run": run["id"]}


@rule(
    bad_request(
        "Run creation requires a Thread with a user message or an assistant with instructions.", code="invalid_thread"
    ),
    recorded(f"{RUBY_CASSETTES}, an older one"),
    on=RUN_CREATIONS,
    rejects=[after(CREATE_BARE_ASSISTANT, CREATE_THREAD, START_RUN)],
    accepts=[
        after(CREATE_ASSISTANT, CREATE_THREAD, START_RUN),
        after(CREATE_BARE_ASSISTANT, CREATE_GREETED_THREAD, START_RUN),
        after(CREATE_BARE_ASSISTANT, CREATE_THREAD, _start_run(additional_messages=[HI])),
        after(CREATE_BARE_ASSISTANT, CREATE_THREAD, _start_run(instructions="Go.")),
    ],
    fix="Add a message to the thread first, or give the assistant instructions.",
)
def run_without_input(request: Request, world: WorldView) -> bool:
    """A model needs something to read: a message in the thread, or instructions."""
    body = request.body
    thread = world.store.threads[request.params["thread_id"]].messages if request.params else None
    added = body.get("additional_messages") or (body.get("thread") or {}).get("messages")
    instructions = body.get("instructions") or body.get("additional_instructions")
    return not (thread or added or instructions or world.store.assistants[body["assistant_id"]]["instructions"])


def _find_run(request: Request, world: WorldView) -> Any:
    return world.store.threads[request.params["thread_id"]].runs[request.params["run_id"]]


@rule(
    bad_request('Runs in status "{status}" do not accept tool outputs.'),
    recorded(RUBY_CASSETTES),
    on=SUBMIT_OUTPUTS,
    rejects={
        "in_progress": after(*STARTED_RUN, READ_RUN, _submit_outputs("call_a")),
        "expired": after(*TWICE_READ_RUN, Case(on=READ_RUN.on, skip=601), _submit_outputs("call_a"), turns=CALLS_TURN),
    },
    accepts=[after(*TWICE_READ_RUN, _submit_outputs("call_a", "call_b"), turns=CALLS_TURN)],
    fix="Poll until the run is `requires_action`, and answer within ten minutes.",
)
def outputs_not_expected(request: Request, world: WorldView) -> Iterator[Json]:
    """Only a run that requires an action accepts outputs for it."""
    status = _find_run(request, world)["status"]
    if status != "requires_action":
        yield {"status": status}


@rule(
    bad_request("Expected tool {what} for call_ids {expected}, got {got}"),
    reported("public report with the whole body"),
    assumed("that a missing approval has the same words"),
    on=SUBMIT_OUTPUTS,
    rejects={
        ("outputs", "['call_a', 'call_b']", "['call_a']"): after(
            *TWICE_READ_RUN, _submit_outputs("call_a"), turns=CALLS_TURN
        ),
        ("outputs", "['call_a', 'call_b']", "[]"): after(*TWICE_READ_RUN, _submit_outputs(), turns=CALLS_TURN),
        ("approvals", "['{4.required_action.submit_tool_approval.tool_calls.0.id}']", "[]"): after(
            *TWICE_READ_RUN,
            Case({"tool_approvals": []}, on=f"POST !/api/projects/p{RUN_PATH}/submit_tool_outputs?api-version=v1"),
            turns=APPROVAL_REQUEST_TURN,
        ),
    },
    accepts=[after(*TWICE_READ_RUN, _submit_outputs("call_b", "call_a"), turns=CALLS_TURN)],
    fix="Answer every call of `required_action` in one request.",
)
def outputs_missing(request: Request, world: WorldView) -> Iterator[Json]:
    """All calls a run waits for, and no others, must be answered at once; ids are printed like a Python list."""
    action = _find_run(request, world)["required_action"]
    what = "outputs" if action["type"] == "submit_tool_outputs" else "approvals"
    expected = [call["id"] for call in action[action["type"]]["tool_calls"]]
    got = [output.get("tool_call_id") for output in request.body.get(f"tool_{what}") or ()]
    if sorted(expected) != sorted(map(str, got)):
        yield {"what": what, "expected": expected, "got": got}


@rule(
    bad_request("Cannot update run with status '{status}'."),
    recorded(f"{RUBY_CASSETTES}: in_progress"),
    assumed("that a run is as fixed before it starts and while it is cancelled"),
    on="POST /threads/{thread_id}/runs/{run_id}",
    rejects={"queued": after(*STARTED_RUN, UPDATE_RUN), "in_progress": after(*STARTED_RUN, READ_RUN, UPDATE_RUN)},
    accepts=[after(*TWICE_READ_RUN, UPDATE_RUN)],
    fix="Give the metadata when the run is made, or wait until it has ended.",
)
def update_active_run(request: Request, world: WorldView) -> Iterator[Json]:
    """A run in progress cannot be changed."""
    status = _find_run(request, world)["status"]
    if status in ("queued", "in_progress", "cancelling"):
        yield {"status": status}


@rule(
    bad_request("Cannot cancel run with status '{status}'."),
    reported("https://github.com/danny-avila/LibreChat/issues/2632: the message, of a cancelled run", "2024-05"),
    reported("public programs of two more origins, which look for the message", "2025"),
    assumed("that it is the same for a run that ended otherwise, and that a run may be cancelled twice while it stops"),
    on="POST /threads/{thread_id}/runs/{run_id}/cancel",
    rejects={
        "completed": after(*TWICE_READ_RUN, CANCEL_RUN),
        "cancelled": after(*STARTED_RUN, CANCEL_RUN, READ_RUN, CANCEL_RUN),
    },
    accepts=[after(*STARTED_RUN, CANCEL_RUN), after(*STARTED_RUN, CANCEL_RUN, CANCEL_RUN)],
    fix="Read the run before it is cancelled; one that has ended needs no cancelling.",
)
def cancel_ended_run(request: Request, world: WorldView) -> Iterator[Json]:
    """A run that has ended cannot be cancelled."""
    status = _find_run(request, world)["status"]
    if status in ("completed", "cancelled", "failed", "expired", "incomplete"):
        yield {"status": status}
