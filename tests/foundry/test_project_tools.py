"""The tools of a Foundry project in a request with a model: taken, shown as the service shows them, called."""

from typing import Any

import pytest

from harness.api.project_types import PROJECT_TOOLS, SERVER_TOOLS
from harness.core.account import Organization
from harness.core.exchange import Answer, Json
from harness.items import (
    bing_grounding_call,
    bing_grounding_call_output,
    fabric_dataagent_preview_call,
    mcp_call,
    message,
    oauth_consent_request,
)
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk
from harness.world.scripting.document import parse_document
from tests.support.foundry import HELPER, V1, ProjectClient
from tests.support.in_process import post

SERVER: Json = {"type": "mcp", "server_label": "crm", "server_url": "https://example.org"}
CRM: Json = {**SERVER, "project_connection_id": "crm"}
BING: Json = {"type": "bing_grounding", "bing_grounding": {"search_configurations": []}}
OUTPUTS: Json = {"name": "a", "schema": {"type": "object"}}
IQ: Json = {"require_approval": "never", "project_connection_id": "/x/iq"}
FORECAST: Json = {"function": {"name": "forecast", "parameters": {"type": "object", "properties": {}}}}
AZURE = "/openai/v1"


class Client(ProjectClient):
    """What asks a mock at the root of one dialect."""

    def __init__(self, root: str = V1, api: MockApi | None = None) -> None:
        super().__init__(root=root, api=api or MockApi(fallback=small_talk))

    def create(self, **more: Any) -> Answer:
        return self.ask("POST /responses", {"model": "gpt-4o", "input": "hi", **more})


@pytest.fixture
def project() -> Client:
    return Client()


def types_of(answer: Any) -> list[str]:
    return [item["type"] for item in answer.body["output"]]


class TestTaken:
    @pytest.mark.parametrize("type", sorted(PROJECT_TOOLS))
    def test_a_project_takes_them_and_no_other_service_does(self, project, type):
        tools = [{"type": type, "project_connection_id": "mine"}]
        assert project.create(tools=tools).status == 200
        assert Client(AZURE).create(tools=tools).rule == "invalid_value"
        body = {"model": "gpt-4o", "input": "hi", "tools": tools}
        assert post(MockApi(), body).rule == "invalid_value"

    def test_a_connection_signs_in_to_a_server(self, project):
        assert project.create(tools=[CRM]).status == 200
        refused = Client(AZURE).create(tools=[CRM])
        assert refused.body["error"]["message"] == "Unknown parameter: 'tools[0].project_connection_id'."

    def test_code_needs_no_container(self, project):
        shown = project.create(tools=[{"type": "code_interpreter"}]).body["tools"]
        assert shown == [{"type": "code_interpreter", "container": {"type": "auto"}}]
        assert Client(AZURE).create(tools=[{"type": "code_interpreter"}]).status == 400

    def test_members_that_a_project_adds(self, project):
        described = {"type": "web_search", "name": "web", "description": "The web.", "custom_search_configuration": {}}
        assert project.create(tools=[described]).status == 200
        assert Client(AZURE).create(tools=[described]).status == 400

    def test_what_was_remembered_may_be_included(self, project):
        include = ["memory_search_call.results"]
        assert project.create(include=include).status == 200
        assert Client(AZURE).create(include=include).rule == "invalid_value"
        assert project.create(include=[*include, "nonsense"]).body["error"]["param"] == "include[1]"

    def test_a_tool_of_a_project_can_be_chosen(self, project):
        assert project.create(tools=[BING], tool_choice={"type": "bing_grounding"}).status == 200
        refused = project.create(tools=[BING], tool_choice={"type": "openapi"})
        assert refused.body["error"]["message"] == "Tool choice 'openapi' not found in 'tools' parameter."

    def test_an_unknown_type_is_refused_in_the_words_of_openai(self, project):
        refusals = [client.create(tools=[{"type": "nonsense"}]) for client in (project, Client(AZURE))]
        ours, openais = (refused.body["error"]["message"] for refused in refusals)
        assert ours == openais
        assert "bing_grounding" not in ours

    @pytest.mark.parametrize("odd", [{"type": {}}, {"type": "nonsense"}, [], 7, None])
    def test_an_error_names_the_place(self, project, odd):
        answer = project.create(tools=[BING, odd])
        assert answer.status == 400
        assert answer.body["error"]["param"].startswith("tools[1]")

    @pytest.mark.parametrize("value", [7, "x", [], [7], {"a": []}, {"paths": {"/": {"get": 1}}}, None])
    def test_odd_members_break_nothing(self, project, value):
        for type in PROJECT_TOOLS:
            tool = {"type": type, type: value, "outputs": value, "server_label": value, "project_connection_id": value}
            tool |= {"openapi": {"name": value, "spec": value}, "azure_function": {"function": value}}
            tool |= {"allowed_tools": value, "require_approval": value}
            assert project.create(tools=[tool], tool_choice="required").status == 200, type


class TestShown:
    def test_a_search_of_memories(self, project):
        """Recorded 2026-03-17."""
        declared = {"type": "memory_search_preview", "memory_store_name": "m", "scope": "u", "update_delay": 1}
        shown = project.create(tools=[declared]).body["tools"]
        assert shown == [{"type": "memory_search", "memory_store_name": "m", "scope": "u"}]

    def test_the_type_comes_first(self, project):
        shown = project.create(tools=[{"openapi": {"name": "a"}, "type": "openapi"}]).body["tools"]
        assert [*shown[0]] == ["type", "openapi"]


class TestScripted:
    def test_an_output_has_the_call_id_of_its_call(self, project):
        call, output = bing_grounding_call({"query": "a"}), bing_grounding_call_output()
        project.mock.script([call, output, call, output, message("Done.")])
        items = project.create(tools=[BING]).body["output"]
        ids = [item["call_id"] for item in items[:4]]
        assert ids[0] == ids[1] != ids[2] == ids[3]

    def test_an_output_may_name_its_call(self, project):
        turn = [bing_grounding_call(call_id="call_a"), bing_grounding_call_output(call_id="call_a"), message("Done.")]
        project.mock.script(turn)
        assert {item.get("call_id") for item in project.create(tools=[BING]).body["output"]} == {"call_a", None}

    def test_an_output_without_a_call_has_an_id(self, project):
        project.mock.script([bing_grounding_call_output(), message("Done.")])
        assert project.create(tools=[BING]).body["output"][0]["call_id"].startswith("call_")

    def test_a_call_needs_its_tool(self, project):
        project.mock.script([fabric_dataagent_preview_call()])
        answer = project.create(tools=[BING])
        assert answer.status == 418
        assert "declares no tool of type 'fabric_dataagent_preview'" in answer.body["error"]["message"]

    @pytest.mark.parametrize("type", SERVER_TOOLS)
    def test_a_tool_with_a_server_behind_it_is_called_as_one(self, project, type):
        project.mock.script([mcp_call("crm", "find")])
        assert project.create(tools=[{"type": type, "project_connection_id": "crm"}]).status == 200

    def test_a_tool_of_another_server_is_not(self, project):
        project.mock.script([mcp_call("crm", "find")])
        assert project.create(tools=[{"type": "fabric_iq_preview", "server_label": "erp"}]).status == 418

    def test_a_request_for_consent_comes_instead_of_a_call(self, project):
        project.mock.script([oauth_consent_request("https://consent.example.org", "crm")])
        assert types_of(project.create(tools=[CRM], tool_choice="required")) == ["oauth_consent_request"]

    def test_a_request_for_consent_names_a_server_of_the_request(self, project):
        project.mock.script([oauth_consent_request("https://consent.example.org", "erp")])
        answer = project.create(tools=[CRM])
        assert "declares no MCP server of that label" in answer.body["error"]["message"]


@pytest.mark.parametrize(
    ("line", "made"),
    [
        ({"bing_grounding_call": {"arguments": {"query": "a"}}}, "bing_grounding_call"),
        ({"type": "bing_grounding_call", "arguments": "{}"}, "bing_grounding_call"),
        ({"structured_outputs": {"output": {"a": 1}}}, "structured_outputs"),
        ({"memory_search_call": {"memories": ["likes tea"]}}, "memory_search_call"),
        ({"oauth_consent_request": {"consent_link": "https://x", "server_label": "crm"}}, "oauth_consent_request"),
        ({"workflow_action": {"kind": "If", "action_id": "a", "status": "failed"}}, "workflow_action"),
        ({"remote_function_call": {"label": "helper"}}, "remote_function_call"),
    ],
)
def test_each_kind_can_be_scripted_as_json(project, line, made):
    document = parse_document({"script": [[line, "Done."]]})
    project.mock.script(*document.routes[0].turns)
    tools = [BING, {"type": "capture_structured_outputs"}, {"type": "memory_search_preview"}, {"type": "a2a"}]
    answer = project.create(tools=[*tools, CRM])
    assert types_of(answer) == [made, "message"]


class TestUnscripted:
    @pytest.mark.parametrize(
        ("tool", "made"),
        [
            (BING, ["bing_grounding_call", "bing_grounding_call_output", "message"]),
            ({"type": "a2a_preview"}, ["a2a_preview_call", "a2a_preview_call_output", "message"]),
            ({"type": "memory_search_preview"}, ["memory_search_call", "message"]),
            ({"type": "capture_structured_outputs", "outputs": OUTPUTS}, ["structured_outputs", "message"]),
            ({"type": "fabric_iq_preview", **IQ}, ["mcp_list_tools", "mcp_call", "message"]),
            ({"type": "web_iq_preview", "server_label": "web"}, ["mcp_list_tools", "mcp_approval_request"]),
            ({"type": "work_iq_preview", "project_connection_id": "iq"}, ["mcp_list_tools", "mcp_call", "message"]),
        ],
    )
    def test_a_required_tool_is_called(self, project, tool, made):
        assert types_of(project.create(tools=[tool], tool_choice="required")) == made

    @pytest.mark.parametrize(
        ("tool", "made", "name"),
        [
            ({"type": "openapi", "openapi": {"name": "weather", "spec": {}}}, "openapi_call", "weather"),
            ({"type": "azure_function", "azure_function": FORECAST}, "azure_function_call", "forecast"),
            ({"type": "a2a"}, "a2a_preview_call", "a2a"),
        ],
    )
    def test_a_call_of_a_function_has_its_name(self, project, tool, made, name):
        call, output, _ = project.create(tools=[tool], tool_choice="required").body["output"]
        assert (call["type"], call["name"]) == (made, name)
        assert (output["type"], output["name"]) == (f"{made}_output", name)

    def test_a_tool_that_is_not_required_is_not_called(self, project):
        assert types_of(project.create(tools=[BING], input="Ask Bing.")) == ["message"]

    def test_a_search_of_memories_neither_finds_nor_adds_one(self, project):
        project.mock.memory_store("m", scope="user_1", memories=["Likes tea."])
        tool = {"type": "memory_search_preview", "memory_store_name": "m", "scope": "user_1"}
        for _ in range(2):
            search, answer = project.create(tools=[tool], tool_choice="required", input="Tea?").body["output"]
            assert (search["type"], search["memories"], answer["type"]) == ("memory_search_call", [], "message")

    def test_the_tool_of_an_agent_is_called(self):
        agents = {"helper": {"model": "mine", "tools": [BING], "tool_choice": "required"}}
        api = MockApi(organization=Organization(agents=agents), fallback=small_talk)
        answer = Client(api=api).respond("", agent_reference=HELPER)
        assert types_of(answer)[0] == "bing_grounding_call"
        assert answer.body["tools"] == [BING]


class TestSecretsOfServers:
    """Headers of an MCP server in the definition of an agent."""

    def make(self, headers: Any, *tools: Any, as_of: str | None = None) -> Answer:
        api = MockApi(as_of=as_of) if as_of else MockApi()
        tools = ({**SERVER, "headers": headers}, *tools)
        body = {"definition": {"kind": "prompt", "model": "mine", "tools": tools}}
        return ProjectClient(api=api).ask("POST /agents/helper/versions", body)

    @pytest.mark.parametrize("name", ["Authorization", "authorization", "X-MCP-API-Key", "x-secret", "X-Token"])
    @pytest.mark.parametrize("value", ["x", None])
    def test_a_name_tells_a_secret(self, name, value):
        answer = self.make({name: value})
        assert (answer.status, answer.rule) == (400, "agent_mcp_headers")
        assert answer.body["error"]["code"] == "invalid_payload"
        assert answer.body["error"]["additionalInfo"]["request_id"] == answer.headers["x-request-id"]

    @pytest.mark.parametrize("name", ["X-Zscaler-Client-ID", "X-Tokens", "Accept", ""])
    def test_other_names_tell_none(self, name):
        assert self.make({name: "x"}).status == 200

    def test_the_ends_of_names_are_looked_at_since_april(self):
        assert self.make({"X-Token": "x"}, as_of="2026-04-20").status == 200
        assert self.make({"Authorization": "x"}, as_of="2026-04-20").status == 400

    @pytest.mark.parametrize("headers", [7, [], ["Authorization"], None])
    def test_odd_headers_break_nothing(self, headers):
        assert self.make(headers, None).status == 200
        assert self.make(headers, 7).rule == "agent_member_type"

    def test_a_request_with_a_model_may_have_them(self, project):
        assert project.create(tools=[{**SERVER, "headers": {"X-Key": "x"}}]).status == 200
