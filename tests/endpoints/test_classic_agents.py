"""What only the classic agents of a Foundry project have: resources of MCP servers, files in its storage, a screen."""

from typing import Any

import pytest

from harness.core.exchange import Json
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
from tests.support.foundry import ProjectClient
from tests.support.in_process import send

ASSET = {"uri": "azureml://subscriptions/s/workspaces/w/datastores/d/paths/guide.md", "type": "uri_asset"}
SERVER = {"type": "mcp", "server_label": "docs", "server_url": "https://docs.example"}
SIZE = {"display_width": 8, "display_height": 8, "environment": "windows"}
SCREEN = {"type": "computer_use_preview", "computer_use_preview": SIZE}

INDEXES: Json = {"indexes": [{"index_name": "i"}]}
STORES: Json = [{"name": "v", "configuration": {"data_sources": [ASSET]}}]
BODIES: list[tuple[str, Json, str]] = [
    ("/assistants", {"tools": [SERVER], "tool_resources": {"mcp": [{"server_label": "docs"}]}}, "tool_resources.mcp"),
    ("/assistants", {"tool_resources": {"azure_ai_search": INDEXES}}, "tool_resources.azure_ai_search"),
    (
        "/threads",
        {"messages": [{"role": "user", "content": "hi", "attachments": [{"data_source": ASSET, "tools": []}]}]},
        "messages[0].attachments[0].data_source",
    ),
    ("/vector_stores", STORES[0], "configuration"),
]


class Classic(ProjectClient):
    """Asks a mock below a project."""

    def make(self, path: str, **body: Any) -> Any:
        answer = self.ask(f"POST {path}", body)
        assert answer.status == 200, answer.body
        return answer.body

    def run(self, tool: Json) -> str:
        """Return the path of a run with this tool, which has moved on as far as it does by itself."""
        assistant = self.make("/assistants", model="m", tools=[tool])
        thread = self.make("/threads", messages=[{"role": "user", "content": "hi"}])
        run = self.make(f"/threads/{thread['id']}/runs", assistant_id=assistant["id"])
        path = f"/threads/{thread['id']}/runs/{run['id']}"
        self.get(path), self.get(path)
        return path


@pytest.fixture
def classic() -> Classic:
    return Classic()


def words_of_openai(classic: Classic, path: str, body: Json) -> str:
    """Return the words with which OpenAI refuses a body."""
    answer = send(classic.api, f"POST /v1{path}", body, {"openai-beta": "assistants=v2"}, "sk-a")
    assert answer.status == 400
    return str(answer.body["error"]["message"])


class TestMembersOfAProjectAlone:
    @pytest.mark.parametrize(("path", "body", "place"), BODIES)
    def test_members_of_a_project_are_accepted_there_and_unknown_to_openai(
        self, classic: Classic, path: str, body: Json, place: str
    ) -> None:
        body = {"model": "m", **body} if path == "/assistants" else body
        assert classic.ask(f"POST {path}", body).status == 200
        assert words_of_openai(classic, path, body) == f"Unknown parameter: '{place}'."

    @pytest.mark.parametrize(
        ("path", "body", "words"),
        [
            ("runs", {"assistant_id": "asst_x", "tool_resources": {}}, "Unknown parameter: 'tool_resources'."),
            ("runs/run_x/submit_tool_outputs", {"tool_approvals": []}, "Missing required parameter: 'tool_outputs'."),
            (
                "runs",
                {"assistant_id": "asst_x", "tools": [SERVER]},
                "Invalid value: 'mcp'. Supported values are: 'code_interpreter', 'function', and 'file_search'.",
            ),
        ],
    )
    def test_members_of_a_projects_run_are_accepted_only_there(
        self, classic: Classic, path: str, body: Json, words: str
    ) -> None:
        assert classic.ask(f"POST /threads/thread_x/{path}", body).status == 404
        assert words_of_openai(classic, f"/threads/thread_x/{path}", body) == words

    @pytest.mark.parametrize("servers", [[{"server_label": "docs", "headers": {}, "require_approval": "never"}], 5])
    def test_members_of_a_project_alone_are_kept(self, classic: Classic, servers: Any) -> None:
        resources = {"mcp": servers}
        made = classic.make("/assistants", model="m", tools=[SERVER], tool_resources=resources)
        assert made["tool_resources"] == resources

    @pytest.mark.parametrize(
        ("broken", "place"),
        [
            *((broken, "tool_resources") for broken in (5, "x", [5])),
            ({"code_interpreter": 5}, "tool_resources.code_interpreter"),
            ({"file_search": {"vector_stores": 5}}, "tool_resources.file_search.vector_stores"),
        ],
    )
    def test_members_of_a_project_alone_of_a_wrong_type_are_refused(
        self, classic: Classic, broken: Any, place: str
    ) -> None:
        answer = classic.ask("POST /assistants", {"model": "m", "tool_resources": broken})
        assert (answer.status, answer.body["error"]["param"]) == (400, place)


class TestAFileInTheStorageOfTheProject:
    def test_a_file_in_the_storage_is_added_to_a_store_that_is_created_with_it(self, classic: Classic) -> None:
        store = classic.make("/vector_stores", **STORES[0])
        assert store["file_counts"]["total"] == 1
        (file,) = classic.get(f"/vector_stores/{store['id']}/files")["data"]
        assert classic.get(f"/files/{file['id']}")["filename"] == "guide.md"

    def test_a_file_in_the_storage_of_the_project_is_added_alone_and_in_a_batch(self, classic: Classic) -> None:
        path = f"/vector_stores/{classic.make('/vector_stores')['id']}"
        classic.make(f"{path}/files", data_source=ASSET)
        batch = classic.make(f"{path}/file_batches", data_sources=[ASSET, ASSET])
        assert (batch["file_counts"]["total"], classic.get(path)["file_counts"]["total"]) == (2, 3)

    @pytest.mark.parametrize("source", [None, 5, "x", [], [5]])
    def test_a_file_that_is_not_in_the_storage_of_the_project_is_a_missing_file(
        self, classic: Classic, source: Any
    ) -> None:
        path = f"POST /vector_stores/{classic.make('/vector_stores')['id']}"
        answer = classic.ask(f"{path}/files", {"data_source": source})
        assert (answer.status, answer.body["error"]["message"]) == (400, "Missing required parameter: 'file_id'.")
        answer = classic.ask(f"{path}/file_batches", {"data_source": source})
        assert (answer.status, answer.body["error"]["param"]) == (400, "file_ids")

    def test_a_file_in_the_storage_is_added_to_the_store_of_an_assistant(self, classic: Classic) -> None:
        made = classic.make("/assistants", model="m", tool_resources={"file_search": {"vector_stores": STORES}})
        (store,) = made["tool_resources"]["file_search"]["vector_store_ids"]
        assert classic.get(f"/vector_stores/{store}")["file_counts"]["total"] == 1


TYPING: Json = {"type": "type", "text": "movies"}


def test_a_screen_is_a_call_that_the_client_answers_with_a_picture(classic: Classic) -> None:
    classic.mock.script([computer_call(TYPING, call_id="call_1")], message("Typed."))
    path = classic.run(SCREEN)
    run = classic.get(path)
    details = {"action": TYPING, "pending_safety_checks": []}
    assert run["status"] == "requires_action"
    assert run["required_action"]["submit_tool_outputs"]["tool_calls"] == [
        {"id": "call_1", "type": "computer_use_preview", "computer_use_preview": details}
    ]
    picture = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA=="}
    output = {"type": "computer_call_output", "tool_call_id": "call_1", "output": picture}
    classic.make(f"{path}/submit_tool_outputs", tool_outputs=[output])
    classic.get(path)
    assert classic.get(path)["status"] == "completed"
    calls = [step["step_details"].get("tool_calls") for step in classic.get(f"{path}/steps")["data"]]
    assert [call["computer_use_preview"]["output"] for (call,) in filter(None, calls)] == [picture]


def test_an_output_may_say_its_type(classic: Classic) -> None:
    classic.mock.script([function_call("f", {}, call_id="call_1")], message("Done."))
    path = classic.run({"type": "function", "function": {"name": "f"}})
    output = {"type": "function_call_output", "tool_call_id": "call_1", "output": "ok"}
    assert classic.ask(f"POST {path}/submit_tool_outputs", {"tool_outputs": [output]}).status == 200


@pytest.mark.parametrize(
    ("tool", "turn", "details"),
    [
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
    ],
)
def test_a_tool_of_the_project_is_a_step_with_its_output(
    classic: Classic, tool: str, turn: tuple[Item, Item], details: Json
) -> None:
    """Recorded 2025-08: a call and what came of it are one entry of a step."""
    classic.mock.script([*turn, message("Found.")])
    path = classic.run({"type": tool, tool: {}})
    assert classic.get(path)["status"] == "completed"
    last, first = classic.get(f"{path}/steps")["data"]
    assert last["type"] == "message_creation"
    (call,) = first["step_details"]["tool_calls"]
    assert (call["type"], call[tool]) == (tool, details)
