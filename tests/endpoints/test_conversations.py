"""Conversations and their items: what each endpoint answers and changes."""

from typing import Any

import pytest

from harness.contract.rules.request.input_items.images import PNG
from tests.support.foundry import Project
from tests.support.in_process import Client, error, user
from tests.support.tools import CALL, OUTPUT


def start(client: Client, *items: Any) -> str:
    return str(client.send("POST /conversations", {"items": list(items)}).body["id"])


def listed(client: Client, id: str, **query: Any) -> list[str]:
    data = client.send(f"GET /conversations/{id}/items", **query).body["data"]
    return [item["content"][0]["text"] for item in data]


class TestAConversation:
    def test_a_conversation_is_later_with_each_item(self, client: Client) -> None:
        id, before = start(client), client.world.now
        client.send(f"POST /conversations/{id}/items", {"items": [user("Hi.")]})
        assert client.world.now > before

    @pytest.mark.parametrize(("metadata", "kept"), [({"b": "c"}, {"b": "c"}), ({}, {}), (None, {})])
    def test_a_conversation_gets_other_metadata_for_what_it_had(
        self, client: Client, metadata: Any, kept: dict[str, str]
    ) -> None:
        made = client.send("POST /conversations", {"metadata": {"a": "b"}}).body
        changed = client.send(f"POST /conversations/{made['id']}", {"metadata": metadata}).body
        assert changed == {**made, "metadata": kept}
        assert client.send(f"GET /conversations/{made['id']}").body == changed

    @pytest.mark.parametrize("path", ["/conversations", "/conversations/{id}"])
    def test_a_conversation_has_metadata_within_bounds(self, client: Client, path: str) -> None:
        path = path.format(id=start(client))
        many = {str(number): "x" for number in range(17)}
        assert error(client.send(f"POST {path}", {"metadata": many}))[1:] == (
            "Invalid 'metadata': too many properties. Expected an object with at most 16 properties, but got an object "
            "with 17 properties instead.",
            "metadata",
            "object_above_max_properties",
        )
        for metadata in ({"k": "x" * 513}, "x"):
            assert client.send(f"POST {path}", {"metadata": metadata}).status == 400

    def test_a_conversation_needs_metadata_to_be_changed(self, client: Client) -> None:
        said = error(client.send(f"POST /conversations/{start(client)}", {}))
        assert said == (400, "Missing required parameter: 'metadata'.", "metadata", "missing_required_parameter")

    def test_a_conversation_leaves_its_items_where_else_they_are_stored(self, client: Client) -> None:
        id = start(client)
        said = client.ask(conversation=id).body["output"][0]["id"]
        client.send(f"DELETE /conversations/{id}")
        assert client.ask([{"type": "item_reference", "id": said}, user("and?")]).status == 200


class TestItsItems:
    @pytest.mark.parametrize("path", ["/conversations", "/conversations/{id}/items"])
    def test_its_items_are_a_list_of_input_items(self, client: Client, path: str) -> None:
        refused = error(client.send(f"POST {path.format(id=start(client))}", {"items": "x"}))
        assert refused == (
            400,
            "Invalid type for 'items': expected an array of input items, but got a string instead.",
            "items",
            "invalid_type",
        )

    def test_its_items_are_appended_and_listed_in_the_order_they_came(self, client: Client) -> None:
        id = start(client, user("a"))
        added = client.send(f"POST /conversations/{id}/items", {"items": [user("b"), user("c")]}).body
        assert [item["content"][0]["text"] for item in added["data"]] == ["b", "c"]
        assert (added["first_id"], added["last_id"]) == (added["data"][0]["id"], added["data"][1]["id"])
        assert (added["object"], added["has_more"]) == ("list", False)
        assert listed(client, id) == ["c", "b", "a"]

    def test_an_item_that_is_stored_elsewhere_is_added_as_it_is_stored(self, client: Client) -> None:
        first, second = start(client, user("a")), start(client)
        (item,) = client.send(f"GET /conversations/{first}/items").body["data"]
        again = {"items": [{**user("other"), "id": item["id"]}] * 2}
        assert client.send(f"POST /conversations/{second}/items", again).body["data"] == [item, item]
        assert client.send(f"POST /conversations/{first}/items", again).status == 400

    def test_its_items_are_read_page_by_page(self, client: Client) -> None:
        id = start(client, *map(user, "abcd"))
        page = client.send(f"GET /conversations/{id}/items", limit="2", order="asc").body
        assert page["has_more"]
        assert listed(client, id, after=page["last_id"], order="asc") == ["c", "d"]
        assert listed(client, id, before=page["last_id"], order="asc") == ["a"]
        refused = error(client.send(f"GET /conversations/{id}/items", after="msg_x"))
        assert refused[:3] == (404, "No item found with id 'msg_x'", "after")

    def test_its_items_can_be_read_one_by_one(self, client: Client) -> None:
        id = start(client, user("a"))
        (item,) = client.send(f"GET /conversations/{id}/items").body["data"]
        query = {"include": ["message.input_image.image_url"]}
        assert client.send(f"GET /conversations/{id}/items/{item['id']}", **query).body == item

    def test_its_items_are_gone_when_they_are_deleted(self, client: Client) -> None:
        id = start(client, user("a"), user("b"))
        newest, _ = client.send(f"GET /conversations/{id}/items").body["data"]
        left = client.send(f"DELETE /conversations/{id}/items/{newest['id']}").body
        assert (left["id"], left["object"]) == (id, "conversation")
        assert listed(client, id) == ["a"]
        said = f"Item with id '{newest['id']}' not found in conversation."
        for method in ("GET", "DELETE"):
            again = client.send(f"{method} /conversations/{id}/items/{newest['id']}")
            assert error(again) == (404, said, None, None)

    def test_its_items_are_missed_by_what_needs_them(self, client: Client) -> None:
        id = start(client, user("a"), CALL, OUTPUT)
        output, call, _ = client.send(f"GET /conversations/{id}/items").body["data"]
        assert client.ask(conversation=id).status == 200
        client.send(f"DELETE /conversations/{id}/items/{output['id']}")
        assert error(client.ask(conversation=id))[1] == "No tool output found for function call call_1."
        client.send(f"DELETE /conversations/{id}/items/{call['id']}")
        assert client.ask(conversation=id).status == 200
        refused = error(client.ask([OUTPUT], conversation=id))
        assert refused[1] == "No tool call found for function call output with call_id call_1."

    def test_its_items_can_be_referred_to_until_they_are_deleted_everywhere(self, client: Client) -> None:
        id = start(client, user("a"))
        item = client.send(f"GET /conversations/{id}/items").body["data"][0]["id"]
        reference = {"type": "item_reference", "id": item}
        other = start(client, reference)
        assert listed(client, other) == ["a"]
        client.send(f"DELETE /conversations/{id}/items/{item}")
        assert client.ask([reference], store=False).status == 200
        client.send(f"DELETE /conversations/{other}/items/{item}")
        assert error(client.ask([reference]))[:2] == (404, f"Item with id '{item}' not found.")

    @pytest.mark.parametrize("path", ["/conversations", "/conversations/{id}/items"])
    @pytest.mark.parametrize(
        ("items", "message", "param", "code"),
        [
            (
                [user("x")] * 21,
                "Invalid 'items': array too long. Expected an array with maximum length 20, but got an array with length "
                "21 instead.",
                "items",
                "array_above_max_length",
            ),
            (
                [{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}],
                "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
                "items[0].content[0]",
                "invalid_value",
            ),
            (
                [user("x"), {**CALL, "id": "call_1"}],
                "Invalid 'items[1].id': 'call_1'. Expected an ID that begins with 'fc'.",
                "items[1].id",
                "invalid_value",
            ),
            (
                [{"role": "tool", "content": "x"}],
                "Invalid value: 'tool'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
                "items[0]",
                "invalid_value",
            ),
            ([{**user("x"), "y": 1}], "Unknown parameter: 'items[0].y'.", "items[0].y", "unknown_parameter"),
            (
                [user([{"type": "input_image", "image_url": "data:image/png;base64,"}])],
                "Invalid 'items[0].content[0].image_url'. Expected a base64-encoded data URL with an image MIME type "
                "(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got empty base64-encoded bytes.",
                "items[0].content[0].image_url",
                "invalid_value",
            ),
        ],
    )
    def test_its_items_are_judged_like_input_under_their_own_name(
        self, client: Client, path: str, items: Any, message: str, param: str, code: str
    ) -> None:
        refused = client.send(f"POST {path.format(id=start(client))}", {"items": items})
        assert error(refused) == (400, message, param, code)

    @pytest.mark.parametrize(
        "item",
        [
            {"type": "file_search_call", "queries": ["a"], "status": "completed"},
            {"type": "mcp_approval_request", "name": "f", "arguments": "{}", "server_label": "s"},
            {"type": "mcp_list_tools", "tools": [], "server_label": "s"},
        ],
    )
    def test_its_items_that_the_api_named_need_their_id_as_input_does_not(self, client: Client, item: Any) -> None:
        """Reported 2026-05-08 of a file search: https://github.com/openai/openai-agents-python/issues/3267."""
        missing = (400, "Missing required parameter: 'items[0].id'.", "items[0].id", "missing_required_parameter")
        assert error(client.send("POST /conversations", {"items": [item]})) == missing
        assert error(client.send(f"POST /conversations/{start(client)}/items", {"items": [item]})) == missing
        assert client.ask([user("a"), item]).status == 200

    def test_its_items_may_refer_only_to_what_there_is(self, client: Client) -> None:
        refused = client.send("POST /conversations", {"items": [{"type": "item_reference", "id": "msg_x"}]})
        assert error(refused)[:3] == (404, "Item with id 'msg_x' not found.", "items")

    @pytest.mark.parametrize(
        "items",
        [[CALL], [OUTPUT], [user("a")] * 20, [], [user([{"type": "input_image", "image_url": PNG}])]],
        ids=["a call alone", "an output alone", "twenty", "none", "a picture"],
    )
    def test_its_items_may_be(self, client: Client, items: list[Any]) -> None:
        assert client.send(f"POST /conversations/{start(client)}/items", {"items": items}).status == 200

    @pytest.mark.parametrize("body", [None, {}, {"items": None}])
    def test_its_items_must_be_given_to_be_added(self, client: Client, body: Any) -> None:
        said = error(client.send(f"POST /conversations/{start(client)}/items", body))
        assert said[:3] == (400, "Missing required parameter: 'items'.", "items")


UNKNOWN = "/conversations/conv_x"


@pytest.mark.parametrize(
    ("call", "body"),
    [
        (f"GET {UNKNOWN}", None),
        (f"POST {UNKNOWN}", {"metadata": {}}),
        (f"DELETE {UNKNOWN}", None),
        (f"GET {UNKNOWN}/items", None),
        (f"POST {UNKNOWN}/items", {"items": []}),
        (f"GET {UNKNOWN}/items/msg_x", None),
        (f"DELETE {UNKNOWN}/items/msg_x", None),
    ],
)
def test_every_path_of_a_conversation_names_one(client: Client, call: str, body: Any) -> None:
    assert error(client.send(call, body)) == (404, "Conversation with id 'conv_x' not found.", None, None)
    wrong = error(client.send(call.replace("conv_x", "abc"), body))
    assert wrong == (404, "Conversation with id 'abc' not found.", None, None)


class TestInAProject:
    """Recorded 2026-02-12 of a .NET client."""

    def started(self, project: Project, *items: Any) -> str:
        return str(project.ask("POST /conversations", {"items": list(items)}).body["id"])

    def test_in_a_project_is_listed(self) -> None:
        project = Project()
        ids = [self.started(project) for _ in range(2)]
        shown = project.ask("GET /conversations", limit="10").body
        assert [list(entry) for entry in shown["data"]] == [["id", "object", "metadata", "created_at"]] * 2
        assert ([entry["id"] for entry in shown["data"]], shown["has_more"]) == (ids[::-1], False)
        assert Client().send("GET /conversations").status == 405

    def test_a_project_lists_items_of_one_type(self) -> None:
        project = Project()
        id = self.started(project, user("a"), CALL, OUTPUT)
        for type, prefix in (("message", "msg"), ("function_call", "fc"), ("function_call_output", "fco")):
            (item,) = project.ask(f"GET /conversations/{id}/items", item_type=type).body["data"]
            assert (item["type"], item["id"].partition("_")[0]) == (type, prefix)

    def test_in_a_project_is_not_there_in_the_words_of_the_project(self) -> None:
        project = Project("2026-02-12")
        id = self.started(project)
        project.ask(f"DELETE /conversations/{id}")
        for method, path, body in (("GET", f"/conversations/{id}", None), ("POST", "/responses", {"conversation": id})):
            answer = project.ask(f"{method} {path}", body and {"model": "gpt-4o", "input": "hi", **body})
            assert answer.status == 404
            assert answer.body["error"] == {
                "code": "not_found",
                "message": f"Conversation '{id}' not found",
                "type": "error",
                "details": [],
                "additionalInfo": {"request_id": answer.headers["x-request-id"]},
            }
