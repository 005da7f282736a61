"""Requests to services that the mock is not for, in the dialects of Azure: a 404 that names the service."""

import pytest

from harness.core.exchange import Answer
from harness.server.mock_api import MockApi
from tests.support.in_process import send

PROJECT = "/api/projects/p"


def ask(call: str) -> Answer:
    return send(MockApi(), call, None, {"api-key": "mine"}, "", **{"api-version": "v1"})


@pytest.mark.parametrize(
    ("path", "service"),
    [
        (f"{PROJECT}/insights", "insights"),
        (f"{PROJECT}/evaluators/mine/versions", "evaluators"),
        (f"{PROJECT}/models", "registered models"),
        (f"{PROJECT}/redTeams/runs:run", "red teams"),
        (f"{PROJECT}/agents/helper/telephony/numbers", "telephony of voice agents"),
        (f"{PROJECT}/agents/helper/endpoint/protocols/voice", "conversations by voice"),
        (f"{PROJECT}/agents/helper/endpoint/protocols/invocations", "invocations of a hosted agent's own protocol"),
        (f"{PROJECT}/agents/helper/endpoint/protocols/a2a", "agents over A2A"),
        (f"{PROJECT}/agents:generate", "generated definitions of agents"),
        (f"{PROJECT}/mcp_tools", "tools over MCP"),
        (f"{PROJECT}/openai/evals", "evals"),
        (f"{PROJECT}/openai/deployments/mine/chat/completions", "chat completions"),
    ],
)
def test_another_service_of_a_project_is_named(path: str, service: str) -> None:
    answer = ask(f"POST {path}")
    error = answer.body["error"]
    assert (answer.status, answer.rule, error["code"]) == (404, "route_not_found", "not_mocked")
    assert f"is not part of this mock: {service} are another API" in error["message"]
    assert error["additionalInfo"] == {"request_id": answer.headers["x-request-id"]}


@pytest.mark.parametrize("path", ["/openai/v1/chat/completions", "/openai/deployments/mine/embeddings"])
def test_another_api_of_azure_openai_is_named(path: str) -> None:
    answer = ask(f"POST {path}")
    assert (answer.status, answer.rule) == (404, "resource_not_found")
    assert answer.body["error"]["code"] == "not_mocked"
    assert answer.body["error"].keys() == {"code", "message"}


def test_an_address_that_is_none_stays_not_found() -> None:
    assert ask(f"POST {PROJECT}/nonsense").body["title"] == "Not Found"
    assert ask("POST /openai/v1/nonsense").body == {"error": {"code": "404", "message": "Resource not found"}}


def test_the_lists_of_openai_are_not_below_the_project_itself() -> None:
    assert ask(f"GET {PROJECT}/models").body["error"]["code"] == "not_mocked"
    assert ask(f"GET {PROJECT}/conversations/conv_1").body["title"] == "Not Found"


def test_a_path_of_a_project_may_hold_braces() -> None:
    refused = ask(f"POST {PROJECT}/evaluations/{{x}}")
    assert (refused.status, refused.body["error"]["code"]) == (404, "not_mocked")
    assert "POST /api/projects/p/evaluations/{x} is not part of this mock" in refused.body["error"]["message"]
