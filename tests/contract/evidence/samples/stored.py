"""A mock that has stored something, requests to it, and those that continue what it has stored."""

from collections.abc import Iterator, Mapping
from typing import Any

from harness.api.operations import OPERATIONS
from harness.contract.rules.example_requests import VALID_BODY
from harness.core.account import Organization
from harness.core.exchange import EMPTY_MAPPING, Answer, Json
from harness.foundry.assets import GENERATION_JOBS, new_job
from harness.foundry.blobs import BLOBS
from harness.foundry.memory_stores import MEMORY_STORES
from harness.items import function_call, message, reasoning
from harness.server.mock_api import MockApi
from harness.verify.examples import OK_TURN
from harness.world.resources import make_resource
from harness.world.scripting.settings import PROJECT_RESOURCES
from harness.world.world import World
from tests.support import in_process
from tests.support.threads import FUNCTION
from tests.support.tools import functions

KEY = "sk-mutations"
AUTH = {"authorization": f"Bearer {KEY}", "openai-beta": "assistants=v2"}


def post(mock: MockApi, body: Any) -> Answer:
    return in_process.send(mock, "POST /v1/responses", body, AUTH, "")


HI: Json = {"role": "user", "content": "hi"}
STOCKED = Organization(files=frozenset(["file_1", "vs_1", "vs_2", "file-elsewhere", "vs_elsewhere"]))
"""An account with the files and the vector stores that the samples name."""


def fresh() -> MockApi:
    return MockApi(organization=STOCKED, fallback=lambda _: OK_TURN)


def remembering() -> MockApi:
    """Return a mock whose key has stored what every operation asks for.

    A conversation, a response that thought and called, a prompt, a vector store, a container, an upload, a webhook, an
    assistant, and two threads: one whose run has ended, and one whose run waits for the output of a call; each resource of
    a project.
    """
    mock = fresh()
    world = mock.open(KEY)
    world.organization(prompts=["pmpt_1"])
    called = function_call("f", "{}", call_id="c1")
    world.script([reasoning("**Plan**"), called], message("ok"), called, OK_TURN)
    made(mock, "/conversations", {"items": [HI]})
    post(mock, {**VALID_BODY, "tools": functions("f")})
    store = world.vector_store(world.file("a.txt", b"Paris"))
    made(mock, f"/vector_stores/{store}/file_batches", {"file_ids": ["file_1"]})
    world.container_file(world.container(), "a.txt", "Paris")
    made(mock, "/uploads", {"bytes": 5, "filename": "a.txt", "mime_type": "text/plain", "purpose": "user_data"})
    webhook = {"name": "jobs", "url": "https://example.org/hook", "event_types": ["response.completed"]}
    made(mock, "/webhook_endpoints", webhook)
    assistant = made(mock, "/assistants", {"model": "gpt-4.1", "tools": [FUNCTION]})["id"]
    for _ in range(2):
        made(mock, "/threads/runs", {"assistant_id": assistant, "thread": {"messages": [HI]}, "stream": True})
    for kind in PROJECT_RESOURCES.values():
        make_resource(world.world, kind, "helper", {"memory_store": {"memories": ["hi"]}}.get(kind, {}))
    world.world.store.table(GENERATION_JOBS)["job_1"] = new_job("job_1", 1, {"name": "made", "scenario": "evaluation"})
    world.world.store.table(MEMORY_STORES)["helper"].queue("update_1", {"scope": "user_1", "items": "hi"})
    return mock


def made(mock: MockApi, path: str, body: Json) -> Any:
    """Return what the mock answers to a body that it takes."""
    answer = in_process.send(mock, f"POST /v1{path}", body, AUTH, "")
    assert answer.status == 200, answer.body
    return answer.body


def continuing() -> Iterator[Json]:
    """Requests that only a mock that remembers takes."""
    world = remembering().worlds[KEY]
    ((id, stored),) = world.store.responses.items()
    thought, call = stored.response["output"]
    output = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
    yield {**VALID_BODY, "previous_response_id": id, "input": [output]}
    yield {**VALID_BODY, "input": [thought, call, output]}
    references = [{"type": "item_reference", "id": item["id"]} for item in (thought, call)]
    yield {**VALID_BODY, "input": [*references, output]}
    yield {**VALID_BODY, "conversation": next(iter(world.store.conversations))}
    yield {**VALID_BODY, "conversation": {"id": next(iter(world.store.conversations))}}
    variables = {"a": "b", "c": {"type": "input_text", "text": "d"}}
    yield {"prompt": {"id": "pmpt_1", "version": "1", "variables": variables}}


def send(
    mock: MockApi, id: str, *, body: Any = VALID_BODY, query: Mapping[str, Any] = EMPTY_MAPPING, named: str = ""
) -> Answer:
    """The answer to a request of an operation about what a remembering mock has stored, or about ids that are `named`."""
    method, path, version = address(mock, id, named)
    sent = body if OPERATIONS[id].body_schema else None
    return in_process.send(mock, f"{method} {path}", sent, AUTH, "", **{**version, **query})


def address(mock: MockApi, id: str, named: str = "") -> tuple[str, str, Mapping[str, str]]:
    """Return the method, the path and the query of an operation about what a remembering mock has stored."""
    world = mock.worlds[KEY]
    ended, waiting = world.store.threads
    ids = {"model": "gpt-4.1", "agent_name": "helper", "agent_version": "1"} | of_responses(world) | of_stores(world)
    ids |= of_project(world)
    ids["session_id"] = "session_1"
    ids |= of_thread(world, waiting if id.endswith("/submit_tool_outputs") else ended)
    method, _, path = id.partition(" ")
    path = path.format_map(dict.fromkeys(ids, named) if named else ids)
    if OPERATIONS[id].is_project:
        return method, f"/api/projects/p{path}", {"api-version": "v1"}
    return method, f"/v1{path}", {}


def of_responses(world: World) -> dict[str, str]:
    ((response, _),), ((conversation, stored),) = world.store.responses.items(), world.store.conversations.items()
    return {"response_id": response, "conversation_id": conversation, "item_id": stored.items[0]["id"]}


def of_stores(world: World) -> dict[str, str]:
    (store,), (container,) = world.store.vector_stores.values(), world.store.containers.values()
    return {
        "upload_id": next(iter(world.store.parted_uploads)),
        "container_id": container.object["id"],
        "container_file_id": next(iter(container.files)),
        "vector_store_id": store.object["id"],
        "file_id": next(iter(store.files)),
        "batch_id": next(iter(store.batches)),
        "webhook_endpoint_id": next(iter(world.open_webhooks().endpoints)),
    }


def of_project(world: World) -> dict[str, str]:
    return {
        "name": "helper",
        "version": "1",
        "update_id": "update_1",
        "job_id": "job_1",
        "memory_id": next(iter(world.store.table(MEMORY_STORES)["helper"].items)),
        "container": next(iter(world.store.table(BLOBS))),
        "+blob": "a/b.txt",
    }


def of_thread(world: World, id: str) -> dict[str, str]:
    thread = world.store.threads[id]
    return {
        "assistant_id": next(iter(world.store.assistants)),
        "thread_id": id,
        "message_id": next(iter(thread.messages)),
        "run_id": next(iter(thread.runs)),
        "step_id": next(iter(thread.steps)),
    }
