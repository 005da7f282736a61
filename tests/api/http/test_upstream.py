"""Where the live API is, and the environment that leads a command to the recorder in front of it."""

from __future__ import annotations

import pytest

from harness.api.http.upstream import parse_upstream, redirected_environment
from harness.core.errors import ConfigError

HERE = "http://127.0.0.1:8765"


def led(url: str, **given: str) -> dict[str, str]:
    """Return what leads a command with this environment to the recorder, without what keeps it from a proxy."""
    found = redirected_environment(parse_upstream(url), HERE, given)
    return {name: value for name, value in found.items() if name.upper() != "NO_PROXY"}


@pytest.mark.parametrize(
    ("url", "origin", "root", "dialect"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com", "/v1", "openai"),
        ("https://api.openai.com/v1/", "https://api.openai.com", "/v1", "openai"),
        ("https://api.openai.com", "https://api.openai.com", "/v1", "openai"),
        ("http://localhost:4000/gateway/v1", "http://localhost:4000", "/gateway/v1", "openai"),
        ("https://it.openai.azure.com", "https://it.openai.azure.com", "/openai/v1", "azure"),
        ("https://it.openai.azure.com/openai/v1", "https://it.openai.azure.com", "/openai/v1", "azure"),
        ("http://127.0.0.1:1/openai/v1", "http://127.0.0.1:1", "/openai/v1", "azure"),
        ("https://it.services.ai.azure.com/api/projects/p", "https://it.services.ai.azure.com",
         "/api/projects/p/openai/v1", "foundry"),
        ("https://it.services.ai.azure.com/api/projects/p/openai/v1", "https://it.services.ai.azure.com",
         "/api/projects/p/openai/v1", "foundry"),
    ],
)  # fmt: skip
def test_an_address_is_taken_apart(url, origin, root, dialect):
    assert parse_upstream(url)[:3] == (origin, root, dialect)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "this is no http"),
        ("api.openai.com", "this is no http"),
        ("ftp://api.openai.com/v1", "this is no http"),
        ("https:///v1", "this is no http"),
        ("https://api.openai.com:0/v1", "port 0 is none"),
        ("https://api.openai.com:99999/v1", "Port out of range"),
        ("https://[::1/v1", "Invalid IPv6"),
        ("https://api.openai.com/v1?key=1", "it has a query"),
        ("https://api.openai.com/v1/responses", "this is an endpoint"),
    ],
)
def test_an_address_that_cannot_be_the_api_says_why(url, problem):
    with pytest.raises(ConfigError, match=f"(?s)--upstream.*{problem}.*Pass the API's root"):
        parse_upstream(url)


def test_a_password_in_the_address_is_refused_and_not_repeated():
    with pytest.raises(ConfigError) as refused:
        parse_upstream("https://me:hunter2@api.openai.com/v1")
    assert "hunter2" not in str(refused.value)


def test_below_a_gateways_own_root_the_paths_are_those_of_the_api():
    assert parse_upstream("http://localhost:4000/gateway/v1").to_api_path("/gateway/v1/responses") == "/v1/responses"
    assert parse_upstream("http://localhost:4000/gateway/v1").to_api_path("/other") == "/other"
    assert parse_upstream("https://api.openai.com/v1").to_api_path("/v1/responses") == "/v1/responses"


class TestTheEnvironment:
    def test_of_openai_has_its_base_url(self):
        assert led("https://api.openai.com/v1") == {"OPENAI_BASE_URL": f"{HERE}/v1"}

    def test_of_azure_has_the_endpoint_alone_unless_a_base_url_was_named(self):
        assert led("https://it.openai.azure.com") == {"AZURE_OPENAI_ENDPOINT": HERE}
        both = {"AZURE_OPENAI_ENDPOINT": HERE, "OPENAI_BASE_URL": f"{HERE}/openai/v1"}
        assert led("https://it.openai.azure.com/openai/v1") == both

    def test_of_foundry_has_the_project(self):
        project = f"{HERE}/api/projects/p"
        assert led("https://it.services.ai.azure.com/api/projects/p") == {
            "AZURE_AI_PROJECT_ENDPOINT": project,
            "FOUNDRY_PROJECT_ENDPOINT": project,
            "PROJECT_ENDPOINT": project,
            "OPENAI_BASE_URL": f"{project}/openai/v1",
        }

    def test_leads_every_variable_that_led_to_the_api(self):
        ours = {"MY_BASE": "https://api.openai.com/v1", "ROOT": "https://API.openai.com"}
        found = led("https://api.openai.com/v1", **ours, OTHER="https://api.openai.com.eu")
        assert found == {"MY_BASE": f"{HERE}/v1", "ROOT": HERE, "OPENAI_BASE_URL": f"{HERE}/v1"}

    def test_keeps_the_command_from_asking_a_proxy_for_the_recorder(self):
        found = redirected_environment(parse_upstream("https://api.openai.com"), HERE, {"NO_PROXY": "intranet"})
        assert (found["NO_PROXY"], found["no_proxy"]) == ("127.0.0.1,intranet", "127.0.0.1")
