"""The endpoints: how they are declared and found, and what each does to a World."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from harness.answers.response import render_input_items
from harness.api.operations import OPERATIONS, PATHS, Cursors, find_operation, operation
from harness.api.responses import INCLUDE_VALUES
from harness.contract.schema import root_names, schemas_directory
from harness.core.errors import RegistrationError
from harness.core.exchange import Answer
from harness.core.ids import Ids
from harness.ending import completed, incomplete
from harness.items import custom_tool_call, function_call, message, reasoning
from harness.items.kind import Item, render_item
from harness.world.api_call import ApiCall
from tests.support.in_process import Client, error
from tests.support.registries import restored
from tests.support.streams import ITEMS
from tests.support.tools import functions


class TestADeclaration:
    @pytest.fixture(autouse=True)
    def registry(self) -> Iterator[None]:
        with restored(OPERATIONS, PATHS):
            yield

    def handler(self, call: ApiCall) -> Answer:
        """Cheese."""
        return Answer(200)

    def test_a_declaration_has_method_path_and_schemas(self) -> None:
        operation("POST", "/cheeses/{cheese_id}", body="CreateResponse", answer="Response")(self.handler)
        made = OPERATIONS["POST /cheeses/{cheese_id}"]
        schemas = (made.body_schema, made.query_schema, made.answer_schema)
        assert (made.id, schemas) == ("POST /cheeses/{cheese_id}", ("CreateResponse", None, "Response"))

    def test_a_declaration_cannot_be_made_twice(self) -> None:
        operation("GET", "/cheeses")(self.handler)
        with pytest.raises(RegistrationError, match="operation GET /cheeses is declared twice"):
            operation("GET", "/cheeses")(self.handler)

    def test_a_declaration_needs_a_docstring(self) -> None:
        with pytest.raises(RegistrationError, match="operation GET /cheeses: no docstring"):
            operation("GET", "/cheeses")(lambda call: Answer(200))

    @pytest.mark.parametrize(
        ("cursors", "words"),
        [
            (Cursors("cheese", lambda request, world: ["brie"]), "No cheese found with id 'edam'."),
            (Cursors("item", lambda request, world: ["brie"]), "No item found with id 'edam'."),
        ],
    )
    def test_a_declaration_says_what_the_cursors_of_a_list_name(
        self, client: Client, cursors: Cursors, words: str
    ) -> None:
        path = f"/{cursors.kind}_cheeses"  # what is checked of an operation is remembered by its path
        operation("GET", path, cursors=cursors)(self.handler)
        assert client.send(f"GET {path}", after="brie").status == 200
        assert error(client.send(f"GET {path}", before="edam")) == (404, words, "before", None)

    def test_a_declaration_names_schemas_that_exist(self) -> None:
        known = {None, *root_names(schemas_directory())}
        for declared in OPERATIONS.values():
            assert {declared.body_schema, declared.query_schema, declared.answer_schema} <= known


class TestAPath:
    @pytest.mark.parametrize(
        ("method", "path", "id", "params"),
        [
            ("POST", "/responses", "POST /responses", {}),
            ("GET", "/responses/resp_1", "GET /responses/{response_id}", {"response_id": "resp_1"}),
            ("DELETE", "/responses/a b\n", "DELETE /responses/{response_id}", {"response_id": "a b\n"}),
            ("GET", "/responses/r/input_items", "GET /responses/{response_id}/input_items", {"response_id": "r"}),
            ("POST", "/responses/compact", "POST /responses/compact", {}),
            ("GET", "/responses/compact", "GET /responses/{response_id}", {"response_id": "compact"}),
        ],
    )
    def test_a_path_leads_to_an_operation(self, method: str, path: str, id: str, params: dict[str, str]) -> None:
        found, read, known = find_operation(method, path)
        assert found is OPERATIONS[id]
        assert (read, known) == (params, True)

    @pytest.mark.parametrize(
        ("method", "path", "known"),
        [
            ("PUT", "/responses", True),
            ("PATCH", "/responses/x", True),
            ("GET", "/response", False),
            ("GET", "/responses/", False),
        ],
    )
    def test_a_path_leads_to_no_operation(self, method: str, path: str, known: bool) -> None:
        found, _, exists = find_operation(method, path)
        assert (found, exists) == (None, known)


def texts(client: Client, id: str, **query: str) -> list[str]:
    data = client.send(f"GET /responses/{id}/input_items", **query).body["data"]
    return [item["content"][0]["text"] for item in data]


class TestAResponse:
    def test_a_response_can_be_read_back_until_it_is_deleted(self, client: Client) -> None:
        made = client.ask().body
        read = client.send(f"GET /responses/{made['id']}")
        assert (read.status, read.body["output"], read.body["id"]) == (200, made["output"], made["id"])
        gone = client.send(f"DELETE /responses/{made['id']}")
        assert (gone.status, gone.body) == (200, {"id": made["id"], "object": "response.deleted", "deleted": True})
        assert client.send(f"GET /responses/{made['id']}").status == 404
        assert client.send(f"DELETE /responses/{made['id']}").status == 404
        assert client.ask(previous_response_id=made["id"]).status == 400

    @pytest.mark.parametrize(("members", "account"), [({"store": False}, {}), ({}, {"zdr": True})])
    def test_a_response_that_is_not_stored_cannot_be_read(
        self, members: dict[str, Any], account: dict[str, Any]
    ) -> None:
        client = Client(**account)
        made = client.ask(**members).body
        assert client.send(f"GET /responses/{made['id']}").status == 404

    def test_a_response_lists_its_own_input_and_not_what_it_continues(self, client: Client) -> None:
        first = client.ask([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]).body["id"]
        second = client.ask("c", previous_response_id=first).body["id"]
        assert texts(client, first) == ["b", "a"]
        assert texts(client, first, order="asc", limit="1") == ["a"]
        assert texts(client, second) == ["c"]

    def test_a_response_gives_its_input_items_ids_to_page_by(self, client: Client) -> None:
        id = client.ask([{"role": "user", "content": text} for text in "abc"]).body["id"]
        page = client.send(f"GET /responses/{id}/input_items", limit="2").body
        assert (page["has_more"], page["last_id"]) == (True, page["data"][1]["id"])
        assert texts(client, id, after=page["last_id"]) == ["a"]

    def test_a_response_has_an_empty_page_after_the_last_item(self, client: Client) -> None:
        id = client.ask().body["id"]
        last = client.send(f"GET /responses/{id}/input_items").body["last_id"]
        page = client.send(f"GET /responses/{id}/input_items", after=last).body
        assert page == {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}

    def test_usage_counts_input_and_output(self, client: Client) -> None:
        small = client.ask("hi").body["usage"]
        large = client.ask("hi " * 100, instructions="Be brief.", tools=functions("f")).body["usage"]
        assert large["input_tokens"] > small["input_tokens"] + 40
        assert large["total_tokens"] == large["input_tokens"] + large["output_tokens"]

    @pytest.mark.parametrize(("model", "encrypted"), [("gpt-6-luna", True), ("gpt-5.6-luna", False)])
    def test_a_response_of_some_models_encrypts_its_reasoning_unasked(
        self, client: Client, model: str, encrypted: bool
    ) -> None:
        client.mock.script([reasoning("**Planning**"), message("Done.")])
        made = client.ask(model=model).body
        assert bool(made["output"][0].get("encrypted_content")) is encrypted

    def test_a_response_is_billed_when_it_is_no_stream(self, client: Client) -> None:
        client.mock.script([message("Once"), incomplete()], message("Twice"))
        bodies = [client.ask().body for _ in range(2)]
        assert [body["billing"] for body in bodies] == [{"payer": "developer"}] * 2
        assert list(bodies[0])[3:8] == ["status", "access_programs", "background", "billing", "completed_at"]

    @pytest.mark.parametrize(
        ("options", "padded"), [({}, True), ({"stream_options": {"include_obfuscation": False}}, False)]
    )
    def test_a_response_may_be_streamed_with_or_without_padding(self, options: dict[str, Any], padded: bool) -> None:
        events = Client().ask(stream=True, **options).events or ()
        deltas = [event for event in events if event["type"].endswith(".delta")]
        assert deltas
        assert all(("obfuscation" in event) is padded for event in deltas)

    def test_a_response_is_chained_to_the_call_it_answers(self, client: Client) -> None:
        client.mock.script(function_call("f", {}, call_id="call_1"), message("done"))
        first = client.ask(tools=functions("f")).body["id"]
        output = {"type": "function_call_output", "call_id": "call_1", "output": "18"}
        assert client.ask(previous_response_id=first).status == 400
        assert client.ask([output], previous_response_id=first).body["output"][0]["content"][0]["text"] == "done"


OUTPUT: dict[str, Any] = {"type": "function_call_output", "call_id": "c", "output": ""}
TEXT = {"type": "output_text", "text": "x"}
WHOLE_TEXT = {**TEXT, "annotations": [], "logprobs": []}


class TestWhatAnItemBecomes:
    def test_what_an_item_becomes_in_the_list_is_typed_and_in_parts(self, client: Client) -> None:
        said = [
            {"role": "user", "content": "a", "id": "msg_mine"},
            {"role": "assistant", "content": "b", "phase": "commentary"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "d"},
        ]
        id = client.ask(said).body["id"]
        user, assistant, call, output = client.send(f"GET /responses/{id}/input_items", order="asc").body["data"]
        assert (user["id"], user["type"], user["content"][0]["type"]) == ("msg_mine", "message", "input_text")
        assert (assistant["phase"], assistant["content"][0]["type"]) == ("commentary", "output_text")
        assert (call["name"], output["output"]) == ("f", "d")

    @pytest.mark.parametrize(
        ("item", "listed"),
        [
            ({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, {"status": "completed"}),
            ({**OUTPUT, "status": None}, {"status": "completed"}),
            ({**OUTPUT, "status": "incomplete"}, {"status": "incomplete"}),
            ({"type": "item_reference", "id": "rs_0"}, {"type": "item_reference", "id": "rs_0"}),
            ({"type": "reasoning", "id": "rs_1", "summary": []}, {"type": "reasoning", "id": "rs_1", "summary": []}),
            ({"role": "assistant", "content": "x"}, {"content": [WHOLE_TEXT]}),
            ({"role": "assistant", "content": [{**TEXT, "logprobs": None}]}, {"content": [WHOLE_TEXT]}),
            (
                {"role": "user", "content": [{"type": "input_image", "file_id": "file_1"}]},
                {"content": [{"type": "input_image", "file_id": "file_1", "image_url": None, "detail": "auto"}]},
            ),
            (
                {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image", "image_url": "u"}]},
                {"output": [{"type": "input_image", "file_id": None, "image_url": "u", "detail": "auto"}]},
            ),
            (
                {**OUTPUT, "type": "shell_call_output", "output": [{"stdout": "x"}]},
                {"output": [{"stdout": "x"}], "status": "completed"},
            ),
        ],
    )
    def test_what_an_item_becomes_has_what_a_list_always_shows(
        self, item: dict[str, Any], listed: dict[str, Any]
    ) -> None:
        (said,) = render_input_items([item])
        assert listed.items() <= said.items()


class TestACallOfAnAsyncTool:
    @pytest.mark.parametrize(
        "call", [function_call("deploy"), custom_tool_call("deploy", "now")], ids=["function", "custom"]
    )
    def test_carries_async_and_may_be_answered_later(self, client: Client, call: Item) -> None:
        kind = "function" if call.type == "function_call" else "custom"
        tool = {"type": kind, "name": "deploy", "async": True}
        client.mock.script(call, message("Still deploying."), message("Deployed."))
        asked = {"model": "gpt-6-astra", "tools": [tool]}
        made = client.ask(**asked).body
        [item] = made["output"]
        assert item["async"] is True
        waiting = client.ask("How far is it?", previous_response_id=made["id"], **asked)
        assert waiting.status == 200
        output = {"type": f"{item['type']}_output", "call_id": item["call_id"], "output": "done"}
        assert client.ask([output], previous_response_id=waiting.body["id"], **asked).status == 200

    def test_a_call_of_an_async_tool_is_as_the_script_says_if_it_does(self, client: Client) -> None:
        client.mock.script(function_call("deploy", async_=False))
        tool = {"type": "function", "name": "deploy", "async": True}
        assert client.ask(model="gpt-6-astra", tools=[tool]).body["output"][0]["async"] is False

    def test_a_call_of_an_async_tool_of_a_tool_that_is_not_async_must_be_answered_first(self, client: Client) -> None:
        client.mock.script(function_call("deploy"))
        made = client.ask(tools=functions("deploy")).body
        assert "async" not in made["output"][0]
        assert client.ask("And now?", previous_response_id=made["id"]).status == 400


class TestAConversation:
    def test_a_conversation_can_be_made_read_and_deleted(self, client: Client) -> None:
        made = client.send("POST /conversations", {"metadata": {"a": "b"}}).body
        assert (made["object"], made["metadata"]) == ("conversation", {"a": "b"})
        assert client.send(f"GET /conversations/{made['id']}").body == made
        gone = client.send(f"DELETE /conversations/{made['id']}").body
        assert gone == {"id": made["id"], "object": "conversation.deleted", "deleted": True}
        assert client.send(f"GET /conversations/{made['id']}").status == 404

    @pytest.mark.parametrize("body", [None, {}, {"items": None, "metadata": None}])
    def test_a_conversation_may_begin_empty(self, client: Client, body: Any) -> None:
        id = client.send("POST /conversations", body).body["id"]
        assert client.world.store.conversations[id].items == []

    def test_a_conversation_grows_with_each_response(self, client: Client) -> None:
        id = client.send("POST /conversations", {"items": [{"role": "user", "content": "a"}]}).body["id"]
        answer = client.ask("b", conversation=id).body
        assert answer["conversation"] == {"id": id}
        client.ask("c", conversation={"id": id}, store=False)
        items = client.world.store.conversations[id].items
        assert [item["content"][0]["text"] for item in items] == ["a", "b", "ok", "c", "ok"]
        assert len({item["id"] for item in items}) == 5


def holds(answered: Any, scripted: Any) -> bool:
    """Return whether an answer has everything that a script names; `include` may add to it."""
    if isinstance(scripted, dict):
        return all(holds(answered.get(name), value) for name, value in scripted.items() if value is not None)
    return bool(answered == scripted)


@settings(max_examples=25, deadline=None)
@given(item=ITEMS)
def test_an_item_of_any_kind_is_answered_as_scripted(item: Item) -> None:
    client = Client()
    client.mock.script([item, completed(off_schema=True)])
    (answered,) = client.ask(include=[*INCLUDE_VALUES]).body["output"]
    generated = {"id", *(name for name in ("call_id", "container_id") if item.members.get(name) is None)}
    scripted = render_item(item, Ids("any"), "resp_0", 0)
    assert holds(answered, {name: value for name, value in scripted.items() if name not in generated})
