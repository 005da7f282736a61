"""Bad ids on the whole surface: what nobody has, what another key has and what was deleted is a 4xx, on every endpoint.

The endpoints are those that are registered: a new one is held to it by itself.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from harness.api.operations import OPERATIONS, PATHS, Operation, operation
from harness.contract import schema
from harness.contract.rules.stored.threads import ID_PREFIXES
from harness.core.exchange import Answer, Json, ReceivedRequest, Request
from harness.ending import TurnLine
from harness.items import function_call, message
from harness.server.mock_api import MockApi
from harness.verify.examples import OK_TURN
from harness.world.api_call import ApiCall
from tests.support.in_process import send
from tests.support.registries import restored
from tests.support.slow import slow_except_every

HI: Json = {"role": "user", "content": "hi"}
OUTPUT: Json = {"tool_call_id": "call_1", "output": "ok"}
API = [operation for operation in OPERATIONS.values() if not operation.is_project]
"""The endpoints of the API; those of a Foundry project have errors in a form of their own."""
ASKED = [operation for operation in API if "{" in operation.template and "{model}" not in operation.template]
"""Those about one thing; which models there are is no matter of keys."""
IN_PATHS = [(operation.id, name, None) for operation in ASKED for name in re.findall(r"\{(\w+)\}", operation.template)]
"""Endpoints whose paths name things: endpoint, what is named, and the body of `BODIES`."""
BODIES: Mapping[str, Json] = {
    "POST /conversations/{conversation_id}": {"metadata": {}},
    "POST /conversations/{conversation_id}/items": {"items": [HI]},
    "POST /threads/{thread_id}/messages": HI,
    "POST /threads/{thread_id}/runs": {"assistant_id": "{assistant_id}"},
    "POST /threads/{thread_id}/runs/{run_id}/submit_tool_outputs": {"tool_outputs": [OUTPUT]},
    "POST /vector_stores/{vector_store_id}/search": {"query": "Paris"},
    "POST /vector_stores/{vector_store_id}/files": {"file_id": "{file_id}"},
    "POST /vector_stores/{vector_store_id}/files/{file_id}": {"attributes": {}},
    "POST /vector_stores/{vector_store_id}/file_batches": {"file_ids": ["{file_id}"]},
    "POST /containers/{container_id}/files": {"file_id": "{file_id}"},
    "POST /uploads/{upload_id}/complete": {"part_ids": []},
}
"""What endpoints ask for; the others take an empty object or nothing."""
ASK: Json = {"model": "gpt-4.1", "input": "hi"}
HOOK: Json = {"name": "jobs", "url": "https://shop.example/hook", "event_types": ["response.completed"]}
UPLOAD: Json = {"bytes": 5, "filename": "a.txt", "mime_type": "text/plain", "purpose": "user_data"}
CODE: Json = {"type": "code_interpreter", "container": "{container_id}"}
FILE: Json = {"type": "input_file", "file_id": "{file_id}"}
STORE = "{vector_store_id}"
IN_BODIES: list[tuple[str, str, Json]] = [
    *(
        (f"POST /responses{path}", "response_id", {**ASK, "previous_response_id": "{response_id}"})
        for path in ("", "/compact", "/input_tokens")
    ),
    ("POST /responses", "conversation_id", {**ASK, "conversation": "{conversation_id}"}),
    ("POST /responses", "conversation_id", {**ASK, "conversation": {"id": "{conversation_id}"}}),
    ("POST /responses/input_tokens", "conversation_id", {**ASK, "conversation": "{conversation_id}"}),
    ("POST /responses", "item_id", {**ASK, "input": [{"type": "item_reference", "id": "{item_id}"}]}),
    ("POST /conversations", "item_id", {"items": [{"type": "item_reference", "id": "{item_id}"}]}),
    ("POST /responses", "file_id", {**ASK, "input": [{"role": "user", "content": [FILE]}]}),
    ("POST /responses", "vector_store_id", {**ASK, "tools": [{"type": "file_search", "vector_store_ids": [STORE]}]}),
    ("POST /responses", "container_id", {**ASK, "tools": [CODE]}),
    ("POST /containers", "file_id", {"name": "a", "file_ids": ["{file_id}"]}),
    ("POST /containers/{container_id}/files", "file_id", {"file_id": "{file_id}"}),
    ("POST /threads/runs", "assistant_id", {"assistant_id": "{assistant_id}", "thread": {"messages": [HI]}}),
    ("POST /threads/{thread_id}/runs", "assistant_id", {"assistant_id": "{assistant_id}"}),
    ("POST /vector_stores", "file_id", {"file_ids": ["{file_id}"]}),
    ("POST /vector_stores/{vector_store_id}/files", "file_id", {"file_id": "{file_id}"}),
    ("POST /vector_stores/{vector_store_id}/file_batches", "file_id", {"file_ids": ["{file_id}"]}),
    ("POST /threads", "file_id", {"tool_resources": {"file_search": {"vector_stores": [{"file_ids": ["{file_id}"]}]}}}),
]
"""Endpoints whose bodies name things: endpoint, what is named, body."""
PREFIX = {
    **{name: f"{prefix}_" for name, prefix in ID_PREFIXES.items()},
    "response_id": "resp_",
    "conversation_id": "conv_",
    "item_id": "msg_",
    "file_id": "file-",
    "vector_store_id": "vs_",
    "batch_id": "vsfb_",
    "container_id": "cntr_",
    "container_file_id": "cfile_",
    "upload_id": "upload_",
    "webhook_endpoint_id": "we_",
}
DELETES = {
    name: min(endpoints, key=len)
    for name in PREFIX
    if (endpoints := [id for id in OPERATIONS if re.fullmatch(rf"DELETE .*\{{{name}\}}", id)])
}
"""How each kind of thing is deleted; runs, steps and batches go with what holds them, uploads are kept."""


AFTERWARDS = {"cancel_synchronous", "file_not_downloadable", "message_while_active", "run_while_active"}
AFTERWARDS |= {"part_incomplete", "upload_size_differs"}
"""Why the state of a thing may refuse what its id does not."""


class Tenant:
    """One key of a mock, which has one thing of each kind; a run waits for the output of `call_1`."""

    def __init__(self, mock: MockApi, key: str) -> None:
        self.api, self.mock = mock, mock.open(key)
        self.headers = {"authorization": f"Bearer {key}", "openai-beta": "assistants=v2"}
        self.mock.automatic = False
        conversation = self.made("POST /conversations", {"items": [HI]})
        assistant = self.made("POST /assistants", {"model": "gpt-4.1"})
        thread = self.made("POST /threads", {"messages": [HI]})
        self.ids = {
            "response_id": self.made("POST /responses", ASK),
            "conversation_id": conversation,
            "item_id": self.first(f"/conversations/{conversation}/items"),
            "assistant_id": assistant,
            "thread_id": thread,
            "message_id": self.first(f"/threads/{thread}/messages"),
            "file_id": (file := self.mock.file("a.txt", "Paris")),
            "vector_store_id": (store := self.mock.vector_store(file)),
            "container_id": (container := self.mock.container()),
            "container_file_id": self.mock.container_file(container, "a.txt", "Paris"),
            "upload_id": self.made("POST /uploads", UPLOAD),
            "webhook_endpoint_id": self.made("POST /webhook_endpoints", HOOK),
            "batch_id": self.made(f"POST /vector_stores/{store}/file_batches", {"file_ids": [file]}),
        }
        run = self.made(f"POST /threads/{thread}/runs", {"assistant_id": assistant})
        self.mock.advance(run)
        self.mock.advance(run)
        self.ids |= {"run_id": run, "step_id": self.first(f"/threads/{thread}/runs/{run}/steps")}

    def send(self, call: str, body: Any = None, query: Mapping[str, str] | None = None) -> Answer:
        method, _, path = call.partition(" ")
        kind = {} if body is None else {"content-type": "application/json"}
        return send(self.api, f"{method} /v1{path}", body, {**self.headers, **kind}, "", **(query or {}))

    def made(self, call: str, body: Json) -> str:
        answer = self.send(call, body)
        assert answer.status == 200, answer.body
        return str(answer.body["id"])

    def first(self, path: str) -> str:
        return str(self.send(f"GET {path}").body["data"][0]["id"])

    def ask(
        self, call: str, ids: Mapping[str, str], body: Any = None, query: Mapping[str, str] | None = None
    ) -> Answer:
        """Return the answer of an endpoint, about things by their ids."""
        if body is None and call in OPERATIONS and (OPERATIONS[call].body_schema or call in BODIES):
            body = BODIES.get(call, {})
        return self.send(_named(call, ids), _named(body, ids), query)


def _named(value: Any, ids: Mapping[str, str]) -> Any:
    """Return a value with the ids of things in place of their names in braces."""
    if isinstance(value, dict):
        return {name: _named(member, ids) for name, member in value.items()}
    if isinstance(value, list):
        return [_named(part, ids) for part in value]
    return re.sub(r"\{(\w+)\}", lambda found: ids[found[1]], value) if isinstance(value, str) else value


def model(call: ApiCall) -> Sequence[TurnLine]:
    """Runs call a function, responses are a short text."""
    return [function_call("f", "{}", call_id="call_1")] if "/threads" in call.request.operation else OK_TURN


@pytest.fixture
def mock() -> MockApi:
    return MockApi(fallback=model)


@pytest.fixture
def mine(mock: MockApi) -> Tenant:
    return Tenant(mock, "sk-mine")


@pytest.fixture
def theirs(mock: MockApi) -> Tenant:
    return Tenant(mock, "sk-theirs")


def refused(answer: Answer, id: str) -> None:
    """The answer is the API's refusal, and names the id."""
    assert answer.rule, answer.body
    error = answer.body["error"]
    assert answer.status in (400, 404), error
    assert (error["type"], id in error["message"]) == ("invalid_request_error", True), error


def strange(name: str) -> str:
    return f"{PREFIX[name]}nobodys"


def by_id(given: Any) -> str:
    return given.id if isinstance(given, Operation) else str(given) if isinstance(given, str) else ""


@pytest.mark.parametrize("operation", ASKED, ids=by_id)
def test_what_the_key_has_is_there(mine: Tenant, operation: Operation) -> None:
    """So that the refusals below are due to the ids."""
    answer = mine.ask(operation.id, mine.ids)
    assert answer.status == 200 or answer.rule in AFTERWARDS, answer


@pytest.mark.parametrize(("call", "name", "body"), slow_except_every(4, [*IN_PATHS, *IN_BODIES]), ids=by_id)
class TestAnId:
    def test_an_id_names_nothing_that_nobody_has(self, mine: Tenant, call: str, name: str, body: Json) -> None:
        refused(mine.ask(call, {**mine.ids, name: strange(name)}, body), strange(name))

    def test_an_id_names_nothing_of_another_key(
        self, mine: Tenant, theirs: Tenant, call: str, name: str, body: Json
    ) -> None:
        refused(mine.ask(call, {**mine.ids, name: theirs.ids[name]}, body), theirs.ids[name])


@pytest.mark.parametrize(
    ("call", "name", "body"),
    slow_except_every(4, [named for named in [*IN_PATHS, *IN_BODIES] if named[1] in DELETES]),
    ids=by_id,
)
def test_an_id_names_nothing_that_was_deleted(mine: Tenant, call: str, name: str, body: Json) -> None:
    assert mine.ask(DELETES[name], mine.ids).status == 200
    refused(mine.ask(call, mine.ids, body), mine.ids[name])


CURSORS = [
    (endpoint, cursor)
    for endpoint in API
    if endpoint.query_schema and not endpoint.id.endswith("}")
    for cursor in ("after", "before")
    if cursor in schema.load(endpoint.query_schema)["properties"]
]


@pytest.mark.parametrize(("operation", "cursor"), CURSORS, ids=by_id)
def test_a_list_has_no_page_beside_what_is_not_there(mine: Tenant, operation: Operation, cursor: str) -> None:
    answer = mine.ask(operation.id, mine.ids, query={cursor: "msg_nobodys"})
    refused(answer, "msg_nobodys")
    assert answer.body["error"]["param"] == cursor


@pytest.mark.parametrize("operation", [operation for operation, cursor in CURSORS if cursor == "after"], ids=by_id)
class TestAList:
    def test_a_list_has_a_page_after_its_last(self, mine: Tenant, operation: Operation) -> None:
        last = mine.ask(operation.id, mine.ids).body["last_id"]
        assert mine.ask(operation.id, mine.ids, query={"after": last}).body["data"] == []

    def test_a_list_shows_nothing_of_another_key(self, mine: Tenant, theirs: Tenant, operation: Operation) -> None:
        shown = {entry["id"] for entry in mine.ask(operation.id, mine.ids).body["data"]}
        assert shown
        assert shown.isdisjoint(theirs.ids.values())


@pytest.mark.parametrize(
    ("template", "id", "error"),
    [
        ("/responses/{response_id}/cheeses", "resp_x", (404, "Response with id 'resp_x' not found.")),
        ("/conversations/{conversation_id}/cheeses", "conv_x", (404, "Conversation with id 'conv_x' not found.")),
        ("/files/{file_id}/cheeses", "file-x", (404, "No such File object: file-x")),
        ("/threads/{thread_id}/cheeses", "thread_x", (404, "No thread found with id 'thread_x'.")),
        ("/vector_stores/{vector_store_id}/cheeses", "docs", (400, "Invalid 'vector_store_id': 'docs'.")),
        ("/containers/{container_id}/cheeses", "cntr_x", (404, "Container with id 'cntr_x' not found.")),
        ("/uploads/{upload_id}/cheeses", "upload_x", (404, "No upload found with id 'upload_x'.")),
    ],
)
def test_a_new_endpoint_refuses_unknown_ids_by_itself(
    mine: Tenant, template: str, id: str, error: tuple[int, str]
) -> None:
    def list_cheeses(request: Request, world: object) -> Answer:
        """Return the cheeses."""
        return Answer(200)

    with restored(OPERATIONS, PATHS):
        operation("GET", template)(list_cheeses)
        answer = mine.send(f"GET {re.sub('{.*}', id, template)}")
    message = answer.body["error"]["message"]
    assert (answer.status, message[: len(error[1])]) == error


def test_a_new_endpoint_refuses_malformed_json_by_itself(mine: Tenant) -> None:
    def create_cheese(request: Request, world: object) -> Answer:
        """Return a new cheese."""
        return Answer(200)

    with restored(OPERATIONS, PATHS):
        operation("POST", "/cheeses", body="CreateConversation")(create_cheese)
        answer = mine.api.handle(ReceivedRequest("POST", "/v1/cheeses", mine.headers, raw=b"{"))
    assert (answer.status, answer.rule) == (400, "body_syntax")


def test_what_another_key_tries_changes_nothing(mine: Tenant, theirs: Tenant) -> None:
    """Every endpoint that changes something is asked for the other key's things, in vain."""
    reads = [request.id for request in ASKED if request.method == "GET" and not request.id.endswith("/content")]
    before = [mine.ask(call, mine.ids).body for call in reads]
    for request in ASKED:
        theirs.ask(request.id, mine.ids)
    assert [mine.ask(call, mine.ids).body for call in reads] == before
    assert not {exchange.request.headers["authorization"] for exchange in mine.mock.exchanges} - {"Bearer sk-mine"}


@pytest.mark.parametrize("status", ["queued", "in_progress", "cancelling", "cancelled", "completed", "expired"])
def test_only_a_run_that_waits_accepts_outputs(mine: Tenant, status: str) -> None:
    path = "POST /threads/{thread_id}/runs/{run_id}"
    if status == "expired":
        mine.mock.skip(600)
    elif status in ("cancelling", "cancelled"):
        assert mine.ask(f"{path}/cancel", mine.ids).status == 200
    else:
        mine.mock.script(message("ok"))
        assert mine.ask(f"{path}/submit_tool_outputs", mine.ids).status == 200
    for _ in range({"in_progress": 1, "completed": 2, "cancelled": 1}.get(status, 0)):
        mine.mock.advance(mine.ids["run_id"])
    answer = mine.ask(f"{path}/submit_tool_outputs", mine.ids)
    assert answer.body["error"]["message"] == f'Runs in status "{status}" do not accept tool outputs.'
    assert (answer.status, answer.rule) == (400, "outputs_not_expected")
