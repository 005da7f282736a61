"""A toolbox is a server of MCP: it lists the tools of its servers, which a test scripts, and calls them."""

import json
from typing import Any

import pytest

from harness.core.errors import ConfigError
from harness.world.mcp_server import ToolError
from tests.support.foundry import ProjectClient

NAMED = {"type": "object", "properties": {"name": {"type": "string"}}}
SPECS = {"type": "mcp", "server_label": "specs", "server_url": "https://specs.example/mcp"}


@pytest.fixture
def project(project: ProjectClient) -> ProjectClient:
    shown = {"description": "Finds a spec.", "annotations": {"read_only": True}, "input_schema": NAMED}
    find = {**shown, "result": "Found {name}.".format}
    project.mock.mcp("specs", {"find": find, "drop": ToolError("No."), "count": 4})
    project.mock.toolbox("box", tools=[SPECS])
    return project


def rpc(project: ProjectClient, method: str, path: str = "/toolboxes/box/mcp", **params: Any) -> Any:
    answer = project.ask(f"POST {path}", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert (answer.status, answer.body["jsonrpc"], answer.body["id"]) == (200, "2.0", 1)
    return answer.body.get("result") or answer.body["error"]


def call(project: ProjectClient, name: str, **arguments: Any) -> Any:
    return rpc(project, "tools/call", name=name, arguments=arguments)


def test_initialize_names_the_toolbox_server(project: ProjectClient) -> None:
    told = rpc(project, "initialize", protocolVersion="2025-11-25", capabilities={})
    assert (told["protocolVersion"], told["serverInfo"]) == ("2025-11-25", {"name": "box", "version": "1"})
    noted = project.ask("POST /toolboxes/box/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (noted.status, noted.body) == (202, b"")


def test_tools_have_the_label_of_their_server(project: ProjectClient) -> None:
    find, *others = rpc(project, "tools/list")["tools"]
    assert [tool["name"] for tool in others] == ["specs___drop", "specs___count"]
    assert (find["name"], find["description"]) == ("specs___find", "Finds a spec.")
    assert (find["inputSchema"], others[0]["inputSchema"]["type"]) == (NAMED, "object")
    assert (find["annotations"], find["_meta"]) == ({"readOnlyHint": True}, {"tool_configuration": SPECS})


def test_tools_are_called(project: ProjectClient) -> None:
    found = {"content": [{"type": "text", "text": "Found agents."}], "isError": False}
    assert rpc(project, "tools/call", name="specs___find", arguments={"name": "agents"}) == found
    assert call(project, "specs___count")["content"][0]["text"] == "4"
    assert call(project, "specs___drop")["isError"] is True


def test_a_search_stands_in_the_place_of_the_tools(project: ProjectClient) -> None:
    project.mock.toolbox("box", tools=[SPECS, {"type": "toolbox_search"}])
    assert [tool["name"] for tool in rpc(project, "tools/list")["tools"]] == ["tool_search", "call_tool"]

    def search(**arguments: Any) -> list[str]:
        told = json.loads(call(project, "tool_search", **arguments)["content"][0]["text"])
        return [tool["name"] for tool in told["tools"]]

    assert search(query="find a spec")[0] == "specs___find"
    assert search(query="weather") == []
    assert len(search()) == 3
    assert len(search(limit=1)) == 1
    told = {"name": "specs___find", "arguments": {"name": "agents"}}
    called = rpc(project, "tools/call", name="call_tool", arguments=told)
    assert called["content"][0]["text"] == "Found agents."


def test_skills_are_resources(project: ProjectClient) -> None:
    project.mock.skill("refunds", description="Decides.", instructions="Ask first.")
    project.mock.toolbox("box", skills=[{"type": "skill_reference", "name": "refunds"}, {"name": "other"}, 5])
    (shown,) = rpc(project, "resources/list")["resources"]
    assert (shown["uri"], shown["description"]) == ("skill://refunds/SKILL.md", "Decides.")
    (read,) = rpc(project, "resources/read", uri=shown["uri"])["contents"]
    assert read["text"].endswith("Ask first.")
    assert rpc(project, "resources/read", uri="skill://other/SKILL.md")["code"] == -32602


def test_a_version_and_the_operation_of_the_sdk_answer_too(project: ProjectClient) -> None:
    project.mock.toolbox("box", tools=[])
    assert rpc(project, "tools/list") == {"tools": []}
    assert rpc(project, "tools/list", "/toolboxes/box:invoke_mcp") == {"tools": []}
    assert len(rpc(project, "tools/list", "/toolboxes/box/versions/1/mcp")["tools"]) == 3


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("prompts/list", {}, -32601),
        ("tools/call", {"name": "specs___other"}, -32602),
        ("tools/call", {"name": "find"}, -32602),
        ("tools/call", {}, -32602),
        ("resources/read", {"uri": 5}, -32602),
    ],
)
def test_a_missing_tool_is_reported(project: ProjectClient, method: str, params: Any, code: int) -> None:
    assert rpc(project, method, **params)["code"] == code


@pytest.mark.parametrize(
    "body",
    [
        *[{"id": 1}, {"id": None, "method": 5, "params": 7}, {"id": [], "method": "tools/call"}],
        {"id": 1, "method": "tools/call", "params": {"name": []}},
    ],
)
def test_odd_calls_do_no_harm(project: ProjectClient, body: Any) -> None:
    assert "error" in project.ask("POST /toolboxes/box/mcp", body).body
    assert project.mock.world.problems == []


def test_an_unknown_toolbox_and_bad_json_are_reported(project: ProjectClient) -> None:
    for path in ("/toolboxes/x/mcp", "/toolboxes/x:invoke_mcp", "/toolboxes/box/versions/9/mcp"):
        assert project.ask(f"POST {path}", {"id": 1, "method": "ping"}).rule == "toolbox_not_found"
    assert project.ask("POST /toolboxes/box/mcp", b"{").rule == "body_syntax"
    assert project.ask("POST /toolboxes/box/mcp").status == 202


def test_a_label_must_have_a_server(project: ProjectClient) -> None:
    odd = [{"type": "mcp", "server_label": label} for label in ("other", [], None)]
    project.mock.toolbox("box", tools=[*odd, {"type": "mcp"}, {"type": []}, {**SPECS, "type": "other"}])
    assert rpc(project, "tools/list") == {"tools": []}
    with pytest.raises(ConfigError):
        project.mock.toolbox("box", tools=5)


@pytest.mark.parametrize(
    ("allowed", "count"),
    [(["find"], 1), ({"tool_names": ["find", "drop"]}, 2), (5, 3), ({"tool_names": 5}, 3), ([[]], 0)],
)
def test_only_allowed_tools_are_listed(project: ProjectClient, allowed: Any, count: int) -> None:
    project.mock.toolbox("box", tools=[{**SPECS, "allowed_tools": allowed}])
    assert len(rpc(project, "tools/list")["tools"]) == count
