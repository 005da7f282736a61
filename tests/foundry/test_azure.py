"""How the mock speaks as Azure OpenAI and as a project of Azure AI Foundry: who may ask, where, and what is answered."""

from typing import Any

import pytest

from harness.core.errors import ConfigError
from harness.core.exchange import Answer, Json, ReceivedRequest
from harness.ending import failed, incomplete
from harness.items import function_call, message
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from harness.world.world import World
from tests.support.foundry import HELPER, V1, ProjectClient
from tests.support.in_process import send
from tests.support.tools import functions

JSON = {"content-type": "application/json"}
GOOD: Json = {"model": "my-deployment", "input": "hi"}
AZURE = "/openai/v1"
CLASSIC = "/openai"
VERSION = {"api-version": "2025-04-01-preview"}


class Client(ProjectClient):
    """What asks a mock at the root of one dialect."""

    def __init__(self, root: str, api: MockApi | None = None, query: Json | None = None) -> None:
        super().__init__(root=root, api=api)
        self.query = query or {}

    def create(self, **more: Any) -> Answer:
        return self.ask("POST /responses", {**GOOD, **more}, **self.query)

    def by_agent(self, **more: Any) -> Answer:
        return self.ask("POST /responses", {"input": "hi", "agent_reference": HELPER, **more})


@pytest.fixture
def azure() -> Client:
    return Client(AZURE)


@pytest.fixture
def project() -> Client:
    return Client(V1)


class TestAKey:
    @pytest.mark.parametrize("root", [AZURE, V1])
    @pytest.mark.parametrize("headers", [{"api-key": "mine"}, {"authorization": "Bearer mine"}])
    def test_and_a_token_open_the_same_world(self, root: str, headers: Json) -> None:
        client = Client(root)
        assert send(client.api, f"POST {root}/responses", GOOD, {**JSON, **headers}, "").status == 200
        assert list(client.api.worlds) == ["mine"]

    def test_a_key_must_be_known_where_keys_are_listed(self) -> None:
        client = Client(AZURE, MockApi(keys=["mine"], fallback=lambda request: [message("Hello.")]))
        assert client.create().status == 200
        refused = client.ask("POST /responses", GOOD, {"api-key": "other"})
        assert (refused.status, refused.body["error"]["code"]) == (401, "401")
        assert list(refused.body["error"]) == ["code", "message"]
        refused = send(client.api, f"POST {AZURE}/responses", GOOD, JSON, "other")
        assert (refused.status, refused.body["statusCode"], list(refused.body)) == (401, 401, ["statusCode", "message"])

    def test_a_key_sees_one_world_whatever_the_dialect(self, azure: Client) -> None:
        id = azure.create().body["id"]
        for root in (V1, AZURE):
            assert Client(root, azure.api).ask(f"GET /responses/{id}").body["model"] == "my-deployment"
        shown = send(azure.api, f"GET /v1/responses/{id}", key="mine").body
        assert "content_filters" not in shown


class TestAResponse:
    def test_a_response_of_azure_says_what_was_filtered_and_not_who_pays(self, azure: Client) -> None:
        body = azure.create().body
        assert body["model"] == "my-deployment"
        assert [entry["source_type"] for entry in body["content_filters"]] == ["prompt", "completion"]
        assert not any(entry["blocked"] for entry in body["content_filters"])
        assert body.keys().isdisjoint({"billing", "access_programs"})
        names = list(body)
        assert names[names.index("completed_at") + 1] == "content_filters"

    def test_a_response_is_read_back_as_it_was_made(self, azure: Client) -> None:
        made = azure.create().body
        assert azure.ask(f"GET /responses/{made['id']}").body == made
        assert Client(CLASSIC, azure.api).ask(f"GET /responses/{made['id']}", **VERSION).body == made

    def test_a_response_of_a_stream_says_nothing_of_filters_before_its_end(self, azure: Client) -> None:
        answer = azure.create(stream=True)
        told = [event["response"]["content_filters"] for event in answer.events if "response" in event]
        assert told[:-1] == [None, None]
        assert answer.events[-1]["response"] == answer.body
        assert {event["response"]["model"] for event in answer.events if "response" in event} == {"my-deployment"}

    def test_a_response_that_was_cut_off_says_that_the_completion_was_blocked(self, azure: Client) -> None:
        azure.mock.script([message("Bad"), incomplete("content_filter")])
        body = azure.create().body
        assert body["incomplete_details"] == {"reason": "content_filter"}
        assert [entry["blocked"] for entry in body["content_filters"]] == [False, True]

    def test_a_response_that_failed_says_nothing_of_filters(self, azure: Client) -> None:
        azure.mock.script(failed(), failed())
        assert azure.create(stream=True).body["content_filters"] is None
        assert azure.create().status == 500

    def test_a_response_in_the_background_moves_on_as_everywhere(self, azure: Client) -> None:
        queued = azure.create(background=True).body
        assert (queued["status"], queued["content_filters"]) == ("queued", None)
        for _ in range(2):
            last = azure.ask(f"GET /responses/{queued['id']}").body
        assert (last["status"], len(last["content_filters"])) == ("completed", 2)

    def test_a_response_of_a_project_tells_the_effort_that_was_asked_for(self, project: Client) -> None:
        assert project.create(reasoning={"effort": "low"}, model="gpt-5").body["reasoning"]["effort"] == "low"
        assert project.create().body["reasoning"] == {"context": None}


class TestAnAgent:
    def test_brings_its_model_its_instructions_and_its_tools(self, project: Client) -> None:
        agent = {"model": "mine", "instructions": "You are the planner.", "tools": functions("deploy")}
        project.mock.organization(agents={"helper": agent})
        project.mock.when(instructions="planner", agent="helper", tools="deploy").script(function_call("deploy", {}))
        body = project.by_agent(agent_reference={**HELPER, "version": "3"}).body
        assert (body["model"], body["instructions"]) == ("mine", "You are the planner.")
        assert (body["output"][0]["name"], body["tools"][0]["name"]) == ("deploy", "deploy")
        assert body["agent_reference"]["version"] == "3"

    def test_an_agent_may_be_forgotten_by_the_next_request(self, project: Client) -> None:
        project.mock.script(function_call("deploy", {}), message("Done."))
        first = project.by_agent().body
        assert project.create(previous_response_id=first["id"]).body["error"]["message"].startswith("No tool output")
        output = {"type": "function_call_output", "call_id": first["output"][0]["call_id"], "output": "ok"}
        assert project.by_agent(input=[output], previous_response_id=first["id"]).status == 200

    def test_an_agent_is_unknown_elsewhere(self, azure: Client) -> None:
        assert azure.create(agent_reference=HELPER).body["error"]["message"] == "Unknown parameter: 'agent_reference'."

    @pytest.mark.parametrize("said", ["helper", {}, 7])
    def test_an_agent_must_be_named_properly(self, project: Client, said: Any) -> None:
        assert project.create(agent_reference=said).rule == "agent_incomplete"

    @pytest.mark.parametrize("name", ["agent", "agent_reference"])
    def test_an_agent_of_nobody_counts_as_none(self, project: Client, name: str) -> None:
        assert project.create(**{name: None}).status == 200


class TestThePrompt:
    def test_the_prompt_is_blocked_by_its_category(self, azure: Client) -> None:
        azure.mock.organization(blocked=["violence"])
        for stream in (False, True):
            answer = azure.create(stream=stream)
            assert (answer.status, answer.events) == (400, None)
            error = answer.body["error"]
            assert (error["code"], error["param"]) == ("content_filter", "prompt")
            assert error["innererror"] == {"code": "ContentFiltered"}
            assert error["content_filters"][0]["content_filter_results"]["violence"]["filtered"]
        azure.mock.organization(blocked=())
        assert azure.create().status == 200

    def test_the_prompt_is_not_filtered_by_openai(self, azure: Client) -> None:
        azure.mock.organization(blocked={"jailbreak"})
        assert send(azure.api, "POST /v1/responses", GOOD, JSON, "mine").status == 200

    def test_the_prompt_is_blocked_for_a_category_that_there_is(self, azure: Client) -> None:
        with pytest.raises(ConfigError, match=r"organization\(blocked=malice\): the categories are hate, sexual"):
            azure.mock.organization(blocked={"malice"})


class TestHeaders:
    def test_headers_are_those_of_azure(self, azure: Client) -> None:
        headers = azure.create(model="gpt-4.1").headers
        assert headers["x-ms-served-model"] == "gpt-4.1-2025-04-14"
        assert headers["x-ratelimit-key"] == "gpt-4.1"
        assert headers["x-request-id"] == headers["apim-request-id"]
        streamed = azure.create(stream=True).headers
        assert [told["azureai-fe-is-streaming"] for told in (headers, streamed)] == ["False", "True"]
        assert headers.keys().isdisjoint({"openai-version", "openai-processing-ms"})

    def test_headers_name_no_deployment_that_cannot_stand_in_one(self, azure: Client) -> None:
        assert "x-ratelimit-key" not in azure.create(model="größe").headers
        assert "x-ratelimit-key" not in azure.ask("GET /responses/resp_1").headers

    def test_headers_are_those_of_a_project(self, project: Client) -> None:
        headers = project.ask("POST /responses", GOOD, {"x-ms-client-request-id": "abc"}).headers
        assert (headers["x-ms-client-request-id"], headers["x-ms-response-type"]) == ("abc", "standard")

    def test_headers_of_a_refusal_by_the_gateway_are_few(self, azure: Client) -> None:
        headers = dict(send(azure.api, f"POST {AZURE}/responses", GOOD, key="").headers)
        assert headers.pop("apim-request-id").startswith("00000000-0000-0000-0000-")
        assert headers == {"content-type": "application/json"}


class TestOneDialectAlone:
    @pytest.mark.parametrize("dialect", ["openai", "azure", "foundry"])
    def test_answers_the_others_as_its_provider_would(self, dialect: str) -> None:
        roots = {"openai": "/v1", "azure": AZURE, "foundry": V1}
        unknown = {"openai": "outside_the_api", "azure": "resource_not_found", "foundry": "route_not_found"}
        mock = MockApi(fallback=lambda request: [message("Hello.")], dialect=dialect)
        for name, root in roots.items():
            answer = send(mock, f"POST {root}/responses", GOOD, JSON, "sk-mine")
            assert (answer.status, answer.rule) == ((200, None) if name == dialect else (404, unknown[dialect]))

    def test_may_be_that_of_one_world(self, azure: Client) -> None:
        azure.world.dialect = "foundry"
        assert azure.create().body["title"] == "Not Found"
        assert Client(V1, azure.api).create().status == 200

    def test_must_be_known(self) -> None:
        with pytest.raises(ConfigError, match="dialect='aws'"):
            MockApi(dialect="aws")


def test_a_web_socket_is_openais_alone() -> None:
    asked = ReceivedRequest("GET", "/v1/responses", {"authorization": "Bearer sk-mine"})
    assert not isinstance(MockApi(dialect="openai").open_session(asked), Answer)
    refused = MockApi(dialect="azure").open_session(asked)
    assert isinstance(refused, Answer)
    assert refused.rule == "resource_not_found"


def test_a_world_says_where_it_is_for_each_kind_of_client() -> None:
    mock = Mock(World(base_url="http://127.0.0.1:1/v1"))
    assert mock.azure_endpoint == "http://127.0.0.1:1"
    assert mock.project_endpoint == "http://127.0.0.1:1/api/projects/harness"


@pytest.mark.parametrize("said", [["2024-10-21", "2025-04-01-preview"], "2024-10-21"])
def test_the_first_api_version_counts(said: Any) -> None:
    answer = Client(CLASSIC, query={"api-version": said}).create()
    assert answer.rule == "version_too_old"


def test_an_error_of_openai_keeps_its_form(azure: Client) -> None:
    answer = azure.create(temperature=3)
    assert set(answer.body["error"]) == {"message", "type", "param", "code"}
    assert answer.headers["x-ms-region"]
