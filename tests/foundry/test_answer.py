"""The headers of a project of Azure AI Foundry, by what answers and on which day it was recorded."""

import re
from collections.abc import Mapping

import pytest

from harness.core.exchange import Answer, Json
from harness.faults import http_error
from harness.items import message
from tests.support.foundry import NEW_DAY, Project, ProjectClient, upload
from tests.support.tools import functions

GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
HEX = re.compile(r"[0-9a-f]{32}")
BY_THE_MODEL = {"openai-organization", "openai-project", "openai-processing-ms", "openai-version"}
PARTITION = "openai-client-partition-id"
SIX_LIMITS = {
    f"x-ratelimit-{name}-{unit}" for name in ("limit", "remaining", "reset") for unit in ("requests", "tokens")
}
NINE_LIMITS = SIX_LIMITS | {
    *("x-ratelimit-abusepenalty-active", "x-ratelimit-renewalperiod-requests", "x-ratelimit-renewalperiod-tokens")
}
IN_JUNE = {
    *BY_THE_MODEL,
    *NINE_LIMITS,
    *("skip-error-remapping", "x-ratelimit-key", "access-control-expose-headers", "azureai-fe-is-streaming"),
    *("x-ms-aoai-configured-data-retention-days", "x-ms-is-spilled-over", "x-ms-served-model"),
}
PREVIEWS = "2025-05-15-preview,2025-11-15-preview"
TIERS = {"azureai-processed-tier", "azureai-requested-tier"}


def sorted_out(headers: Mapping[str, str]) -> set[str]:
    """Return the headers whose days differ."""
    prefixes = ("openai-", "x-ratelimit-", "azureai-", "skip-", "access-control")
    prefixes += ("x-ms-aoai", "x-ms-is-", "x-ms-served")
    return {name for name in headers if name.startswith(prefixes)}


@pytest.mark.parametrize(
    ("day", "streamed", "expected"),
    [
        ("2026-02-12", False, {*BY_THE_MODEL, *TIERS, "skip-error-remapping"}),
        ("2026-02-20", False, {*BY_THE_MODEL, *TIERS, PARTITION, "skip-error-remapping", *SIX_LIMITS}),
        ("2026-02-26", True, {*BY_THE_MODEL, *TIERS, "skip-error-remapping", *SIX_LIMITS}),
        ("2026-03-17", True, {*BY_THE_MODEL, *TIERS, "skip-error-remapping", *SIX_LIMITS}),
        ("2026-03-31", True, {*BY_THE_MODEL, "skip-error-remapping", *NINE_LIMITS, "x-ms-is-spilled-over"}),
        ("2026-06-26", False, {*IN_JUNE, PARTITION}),
        ("2026-06-26", True, IN_JUNE),
    ],
)
def test_headers_of_a_response_are_those_of_its_day(day: str, streamed: bool, expected: set[str]) -> None:
    answer = Project(day).respond("helper", **{"stream": True} if streamed else {})
    assert sorted_out(answer.headers) == expected
    assert answer.headers["content-type"] == ("text/event-stream; charset=utf-8" if streamed else "application/json")


def test_headers_of_a_stream_with_tools_were_few_until_2026_03_12() -> None:
    project = Project("2026-03-12")
    project.mock.script([message("No call.")])
    assert sorted_out(project.respond(tools=functions("f"), stream=True).headers) == BY_THE_MODEL


def test_headers_of_a_response_name_the_deployment_of_its_agent() -> None:
    headers = Project().respond("helper").headers
    assert (headers["x-ratelimit-key"], headers["x-ms-served-model"]) == ("gpt-4o", "gpt-4o-2024-08-06")


def test_headers_of_a_workflow_are_those_of_the_project_itself() -> None:
    streamed = Project().respond("planner", stream=True).headers
    assert (sorted_out(streamed), streamed["cache-control"]) == ({"access-control-expose-headers"}, "no-cache")
    assert HEX.fullmatch(streamed["x-request-id"])


def test_headers_of_a_response_of_a_hosted_agent_name_its_session() -> None:
    answer = Project().respond("worker")
    assert answer.headers["x-agent-session-id"] == answer.body["agent_session_id"]
    assert answer.headers["x-platform-server"].startswith("azure-ai-agentserver-core/")
    first, second = answer.headers["x-request-id"].split(",")
    assert (first, sorted_out(answer.headers)) == (second, {"access-control-expose-headers"})
    assert "x-agent-session-id" not in Project().respond("helper").headers


def test_headers_of_what_is_queued_or_read_are_fewer() -> None:
    project = Project("2026-05-22")
    queued = project.respond(background=True)
    more = {"access-control-expose-headers", *BY_THE_MODEL}
    assert sorted_out(queued.headers) == {*more, "x-ms-aoai-configured-data-retention-days", "x-ms-served-model"}
    for method, action in (("POST", "/cancel"), ("GET", "")):
        answer = project.ask(f"{method} /responses/{queued.body['id']}{action}")
        assert sorted_out(answer.headers) == more
        assert GUID.fullmatch(answer.headers["x-request-id"])


def test_headers_of_a_refusal_by_the_model_say_nothing_of_limits() -> None:
    answer = Project("2026-02-12").respond(temperature=3)
    assert (answer.status, sorted_out(answer.headers)) == (400, BY_THE_MODEL)


@pytest.mark.parametrize(("tools", "streamed"), [(functions("f"), "False"), ([{"type": "web_search_preview"}], "True")])
def test_say_that_the_model_was_read_as_a_stream_where_the_service_runs_a_tool(
    tools: list[Json], streamed: str
) -> None:
    project = Project()
    project.define("caller", tools=tools)
    project.mock.script([message("No call.")])
    assert project.respond("caller").headers["azureai-fe-is-streaming"] == streamed


def test_headers_of_a_timeout_are_those_of_the_gateway() -> None:
    project = Project("2026-02-12")
    error = {"code": "Timeout", "message": "The operation was timeout."}
    project.mock.script(http_error(408, error["message"], body={"error": error}))
    answer = project.respond()
    assert (answer.status, answer.body) == (408, {"error": error})
    assert answer.headers.keys() == {"content-type", "apim-request-id", "x-ms-region"}


def is_the_projects(answer: Answer) -> bool:
    """Return whether the project itself has answered, and not a service behind it."""
    headers = answer.headers
    assert GUID.fullmatch(headers["apim-request-id"])
    assert headers["x-request-id"] != headers["apim-request-id"]
    assert headers.keys() >= {"azureml-served-by-cluster", "strict-transport-security", "x-content-type-options"}
    own = HEX.fullmatch(headers["x-request-id"]) is not None
    assert headers["content-type"] == ("application/json; charset=utf-8" if own else "application/json")
    assert sorted_out(headers).isdisjoint({"skip-error-remapping", *TIERS}) or not own
    return own


def test_say_by_the_id_of_the_request_who_has_answered() -> None:
    project = Project(NEW_DAY)
    id = project.respond().body["id"]
    assert not is_the_projects(project.respond())
    assert not is_the_projects(project.ask(f"GET /responses/{id}"))
    assert is_the_projects(project.ask(f"DELETE /responses/{id}"))
    conversation = project.ask("POST /conversations", {})
    assert is_the_projects(conversation)
    assert is_the_projects(project.ask(f"GET /conversations/{conversation.body['id']}/items"))
    assert is_the_projects(ProjectClient(api=project.api).ask("GET /agents/helper"))
    assert not is_the_projects(project.ask("GET /vector_stores"))


def test_headers_of_files_and_vector_stores_are_those_of_the_services_behind() -> None:
    project = Project("2026-03-09")
    stored = project.ask(f"GET /files/{upload(project)['id']}").headers
    assert sorted_out(stored) == {"openai-processing-ms", "openai-version", "access-control-allow-origin"}
    made = project.ask("POST /vector_stores", {"name": "s"}).headers
    assert sorted_out(made) == {"openai-processing-ms", "openai-version", "openai-organization"}
    for headers in (stored, made):
        assert GUID.fullmatch(headers["x-ms-middleware-request-id"])
        assert "api-supported-versions" not in headers


def test_headers_of_the_assets_of_a_project_are_those_of_another_service() -> None:
    project = ProjectClient("2026-03-21")
    connections = project.ask("GET /connections")
    assert connections.headers.keys() >= {"x-request-time", "mise-correlation-id", "x-ms-response-type"}
    assert connections.headers.keys().isdisjoint({"x-request-id", "api-supported-versions"})
    deployments = project.ask("GET /deployments")
    assert deployments.headers.keys() == {"content-type", "apim-request-id", "x-ms-region"}


@pytest.mark.parametrize(("day", "versions"), [("2025-12-11", PREVIEWS), ("2026-02-12", f"1.0,{PREVIEWS}")])
def test_say_which_versions_there_are(day: str, versions: str) -> None:
    assert Project(day).ask("POST /conversations", {}).headers["api-supported-versions"] == versions


def test_headers_of_a_projects_error_are_in_its_body_too() -> None:
    answer = Project("2026-04-06").respond("helper", tools=functions("f"))
    assert (answer.status, answer.rule) == (400, "agent_setting_given")
    assert answer.body["error"]["additionalInfo"] == {"request_id": answer.headers["x-request-id"]}
