"""Objects in paths and bodies of the Assistants API must exist and be of the right kind."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.api.http.dialects import OPENAI
from harness.contract.rule import Case, WorldView, after, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import CREATE_ASSISTANT, CREATE_THREAD, HI, STARTED_RUN
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request

ID_PREFIXES = {"assistant_id": "asst", "thread_id": "thread", "message_id": "msg", "run_id": "run", "step_id": "step"}
RUN_CREATIONS = ("POST /threads/runs", "POST /threads/{thread_id}/runs")
CREATE_MESSAGE = "POST /threads/{thread_id}/messages"
SUBMIT_OUTPUTS = "POST /threads/{thread_id}/runs/{run_id}/submit_tool_outputs"
RUBY_CASSETTES = "alexrudall/ruby-openai spec/fixtures/cassettes"
LIKE_STEPS = assumed("that what is recorded of one step holds for all")


@rule(
    bad_request("Invalid '{name}': '{id}'. Expected an ID that begins with '{prefix}'.", "{name}", "invalid_value"),
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
    ApiError(404, "No thread found with id '{id}'."),
    recorded(f"{RUBY_CASSETTES}: the form, of a step"),
    reported("public tests of three clients with the whole error", "2024"),
    on="*{thread_id}*",
    rejects={
        "thread_x": "GET /threads/thread_x",
        "thread_y": Case(HI, on="POST /threads/thread_y/messages"),
        "undefined": Case(on="GET /threads/undefined", as_of="2024-04-27"),
        "{0.id}": after(CREATE_THREAD, "DELETE /threads/{0.id}", "GET /threads/{0.id}/messages"),
    },
    accepts=[after(CREATE_THREAD, "GET /threads/{0.id}")],
    fix="Create the thread first; a deleted one is gone.",
)
def thread_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The thread must belong to this key."""
    id = request.params["thread_id"]
    if id not in world.store.threads:
        yield {"id": id}


def _check_in_thread(request: Request, world: WorldView, name: str, table: str) -> Iterator[Json]:
    """Yield the id of this name in the path if it is not in the thread's table."""
    id = request.params[name]
    known: Mapping[str, Any] = getattr(world.store.threads[request.params["thread_id"]], table)
    if id not in known:
        yield {"id": id}


@rule(
    bad_request("Message content must be non-empty.", "content"),
    reported("public notes on the tests of an assistant, with the whole error", "2025"),
    on=CREATE_MESSAGE,
    when="content",
    reads=(),
    dialects=OPENAI,
    rejects=[after(CREATE_THREAD, Case({"role": "user", "content": ""}, on="POST /threads/{0.id}/messages"))],
    accepts=[after(CREATE_THREAD, Case(HI, on="POST /threads/{0.id}/messages"))],
    fix="Add no message if there is nothing to say.",
)
def message_empty(request: Request) -> Iterator[Json]:
    """A message needs a text; of empty parts nothing is known."""
    if request.body.get("content") == "":
        yield {}


@rule(
    ApiError(404, "No message found with id '{id}'."),
    recorded(f"{RUBY_CASSETTES}: the form, of a step"),
    LIKE_STEPS,
    on="*{message_id}*",
    rejects={"msg_x": after(CREATE_THREAD, "GET /threads/{0.id}/messages/msg_x")},
    accepts=[after(CREATE_THREAD, Case(HI, on="POST /threads/{0.id}/messages"), "GET /threads/{0.id}/messages/{1.id}")],
    fix="Use an id from the list of the thread's messages.",
)
def message_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The message must be in the thread."""
    yield from _check_in_thread(request, world, "message_id", "messages")


@rule(
    ApiError(404, "No run found with id '{id}'."),
    recorded(f"{RUBY_CASSETTES}: the form, of a step"),
    LIKE_STEPS,
    on="*{run_id}*",
    rejects={
        "run_x": after(CREATE_THREAD, "GET /threads/{0.id}/runs/run_x"),
        "run_y": after(CREATE_THREAD, "POST /threads/{0.id}/runs/run_y/cancel"),
    },
    accepts=[after(*STARTED_RUN, "GET /threads/{1.id}/runs/{2.id}")],
    fix="Use the id the API gave, with the thread of the run.",
)
def run_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The run must be in the thread."""
    yield from _check_in_thread(request, world, "run_id", "runs")


@rule(
    ApiError(404, "No run step found with id '{id}'."),
    recorded(RUBY_CASSETTES),
    on="*{step_id}*",
    rejects={
        "step_123": after(*STARTED_RUN, "GET /threads/{1.id}/runs/{2.id}/steps/step_123"),
        "123": after(*STARTED_RUN, Case(on="GET /threads/{1.id}/runs/{2.id}/steps/123", as_of="2024-04-27")),
    },
    fix="Use an id from the list of the run's steps.",
)
def run_step_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The step must be in the thread."""
    yield from _check_in_thread(request, world, "step_id", "steps")
