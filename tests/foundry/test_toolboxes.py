"""Toolboxes of a project: tools that agents share, in versions that the service numbers."""

from typing import Any

import pytest

from tests.support.foundry import ProjectClient, said

MCP = {"server_label": "specs", "type": "mcp", "server_url": "https://example.com/mcp"}


def make(project: ProjectClient, **members: Any) -> Any:
    answer = project.ask("POST /toolboxes/box/versions", {"tools": [MCP], **members})
    assert answer.status == 200, answer.body
    return answer.body


class TestAToolbox:
    def test_a_toolbox_is_answered_as_recorded(self, project: ProjectClient) -> None:
        made = make(project, description="Specs.", skills=[{"name": "s", "version": "1", "type": "skill_reference"}])
        id, created_at = made["id"].removesuffix(":1"), made["created_at"]
        assert list(made.items()) == [
            *[("metadata", {}), ("id", f"{id}:1"), ("name", "box"), ("version", "1"), ("description", "Specs.")],
            *[("created_at", created_at), ("tools", [MCP])],
            ("skills", [{"type": "skill_reference", "name": "s", "version": "1"}]),
            ("object", "toolbox.version"),
        ]
        assert list(made["tools"][0]) == ["type", "server_label", "server_url"]
        assert list(project.get("/toolboxes/box").items()) == [
            *[("id", id), ("name", "box"), ("updated_at", created_at), ("versions", {"latest": made})],
            *[("default_version", "1"), ("object", "toolbox")],
        ]

    def test_a_toolbox_had_fewer_members_before(self) -> None:
        project = ProjectClient(as_of="2026-05-29")
        id = make(project)["id"].removesuffix(":1")
        assert project.get("/toolboxes/box") == {"id": id, "name": "box", "default_version": "1", "object": "toolbox"}

    def test_a_toolbox_points_to_the_version_that_was_set(self, project: ProjectClient) -> None:
        first, second = make(project), make(project)
        assert project.get("/toolboxes/box")["default_version"] == "1"
        assert project.ask("PATCH /toolboxes/box", {"default_version": "2"}).body["default_version"] == "2"
        assert project.names("/toolboxes/box/versions", "version") == ["2", "1"]
        assert project.get("/toolboxes/box/versions/2") == second
        assert project.ask("DELETE /toolboxes/box/versions/2").status == 204
        assert project.get("/toolboxes/box")["default_version"] == first["version"]

    def test_a_toolbox_is_listed(self, project: ProjectClient) -> None:
        assert project.get("/toolboxes")["data"] == []
        make(project)
        project.mock.toolbox("other", tools=[MCP])
        assert project.names("/toolboxes") == ["other", "box"]

    def test_a_deleted_toolbox_is_answered_as_recorded(self, project: ProjectClient) -> None:
        make(project)
        gone = project.ask("DELETE /toolboxes/box")
        assert (gone.status, gone.body) == (204, b"")
        answer = project.ask("DELETE /toolboxes/box")
        assert (answer.status, said(answer)) == (404, "Toolbox 'box' not found")
        for call in ("GET /toolboxes/box", "GET /toolboxes/box/versions/1", "GET /toolboxes/box/versions"):
            assert project.ask(call).rule == "toolbox_not_found"
        assert project.ask("PATCH /toolboxes/box", {"default_version": "1"}).rule == "toolbox_not_found"

    def test_a_toolbox_has_no_version_that_was_not_made(self, project: ProjectClient) -> None:
        make(project)
        for call, body in (("GET /toolboxes/box/versions/9", None), ("PATCH /toolboxes/box", {"default_version": "9"})):
            answer = project.ask(call, body)
            assert answer.body["error"]["message"].startswith("Toolbox 'box' version '9' not found [")
        assert project.get("/toolboxes/box")["default_version"] == "1"

    @pytest.mark.parametrize("body", [None, {}, {"tools": 5}, {"tools": None}, b"{", b"[]"])
    def test_a_toolbox_must_say_its_tools(self, project: ProjectClient, body: Any) -> None:
        assert project.ask("POST /toolboxes/box/versions", body).status == 400
        assert project.get("/toolboxes")["data"] == []

    def test_a_toolbox_keeps_odd_members_without_harm(self, project: ProjectClient) -> None:
        odd = [5, None, {}, {"type": 7}]
        made = make(project, tools=odd, skills="x", metadata=5, description=[], policies={"a": 1})
        assert (made["tools"], made["skills"], made["policies"]) == (odd, [], {"a": 1})
        make(project, tools=[{"type": "mcp", "server_label": {}}], skills=[{"name": {}}, {"name": ["x"]}])
        listed = project.ask("POST /toolboxes/box/mcp", {"jsonrpc": "2.0", "id": 1, "method": "resources/list"})
        assert listed.body["result"] == {"resources": []}
        assert project.mock.world.problems == []


@pytest.mark.parametrize("connection", ["fabric", "/subscriptions/s/connections/fabric"])
def test_a_server_of_fabric_iq_is_named_after_its_connection(project: ProjectClient, connection: str) -> None:
    tool = {"type": "fabric_iq_preview", "name": "iq", "project_connection_id": connection, "require_approval": "never"}
    (stored,) = make(project, tools=[tool])["tools"]
    assert list(stored.items()) == [
        *[("type", "fabric_iq_preview"), ("project_connection_id", connection), ("server_label", "fabric")],
        *[("require_approval", "never"), ("name", "iq")],
    ]
    assert make(project, tools=[{**tool, "server_label": "x"}])["tools"][0]["server_label"] == "x"


def test_a_tool_of_work_iq_is_written_in_its_order(project: ProjectClient) -> None:
    tool = {"type": "work_iq_preview", "name": "iq", "description": "Works.", "project_connection_id": "work"}
    (stored,) = make(project, tools=[tool])["tools"]
    assert list(stored) == ["type", "project_connection_id", "name", "description"]
