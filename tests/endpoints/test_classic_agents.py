"""What only the classic agents of a Foundry project have: resources of MCP servers, files in its storage, a screen."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from harness.core.exchange import Answer, Json, ReceivedRequest
from harness.items import (
    a2a_preview_call,
    a2a_preview_call_output,
    bing_grounding_call,
    bing_grounding_call_output,
    computer_call,
    fabric_dataagent_preview_call,
    fabric_dataagent_preview_call_output,
    function_call,
    message,
)
from harness.items.kind import Item
from harness.server.mock_api import MockApi

PROJECT = "/api/projects/p"
KEY = {"api-key": "mine", "content-type": "application/json"}
ASSET = {"uri": "azureml://subscriptions/s/workspaces/w/datastores/d/paths/guide.md", "type": "uri_asset"}
SERVER = {"type": "mcp", "server_label": "docs", "server_url": "https://docs.example"}
SCREEN = {
    "type": "computer_use_preview",
    "computer_use_preview": {"display_width": 8, "display_height": 8, "environment": "windows"},
}

BODIES: list[tuple[str, Json, str]] = [
    (
        "/assistants",
        {"model": "m", "tools": [SERVER], "tool_resources": {"mcp": [{"server_label": "docs"}]}},
        "tool_resources.mcp",
    ),
    (
        "/assistants",
        {"model": "m", "tool_resources": {"azure_ai_search": {"indexes": [{"index_name": "i"}]}}},
        "tool_resources.azure_ai_search",
    ),
    (
        "/threads",
        {"messages": [{"role": "user", "content": "hi", "attachments": [{"data_source": ASSET, "tools": []}]}]},
        "messages[0].attachments[0].data_source",
    ),
    ("/vector_stores", {"name": "v", "configuration": {"data_sources": [ASSET]}}, "configuration"),
]


class Classic:
    """Asks a mock below a project, or below `/v1`."""

    def __init__(self) -> None:
        self.api = MockApi(fallback=lambda request: [message("Done.")])
        self.mock = self.api.open("mine")

    def send(self, call: str, body: Any = None) -> Answer:
        method, path = call.split(" ")
        raw = b"" if body is None else orjson.dumps(body)
        return self.api.handle(ReceivedRequest(method, PROJECT + path, KEY, {"api-version": "v1"}, raw))

    def make(self, path: str, body: Json) -> Any:
        answer = self.send(f"POST {path}", body)
        assert answer.status == 200, answer.body
        return answer.body


@pytest.fixture
def classic() -> Classic:
    return Classic()


class TestMembersOfAProjectAlone:
    @pytest.mark.parametrize(("path", "body", "place"), BODIES)
    def test_are_taken_there(self, classic: Classic, path: str, body: Json, place: str) -> None:
        assert classic.send(f"POST {path}", body).status == 200

    @pytest.mark.parametrize(("path", "body", "place"), BODIES)
    def test_are_unknown_to_openai(self, classic: Classic, path: str, body: Json, place: str) -> None:
        headers = {"authorization": "Bearer sk-a", "content-type": "application/json", "openai-beta": "assistants=v2"}
        answer = classic.api.handle(ReceivedRequest("POST", f"/v1{path}", headers, raw=orjson.dumps(body)))
        assert (answer.status, answer.body["error"]["message"]) == (400, f"Unknown parameter: '{place}'.")

    def test_are_kept(self, classic: Classic) -> None:
        resources = {"mcp": [{"server_label": "docs", "headers": {}, "require_approval": "never"}]}
        made = classic.make("/assistants", {"model": "m", "tools": [SERVER], "tool_resources": resources})
        assert made["tool_resources"] == resources

    @pytest.mark.parametrize(
        "broken", [5, "x", [5], {"mcp": 5}, {"code_interpreter": 5}, {"file_search": {"vector_stores": 5}}]
    )
    def test_of_a_wrong_type_are_no_crash(self, classic: Classic, broken: Any) -> None:
        assert classic.send("POST /assistants", {"model": "m", "tool_resources": broken}).status in (200, 400)


class TestAFileInTheStorageOfTheProject:
    def test_is_taken_into_a_store_that_is_made_with_it(self, classic: Classic) -> None:
        store = classic.make("/vector_stores", {"configuration": {"data_sources": [ASSET]}})
        assert store["file_counts"]["total"] == 1
        (file,) = classic.send(f"GET /vector_stores/{store['id']}/files").body["data"]
        assert classic.send(f"GET /files/{file['id']}").body["filename"] == "guide.md"

    def test_is_taken_alone_and_in_a_batch(self, classic: Classic) -> None:
        store = classic.make("/vector_stores", {})
        classic.make(f"/vector_stores/{store['id']}/files", {"data_source": ASSET})
        batch = classic.make(f"/vector_stores/{store['id']}/file_batches", {"data_sources": [ASSET, ASSET]})
        assert batch["file_counts"]["total"] == 2
        assert classic.send(f"GET /vector_stores/{store['id']}").body["file_counts"]["total"] == 3

    @pytest.mark.parametrize("source", [None, 5, "x", [], [5]])
    def test_that_is_none_is_a_missing_file(self, classic: Classic, source: Any) -> None:
        store = classic.make("/vector_stores", {})
        answer = classic.send(f"POST /vector_stores/{store['id']}/files", {"data_source": source})
        assert (answer.status, answer.body["error"]["message"]) == (400, "Missing required parameter: 'file_id'.")
        answer = classic.send(f"POST /vector_stores/{store['id']}/file_batches", {"data_source": source})
        assert (answer.status, answer.body["error"]["param"]) == (400, "file_ids")

    def test_is_taken_into_the_store_of_an_assistant(self, classic: Classic) -> None:
        stores = [{"name": "v", "configuration": {"data_sources": [ASSET]}}]
        made = classic.make("/assistants", {"model": "m", "tool_resources": {"file_search": {"vector_stores": stores}}})
        (store,) = made["tool_resources"]["file_search"]["vector_store_ids"]
        assert classic.send(f"GET /vector_stores/{store}").body["file_counts"]["total"] == 1


TYPING: Json = {"type": "type", "text": "movies"}


class TestAScreen:
    def run(self, classic: Classic) -> tuple[str, Json]:
        classic.mock.script([computer_call(TYPING, call_id="call_1")], message("Typed."))
        assistant = classic.make("/assistants", {"model": "m", "tools": [SCREEN]})
        thread = classic.make("/threads", {"messages": [{"role": "user", "content": "Type."}]})
        run = classic.make(f"/threads/{thread['id']}/runs", {"assistant_id": assistant["id"]})
        path = f"/threads/{thread['id']}/runs/{run['id']}"
        classic.send(f"GET {path}")
        return path, classic.send(f"GET {path}").body

    def test_is_a_call_that_the_client_answers(self, classic: Classic) -> None:
        _, run = self.run(classic)
        details = {"action": TYPING, "pending_safety_checks": []}
        assert run["status"] == "requires_action"
        assert run["required_action"]["submit_tool_outputs"]["tool_calls"] == [
            {"id": "call_1", "type": "computer_use_preview", "computer_use_preview": details}
        ]

    def test_goes_on_with_a_picture(self, classic: Classic) -> None:
        path, _ = self.run(classic)
        picture = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA=="}
        output = {"type": "computer_call_output", "tool_call_id": "call_1", "output": picture}
        classic.make(f"{path}/submit_tool_outputs", {"tool_outputs": [output]})
        classic.send(f"GET {path}")
        assert classic.send(f"GET {path}").body["status"] == "completed"
        calls = [step["step_details"].get("tool_calls") for step in classic.send(f"GET {path}/steps").body["data"]]
        assert [call["computer_use_preview"]["output"] for (call,) in filter(None, calls)] == [picture]


def test_an_output_may_say_its_type(classic: Classic) -> None:
    classic.mock.script([function_call("f", {}, call_id="call_1")], message("Done."))
    tool = {"type": "function", "function": {"name": "f"}}
    assistant = classic.make("/assistants", {"model": "m", "tools": [tool]})
    thread = classic.make("/threads", {"messages": [{"role": "user", "content": "hi"}]})
    run = classic.make(f"/threads/{thread['id']}/runs", {"assistant_id": assistant["id"]})
    path = f"/threads/{thread['id']}/runs/{run['id']}"
    classic.send(f"GET {path}"), classic.send(f"GET {path}")
    output = {"type": "function_call_output", "tool_call_id": "call_1", "output": "ok"}
    assert classic.send(f"POST {path}/submit_tool_outputs", {"tool_outputs": [output]}).status == 200


class TestAToolOfTheProject:
    """Recorded 2025-08: a call and what came of it are one entry of a step."""

    TURNS: tuple[tuple[str, tuple[Item, Item], Json], ...] = (
        (
            "connected_agent",
            (a2a_preview_call("stocks", {"query": "MSFT"}), a2a_preview_call_output("stocks", "$350")),
            {"name": "stocks", "arguments": '{"query":"MSFT"}', "output": "$350"},
        ),
        (
            "fabric_dataagent",
            (fabric_dataagent_preview_call('"storms"'), fabric_dataagent_preview_call_output("Floods.")),
            {"input": '"storms"', "output": "Floods."},
        ),
        (
            "bing_grounding",
            (bing_grounding_call("https://bing.example/?q=x"), bing_grounding_call_output("{'num_docs': 5}")),
            {"requesturl": "https://bing.example/?q=x", "response_metadata": "{'num_docs': 5}"},
        ),
    )

    @pytest.mark.parametrize(("tool", "turn", "details"), TURNS)
    def test_is_a_step_with_its_output(
        self, classic: Classic, tool: str, turn: tuple[Item, Item], details: Json
    ) -> None:
        classic.mock.script([*turn, message("Found.")])
        assistant = classic.make("/assistants", {"model": "m", "tools": [{"type": tool, tool: {}}]})
        thread = classic.make("/threads", {"messages": [{"role": "user", "content": "hi"}]})
        run = classic.make(f"/threads/{thread['id']}/runs", {"assistant_id": assistant["id"]})
        path = f"/threads/{thread['id']}/runs/{run['id']}"
        classic.send(f"GET {path}")
        assert classic.send(f"GET {path}").body["status"] == "completed"
        last, first = classic.send(f"GET {path}/steps").body["data"]
        assert last["type"] == "message_creation"
        (call,) = first["step_details"]["tool_calls"]
        assert (call["type"], call[tool]) == (tool, details)
