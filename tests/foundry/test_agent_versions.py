"""The agents of a Foundry project: made, read, listed and forgotten in versions, and asked in the version that is meant."""

from typing import Any

import pytest

from harness.core.exchange import ReceivedRequest
from harness.items import message
from tests.support.foundry import HELPER, PROJECT, ProjectClient


class TestAVersion:
    def test_a_version_is_answered_as_recorded(self, project: ProjectClient) -> None:
        made = project.define("helper", instructions="Help.")
        guid, instance = made["agent_guid"], made["instance_identity"]["principal_id"]
        assert made.pop("created_at") > 0
        assert made.pop("blueprint").keys() == {"principal_id", "client_id"}
        assert made == {
            "metadata": {},
            "object": "agent.version",
            "id": "helper:1",
            "name": "helper",
            "version": "1",
            "description": "",
            "definition": {"kind": "prompt", "model": "mine", "instructions": "Help."},
            "status": "active",
            "instance_identity": {"principal_id": instance, "client_id": instance},
            "blueprint_reference": {"type": "ManagedAgentIdentityBlueprint", "blueprint_id": f"helper-{guid[:5]}"},
            "agent_guid": guid,
        }

    def test_a_version_has_no_status_and_identity_before_they_were_there(self, project: ProjectClient) -> None:
        project.world.set_date("2026-03-17")
        made = project.define("helper")
        assert list(made) == ["metadata", "object", "id", "name", "version", "description", "created_at", "definition"]
        agent = {"object": "agent", "id": "helper", "name": "helper", "versions": {"latest": made}}
        assert project.get("/agents/helper") == agent

    def test_a_version_that_changes_nothing_is_the_one_before(self, project: ProjectClient) -> None:
        first = project.define("helper")
        assert project.define("helper") == first
        changed = {"definition": {"kind": "prompt", "model": "mine"}, "description": "Helps."}
        assert project.ask("POST /agents/helper/versions", changed).body["version"] == "2"
        assert project.define("helper")["version"] == "3"

    def test_a_version_shows_its_kind_and_the_types_of_its_tools_first(self, project: ProjectClient) -> None:
        tool = {"server_label": "docs", "type": "mcp", "server_url": "https://example.com"}
        definition = {"model": "mine", "tools": [tool], "kind": "prompt"}
        made = project.ask("POST /agents/helper/versions", {"definition": definition}).body["definition"]
        assert list(made) == ["kind", "model", "tools"]
        assert list(made["tools"][0]) == ["type", "server_label", "server_url"]

    def test_a_version_follows_the_one_before(self, project: ProjectClient) -> None:
        first, second = project.define("helper"), project.define("helper", instructions="Two.")
        assert project.get("/agents/helper/versions/1") == first
        agent = project.get("/agents/helper")
        assert list(agent) == [
            *("object", "id", "name", "state", "versions", "agent_endpoint"),
            *("instance_identity", "blueprint", "blueprint_reference"),
        ]
        assert (agent["state"], agent["versions"]) == ("enabled", {"latest": second})
        assert second["agent_guid"] == first["agent_guid"]

    def test_a_version_is_listed_newest_first(self, project: ProjectClient) -> None:
        first, second = project.define("helper"), project.define("helper", instructions="Two.")
        path = "/agents/helper/versions"
        listed = project.get(path)
        assert (listed["data"], listed["first_id"], listed["has_more"]) == ([second, first], "helper:2", False)
        assert project.get(path, after="helper:1") == {"data": [], "has_more": False, "object": "list"}
        page = project.get(path, limit="1", order="asc")
        assert (page["data"], page["has_more"]) == ([first], True)
        assert len(project.get(path, limit="x")["data"]) == 2

    def test_a_version_can_be_forgotten(self, project: ProjectClient) -> None:
        first, _ = project.define("helper"), project.define("helper", instructions="Two.")
        deleted = {"object": "agent.version.deleted", "name": "helper", "version": "2", "deleted": True}
        assert project.ask("DELETE /agents/helper/versions/2").body == deleted
        assert project.ask("GET /agents/helper").body["versions"]["latest"] == first

    @pytest.mark.parametrize(
        ("body", "rule"),
        [
            ({}, "agent_version_incomplete"),
            ({"definition": {"kind": "prompt"}}, "agent_version_incomplete"),
            (None, "agent_version_incomplete"),
            ({"definition": {"kind": "prompt", "model": "mine", "tools": [5]}}, "agent_member_type"),
            ({"definition": {"kind": "prompt", "model": "mine", "structured_inputs": [5]}}, "agent_member_type"),
            (b"{", "body_syntax"),
            (b"[]", "body_not_object"),
        ],
    )
    def test_a_version_must_be_whole(self, project: ProjectClient, body: Any, rule: str) -> None:
        refused = project.ask("POST /agents/helper/versions", body)
        assert (refused.status, refused.rule) == (400, rule)


class TestAnAgent:
    def test_an_agent_is_listed_unless_another_kind_is_asked_for(self, project: ProjectClient) -> None:
        for name in ("one", "two"):
            project.define(name)
        project.define("three", kind="workflow")
        assert project.names("/agents") == ["three", "two", "one"]
        assert project.names("/agents", kind="workflow") == ["three"]

    def test_an_agent_of_the_account_was_there_before(self, project: ProjectClient) -> None:
        project.mock.organization(agents={"helper": {"model": "mine"}})
        assert project.ask("GET /agents/helper").body["versions"]["latest"]["version"] == "1"
        assert project.define("helper")["version"] == "1"
        assert project.define("helper", instructions="Two.")["version"] == "2"
        assert project.names("/agents") == ["helper"]

    def test_an_agent_that_is_forgotten_is_gone(self, project: ProjectClient) -> None:
        project.define("helper")
        deleted = {"object": "agent.deleted", "name": "helper", "deleted": True}
        assert project.ask("DELETE /agents/helper").body == deleted
        assert project.ask("GET /agents").body == {"data": [], "has_more": False, "object": "list"}
        for method, path in [("GET", ""), ("DELETE", ""), ("GET", "/versions"), ("GET", "/versions/1")]:
            rule = project.ask(f"{method} /agents/helper{path}").rule
            not_there = {"": "agent_not_there", "/versions/1": "agent_version_not_there"}
            assert rule == (not_there.get(path, "agent_not_found") if method == "GET" else "agent_not_found")
        assert project.respond(agent_reference=HELPER).rule == "agent_unknown"

    @pytest.mark.parametrize(("as_of", "is_brief"), [("2026-06-05", False), ("2026-06-06", True), ("2026-11-01", True)])
    def test_an_agent_is_listed_with_its_newest_version_alone(
        self, project: ProjectClient, as_of: str, is_brief: bool
    ) -> None:
        project.mock.world.set_date(as_of)
        project.define("helper")
        (listed,) = project.ask("GET /agents").body["data"]
        assert (list(listed) == ["object", "id", "name", "versions"]) is is_brief
        assert "agent_endpoint" in project.ask("GET /agents/helper").body

    def test_lives_below_its_project_alone(self, project: ProjectClient) -> None:
        project.define("helper")
        for path in ("/openai/v1/agents/helper", "/openai/v1/agents"):
            assert project.ask(f"GET {path}").status == 404
        assert project.api.handle(ReceivedRequest("GET", "/v1/agents", {"authorization": "Bearer mine"})).status == 404
        unversioned = ReceivedRequest("GET", f"{PROJECT}/agents", {"api-key": "mine"})
        assert project.api.handle(unversioned).body == project.ask("GET /agents").body
        assert project.ask("PUT /agents/helper").rule == "route_not_found"


class TestARequest:
    def test_a_request_is_answered_by_the_version_it_names(self, project: ProjectClient) -> None:
        for text in ("One.", "Two."):
            project.define("helper", instructions=text)
        newest = project.respond(agent_reference=HELPER).body
        first = project.respond(agent_reference={**HELPER, "version": "1"}).body
        assert (newest["instructions"], newest["agent_reference"]["version"]) == ("Two.", "2")
        assert (first["instructions"], first["agent_reference"]["version"]) == ("One.", "1")
        assert project.respond(agent_reference={**HELPER, "version": "3"}).rule == "agent_unknown"

    def test_a_request_finds_its_route_by_the_agent_of_its_path(self, project: ProjectClient) -> None:
        project.define("helper")
        project.mock.when(agent="helper").script(message("By path."))
        said = project.respond("/agents/helper/endpoint/protocols/openai").body
        assert said["output"][0]["content"][0]["text"] == "By path."
        assert said["agent_reference"] == {**HELPER, "version": "1"}

    def test_a_request_gets_items_that_name_the_agent(self, project: ProjectClient) -> None:
        body = project.respond(agent_reference=HELPER).body
        by = {**HELPER, "version": "1"}
        assert (body["output"][0]["agent_reference"], body["output"][0]["response_id"]) == (by, body["id"])
        events = list(project.respond(agent_reference=HELPER, stream=True).events or ())
        items = [event["item"] for event in events if "item" in event]
        assert [item["agent_reference"] for item in items] == [by, by]
        assert events[-1]["response"]["output"] == [items[-1]]
        assert "agent_reference" not in project.respond(model="mine").body["output"][0]

    def test_a_request_may_send_marked_items_back(self, project: ProjectClient) -> None:
        first = project.respond(agent_reference=HELPER).body
        again = project.respond(agent_reference=HELPER, input=[*first["output"], {"role": "user", "content": "More."}])
        assert again.status == 200
