"""Agents of a Foundry project: configured, switched off and on, of every kind, and what their definitions give."""

from collections import Counter
from hashlib import sha256
from typing import Any

import orjson
import pytest

from harness.core.account import Organization
from harness.core.errors import ConfigError
from harness.core.exchange import Answer, Json
from harness.foundry.agent_versions import AGENTS
from harness.items import message
from tests.support.foundry import HELPER, ProjectClient

ENDPOINT = "/agents/helper/endpoint/protocols/openai"
MERGE = {"content-type": "application/merge-patch+json"}


def share(version: str, percentage: int) -> Json:
    return {"type": "FixedRatio", "agent_version": version, "traffic_percentage": percentage}


def direct(project: ProjectClient, *rules: Json) -> Answer:
    """Divide the traffic at the agent's endpoint."""
    selector = {"version_selection_rules": list(rules)}
    return project.ask("PATCH /agents/helper", {"agent_endpoint": {"version_selector": selector}}, headers=MERGE)


class TestTheEndpointOfAnAgent:
    def test_the_endpoint_is_that_of_the_newest_version_until_it_is_configured(self, project: ProjectClient) -> None:
        project.define("helper")
        assert project.get("/agents/helper")["agent_endpoint"] == {
            "version_selector": {"version_selection_rules": [share("@latest", 100)]},
            "protocols": ["responses"],
            "protocol_configuration": {"responses": {}},
            "authorization_schemes": [{"type": "Entra", "isolation_key_source": {"kind": "Entra"}}],
        }

    def test_the_endpoint_of_an_agent_is_changed_by_a_merge_patch(self, project: ProjectClient) -> None:
        project.define("helper")
        patched = direct(project, share("1", 100)).body["agent_endpoint"]
        assert patched["version_selector"] == {"version_selection_rules": [share("1", 100)]}
        assert patched["protocols"] == ["responses"]
        body = {"agent_endpoint": {"protocol_configuration": {"a2a": {}}}, "agent_card": {"version": "1", "skills": []}}
        agent = project.ask("PATCH /agents/helper", body, headers=MERGE).body
        assert agent["agent_endpoint"]["protocols"] == ["a2a"]
        assert agent["agent_endpoint"]["version_selector"] == patched["version_selector"]
        assert agent["agent_card"] == {"version": "1", "skills": []}
        members = list(agent)
        assert members.index("agent_card") + 1 == members.index("agent_endpoint")
        restored = project.ask("PATCH /agents/helper", {"agent_endpoint": None}, headers=MERGE).body
        assert restored["agent_endpoint"]["protocols"] == ["responses"]

    def test_divides_its_traffic_among_versions(self, project: ProjectClient) -> None:
        project.define("helper", instructions="One.")
        project.define("helper", instructions="Two.")
        direct(project, share("1", 25), share("2", 75))
        said = [project.respond(ENDPOINT).body for _ in range(8)]
        assert Counter(item["agent_reference"]["version"] for item in said) == {"1": 2, "2": 6}
        assert {item["instructions"] for item in said if item["agent_reference"]["version"] == "1"} == {"One."}
        assert project.respond(agent_reference=HELPER).body["agent_reference"]["version"] == "2"

    def test_the_endpoint_of_an_agent_answers_as_the_kind_of_the_version_that_has_the_traffic(
        self, project: ProjectClient
    ) -> None:
        project.define("helper")
        project.define("helper", kind="hosted")
        assert project.respond(ENDPOINT).body["id"].startswith("caresp_")
        direct(project, share("1", 100))
        assert project.respond(ENDPOINT).body["id"].startswith("resp_")

    def test_filters_the_prompt_of_an_agent_but_not_of_one_that_calls_models_itself(
        self, project: ProjectClient
    ) -> None:
        project.define("helper")
        project.mock.organization(blocked=["violence"])
        assert project.respond(ENDPOINT).body["error"]["code"] == "content_filter"
        project.define("helper", kind="hosted")
        assert project.respond(ENDPOINT).status == 200

    def test_the_endpoint_of_an_agent_falls_back_to_the_newest_version_when_the_selected_one_is_gone(
        self, project: ProjectClient
    ) -> None:
        project.define("helper", instructions="One.")
        project.define("helper", instructions="Two.")
        direct(project, share("1", 100))
        project.ask("DELETE /agents/helper/versions/1")
        assert project.respond(ENDPOINT).body["agent_reference"]["version"] == "2"

    @pytest.mark.parametrize(
        "body",
        [
            [],
            {"agent_endpoint": 5},
            {"agent_endpoint": {"version_selector": []}},
            {"agent_endpoint": {"version_selector": {"version_selection_rules": [5]}}},
            {"agent_endpoint": {"version_selector": {"version_selection_rules": [share("1", True)]}}},
            {"agent_card": "x"},
        ],
    )
    def test_the_endpoint_of_an_agent_has_members_of_their_types(self, project: ProjectClient, body: Any) -> None:
        project.define("helper")
        assert project.ask("PATCH /agents/helper", body, headers=MERGE).status == 400
        assert project.get("/agents/helper")["agent_endpoint"]["protocols"] == ["responses"]

    @pytest.mark.parametrize("rules", [[{}], [{"agent_version": "9"}], [share("1", 0)], [share("1", -5)], []])
    def test_the_endpoint_of_an_agent_answers_whatever_the_rules_select(
        self, project: ProjectClient, rules: list[Json]
    ) -> None:
        project.define("helper")
        assert direct(project, *rules).status == 200
        assert project.respond(ENDPOINT).body["agent_reference"]["version"] == "1"

    def test_the_endpoint_of_an_agent_is_that_of_an_agent_that_there_is(self, project: ProjectClient) -> None:
        for method, path in [("PATCH", ""), ("POST", ":enable"), ("POST", ":disable"), ("POST", "")]:
            body = {"definition": {"kind": "prompt", "model": "mine"}}
            assert project.ask(f"{method} /agents/helper{path}", body).rule == "agent_not_found"


def test_an_agent_is_switched_off_and_on(project: ProjectClient) -> None:
    project.define("helper")
    for action, state in [("disable", "disabled"), ("disable", "disabled"), ("enable", "enabled")]:
        answer = project.ask(f"POST /agents/helper:{action}")
        assert (answer.status, answer.body) == (204, b"")
        assert project.get("/agents/helper")["state"] == state


def test_an_agent_is_made_and_changed_as_a_whole(project: ProjectClient) -> None:
    made = project.ask("POST /agents", {"name": "helper", "definition": {"kind": "prompt", "model": "mine"}})
    assert (made.status, made.body["object"], made.body["versions"]["latest"]["version"]) == (200, "agent", "1")
    changed = project.ask("POST /agents/helper", {"definition": {"kind": "prompt", "model": "other"}}).body
    assert changed["versions"]["latest"]["version"] == "2"
    assert project.ask("POST /agents", {"definition": {"kind": "prompt", "model": "mine"}}).status == 400


def test_a_version_is_imported_from_a_manifest(project: ProjectClient) -> None:
    body = {"manifest_id": "m", "parameter_values": {"model": "mine", "instructions": "Help."}}
    made = project.ask("POST /agents/helper/versions:import", body).body
    assert made["definition"] == {"kind": "prompt", "model": "mine", "instructions": "Help."}
    assert project.ask("POST /agents/helper/versions:import").body["version"] == "2"


def test_a_draft_is_not_the_newest_version(project: ProjectClient) -> None:
    project.define("helper")
    draft = {"definition": {"kind": "prompt", "model": "other"}, "draft": True}
    assert project.ask("POST /agents/helper/versions", draft).body["draft"] is True
    assert project.get("/agents/helper")["versions"]["latest"]["version"] == "1"
    assert len(project.ask("GET /agents/helper/versions").body["data"]) == 1
    drafts = project.ask("GET /agents/helper/versions", include_drafts="true").body
    assert [entry["version"] for entry in drafts["data"]] == ["2", "1"]


class TestAKind:
    @pytest.mark.parametrize(
        ("definition", "flag"),
        [
            ({"kind": "workflow", "workflow": "kind: workflow"}, "WorkflowAgents=V1Preview"),
            ({"kind": "external", "otel_agent_id": "x"}, "ExternalAgents=V1Preview"),
            ({"kind": "voice", "model": "gpt-realtime"}, "VoiceAgents=V1Preview"),
        ],
    )
    def test_a_kind_in_preview_must_be_asked_for(self, project: ProjectClient, definition: Json, flag: str) -> None:
        body = {"definition": definition}
        refused = project.ask("POST /agents/helper/versions", body, {"foundry-features": "Skills=V1Preview"})
        assert (refused.status, refused.rule) == (403, "preview_feature_required")
        assert list(refused.body["error"]) == ["code", "message", "param", "type", "details", "additionalInfo"]
        assert flag in refused.body["error"]["message"]
        assert project.ask("POST /agents/helper/versions", body, {"foundry-features": flag}).status == 200

    def test_has_a_name_of_letters_digits_and_hyphens(self, project: ProjectClient) -> None:
        refused = project.ask("POST /agents/my_agent/versions", {"definition": {"kind": "prompt", "model": "mine"}})
        assert (refused.status, refused.rule) == (400, "agent_name_invalid")

    def test_that_is_external_has_neither_identities_nor_an_endpoint(self, project: ProjectClient) -> None:
        body = {"definition": {"kind": "external", "otel_agent_id": "x"}}
        made = project.ask("POST /agents/helper/versions", body).body
        shown = project.get("/agents/helper")
        for members in (made, shown, shown["versions"]["latest"]):
            assert members.keys().isdisjoint(
                {"agent_endpoint", "instance_identity", "blueprint", "blueprint_reference"}
            )
        assert shown["state"] == "enabled"

    @pytest.mark.parametrize("path", ["", "/versions", "/versions/1"])
    def test_a_kind_that_is_hosted_is_being_made_until_it_is_read(self, project: ProjectClient, path: str) -> None:
        made = project.ask("POST /agents/helper/versions", {"definition": {"kind": "hosted"}}).body
        assert made["status"] == "creating"
        assert project.ask(f"GET /agents/helper{path}").status == 200
        assert project.world.store.table(AGENTS)["helper"] == [{**made, "status": "active"}]


class TestCode:
    """A version of which is sent as a form: JSON as `metadata`, and a zip as `code`."""

    @staticmethod
    def send(project: ProjectClient, metadata: str, code: bytes) -> Answer:
        part = b'--b\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n'
        raw = part % (b"metadata", metadata.encode()) + part % (b'code"; filename="a.zip', code) + b"--b--\r\n"
        headers = {"content-type": "multipart/form-data; boundary=b"}
        return project.ask("POST /agents/coded/versions", raw, headers=headers)

    def test_makes_a_version_that_gives_it_back(self, project: ProjectClient) -> None:
        code = bytes(range(256))
        definition = {"kind": "hosted", "cpu": "1", "code_configuration": {"runtime": "python_3_14"}}
        metadata = orjson.dumps({"definition": definition, "description": "d"}).decode()
        made = self.send(project, metadata, code).body
        digest = sha256(code).hexdigest()
        assert made["definition"]["code_configuration"] == {"runtime": "python_3_14", "content_hash": digest}
        assert made["description"] == "d"
        for query in ({}, {"agent_version": "1"}):
            given = project.ask("GET /agents/coded/code:download", **query)
            assert (given.status, given.body, given.headers["content-type"]) == (200, code, "application/zip")
        assert self.send(project, metadata, code).body == made

    @pytest.mark.parametrize("metadata", ["{", "[]", "5", "", "{}"])
    def test_must_be_described(self, project: ProjectClient, metadata: str) -> None:
        assert self.send(project, metadata, b"zip").rule == "agent_version_incomplete"

    def test_code_that_is_not_there_cannot_be_read(self, project: ProjectClient) -> None:
        project.define("helper")
        path = "/agents/helper/code:download"
        assert project.ask(f"GET {path}").rule == "agent_not_of_code"
        assert project.ask(f"GET {path}", agent_version="9").rule == "agent_not_found"


class TestADefinition:
    def test_a_definition_is_what_a_route_sees(self, project: ProjectClient) -> None:
        project.define("helper", instructions="Help.", tools=[{"type": "web_search"}], temperature=0.5)
        project.mock.when(instructions="Help.", agent="helper").script(message("By route."))
        said = project.respond(agent_reference=HELPER).body
        assert said["output"][0]["content"][0]["text"] == "By route."
        assert said["temperature"] == 0.5

    def test_a_definition_is_filled_with_structured_inputs(self, project: ProjectClient) -> None:
        defaults = {"role": {"default_value": "guest"}, "limits": {"default_value": {"a": 1}}}
        inputs = {"name": {"required": True}, **defaults, "store": {}}
        tools = [
            {"type": "mcp", "server_label": "{{name}}", "server_url": "https://{{ role }}.example.com"},
            {"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["{{store}}"]}},
        ]
        text = "{{name}} is {{role}} of {{other}} {{limits}}."
        project.define("helper", instructions=text, tools=tools, structured_inputs=inputs)
        said = project.respond(agent_reference=HELPER, structured_inputs={"name": "Ada", "other": "x"})
        assert said.body["instructions"] == 'Ada is guest of {{other}} {"a":1}.'
        server, code = said.body["tools"]
        assert (server["server_label"], server["server_url"]) == ("Ada", "https://guest.example.com")
        assert code["container"]["file_ids"] == []
        unfilled = project.respond(agent_reference=HELPER).body["instructions"]
        assert unfilled.startswith("{{name}} is guest")

    def test_a_definition_makes_its_schema_strict(self, project: ProjectClient) -> None:
        format = {"type": "json_schema", "name": "Event", "schema": {"type": "object", "properties": {}}}
        project.define("helper", text={"format": format})
        project.mock.script(message("{}"))
        assert project.respond(agent_reference=HELPER).body["text"]["format"]["strict"] is True

    @pytest.mark.parametrize(
        "definition",
        [
            {"tools": [{"type": "nonsense"}, {"type": "function"}, {}, {"type": "mcp"}]},
            {"tools": [{"type": "file_search"}, {"type": "code_interpreter"}], "tool_choice": {"type": "x"}},
            {"text": {"format": 5}, "reasoning": {"effort": 5}, "temperature": 99},
            {"structured_inputs": {"a": {"default_value": [1]}}, "instructions": "{{a}}"},
        ],
    )
    def test_a_definition_of_any_form_gets_an_answer(self, project: ProjectClient, definition: Json) -> None:
        """The client has not sent it with this request, so nothing of it is the request's fault."""
        assert project.define("helper", **definition)["version"] == "1"
        answer = project.respond(agent_reference=HELPER)
        assert answer.status == 200, answer.body

    def test_a_definition_keeps_tools_with_members_that_are_new(self, project: ProjectClient) -> None:
        tool = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "audience": ["x"]}
        project.define("helper", tools=[tool, {"type": "bing_grounding", "bing_grounding": {}}, {"type": "nonsense"}])
        shown = project.respond(agent_reference=HELPER).body["tools"]
        assert [entry["type"] for entry in shown] == ["function", "bing_grounding"]

    def test_given_by_a_test_is_an_agent_like_any_other(self, project: ProjectClient) -> None:
        assert project.mock.agent("helper", model="mine", instructions="Help.", description="d") == "helper:1"
        assert project.ask("GET /agents/helper/versions/1").body["description"] == "d"
        assert project.mock.agent("flow", kind="workflow", workflow="kind: workflow") == "flow:1"
        project.mock.agent("box", kind="hosted")
        assert project.world.store.table(AGENTS)["box"][0]["status"] == "active"
        assert project.respond(agent_reference=HELPER).body["instructions"] == "Help."
        for name, members in [("my_agent", {"model": "m"}), ("helper", {})]:
            with pytest.raises(ConfigError, match=f"agent\\('{name}'\\)"):
                project.mock.agent(name, **members)


def test_an_application_answers_like_the_agent_of_its_name(project: ProjectClient) -> None:
    project.define("helper", instructions="Help.")
    said = project.respond("/applications/helper/protocols/openai").body
    assert (said["instructions"], said["agent_reference"]["name"]) == ("Help.", "helper")


def test_the_account_s_agents_can_be_configured(project: ProjectClient) -> None:
    project.world.account = Organization(agents={"helper": {"model": "mine", "instructions": "Help."}})
    direct(project, share("1", 100))
    assert project.respond(ENDPOINT).body["instructions"] == "Help."
    selector = project.get("/agents/helper")["agent_endpoint"]["version_selector"]
    assert selector == {"version_selection_rules": [share("1", 100)]}
