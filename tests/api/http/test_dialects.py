"""Which dialect a path is in, and what of a request only that dialect knows."""

from typing import Any

import pytest

from harness.api.http.dialects import (
    API_ROOTS,
    AZURE,
    FOUNDRY,
    OPENAI,
    ApiPath,
    add_definition,
    agent_of,
    apply_agent,
    check_dialect,
    guess_provider,
    is_host_hidden,
    omit_dialect_members,
    parse_api_path,
    parse_upstream,
    path_below_root,
    provider_by_headers,
    provider_of_host,
    redirected_environment,
    split_url,
)
from harness.api.project_types import filter_result
from harness.core.errors import ApiError, ConfigError
from harness.core.exchange import EMPTY_MAPPING, Request
from harness.core.ids import Ids
from tests.support.in_process import user

PROJECT = "/api/projects/p"
HELPER = {"type": "agent_reference", "name": "helper"}


def to_foundry(body: Any, **more: Any) -> Request:
    named = {"dialect": FOUNDRY, "root": API_ROOTS[FOUNDRY], "operation": "POST /responses"}
    return Request("POST", "/responses", body=body, **named, **more)


@pytest.mark.parametrize(
    ("path", "dialect", "root", "below"),
    [
        ("/v1/responses", OPENAI, "/v1", "/responses"),
        ("/v1/responses/", OPENAI, "/v1", "/responses/"),
        ("/openai/v1/responses", AZURE, "/openai/v1", "/responses"),
        ("/openai/responses", AZURE, "/openai", "/responses"),
        (f"{PROJECT}/openai/v1/responses", FOUNDRY, f"{PROJECT}/openai/v1", "/responses"),
        (f"{PROJECT}/openai/conversations", FOUNDRY, f"{PROJECT}/openai", "/conversations"),
        (f"{PROJECT}/threads", FOUNDRY, PROJECT, "/threads"),
        ("/openai/deployments/d/responses", AZURE, "", "/openai/deployments/d/responses"),
        (f"{PROJECT}/agents", FOUNDRY, PROJECT, "/agents"),
        (f"{PROJECT}/connections", FOUNDRY, PROJECT, "/connections"),
        ("/responses", OPENAI, "", "/responses"),
        ("", OPENAI, "", ""),
    ],
)
def test_the_form_of_a_path_tells_its_dialect(path: str, dialect: str, root: str, below: str) -> None:
    assert parse_api_path(path) == ApiPath(dialect, root, below)


@pytest.mark.parametrize("only", [OPENAI, AZURE, FOUNDRY])
def test_a_path_of_another_dialect_leads_nowhere(only: str) -> None:
    for dialect, root in API_ROOTS.items():
        whole, below = ApiPath(only, "", f"{root}/responses"), ApiPath(only, root, "/responses")
        assert parse_api_path(f"{root}/responses", only) == (below if dialect == only else whole)
    assert parse_api_path("/nowhere", only) == ApiPath(only, "", "/nowhere")


def test_a_dialect_is_chosen_by_name() -> None:
    assert [check_dialect(name) for name in (None, AZURE)] == [None, AZURE]
    with pytest.raises(ConfigError, match="dialect='aws': use one of openai, azure, foundry"):
        check_dialect("aws")


class TestAnAgent:
    def test_an_agent_is_named_in_foundry_alone(self) -> None:
        body = {"agent_reference": HELPER}
        assert agent_of(to_foundry(body)) == agent_of(to_foundry({"agent": HELPER})) == HELPER
        assert agent_of(Request("POST", "/responses", body=body)) is None
        assert agent_of(to_foundry(None)) is None

    def test_brings_what_its_definition_has(self) -> None:
        request = to_foundry({"agent_reference": HELPER, "input": "hi", "instructions": None})
        said = {"agent_reference": HELPER, "input": "hi"}
        definition = {"model": "mine", "instructions": "Help."}
        assert add_definition(apply_agent(request), definition).body == {**said, **definition}
        assert apply_agent(request).body == {**said, "model": ""}

    def test_an_agent_leaves_marks_on_items_that_openai_does_not_know(self) -> None:
        bare, others = {"type": "message", "role": "user", "content": "x"}, ["no item", user("y")]
        marked = {**bare, "response_id": "r", "agent_reference": HELPER}
        request = to_foundry({"model": "m", "input": [marked, *others]})
        assert apply_agent(request).body["input"] == [bare, *others]

    def test_an_agent_changes_nothing_elsewhere(self) -> None:
        for request in (Request("POST", "/responses", body={"agent_reference": HELPER}), to_foundry(None)):
            assert add_definition(apply_agent(request), {"model": "mine"}) is request


def test_the_schema_sees_only_what_openai_knows() -> None:
    said = to_foundry({"agent_reference": HELPER, "agent": HELPER, "input": "hi"})
    assert omit_dialect_members(said) == {"input": "hi"}
    azure = Request("POST", "/responses", body={"agent": HELPER}, dialect=AZURE)
    assert omit_dialect_members(azure) == {"agent": HELPER}
    asked = {"api-version": "2025-04-01-preview", "limit": 3}
    assert omit_dialect_members(Request("GET", "/responses/r/input_items", query=asked, dialect=AZURE)) == {"limit": 3}
    assert omit_dialect_members(Request("GET", "/responses/r/input_items", query=asked)) == asked
    assert omit_dialect_members(to_foundry([1])) == [1]
    assert omit_dialect_members(Request("GET", "/responses/r", dialect=AZURE)) is EMPTY_MAPPING


class TestAForm:
    def test_a_form_is_filled_with_facts_and_with_the_four_members(self) -> None:
        form = {"error": {"code": "{code}", "text": "{message}!", "of": "{things}", "fixed": 1}, "status": "{status}"}
        error = ApiError(404, "No {name}.", code="{name}", body_template=form).fill({"name": "x", "things": [1]})
        assert error.body() == {"error": {"code": "x", "text": "No x.!", "of": [1], "fixed": 1}, "status": 404}
        assert error.members() == {"message": "No x.", "type": "invalid_request_error", "param": None, "code": "x"}

    def test_a_form_may_be_that_of_openai(self) -> None:
        error = ApiError(400, "No.").fill({})
        assert error.body() == {"error": error.members()}


@pytest.mark.parametrize(("source", "only"), [("prompt", "jailbreak"), ("completion", "protected_material_text")])
def test_filters_look_for_other_things_in_a_prompt_than_in_a_completion(source: str, only: str) -> None:
    said = filter_result(source, ("violence",), 12)
    results = said["content_filter_results"]
    assert results[only] == {"detected": False, "filtered": False}
    assert results["violence"] == {"filtered": True, "severity": "medium"}
    assert results["hate"] == {"filtered": False, "severity": "safe"}
    assert (said["blocked"], said["source_type"], said["content_filter_offsets"]["end_offset"]) == (True, source, 12)
    assert not filter_result(source, (), 0)["blocked"]


def test_ids_have_the_forms_of_azure() -> None:
    ids = Ids("a")
    assert [len(part) for part in ids.guid().split("-")] == [8, 4, 4, 4, 12]
    made = ids.project_conversation()
    assert (made[:5], len(made), made[21:23]) == ("conv_", 55, "00")


@pytest.mark.parametrize(
    ("path", "below"),
    [
        ("/v1/responses", "/responses"),
        ("/v1/responses/", "/responses"),
        ("/v1/responses/resp_1/input_items", "/responses/resp_1/input_items"),
        ("/v1/threads/t/runs", "/threads/t/runs"),
        ("/openai/v1/conversations", "/conversations"),
        ("/openai/responses", "/responses"),
        ("/openai/deployments/d/chat/completions", "/chat/completions"),
        (f"{PROJECT}/openai/v1/responses", "/responses"),
        (f"{PROJECT}/openai/responses", "/responses"),
        (f"{PROJECT}/openai/conversations/conv_1", "/conversations/conv_1"),
        (f"{PROJECT}/agents/a/endpoint/protocols/openai/responses", "/responses"),
        (f"{PROJECT}/threads", "/threads"),
        (f"{PROJECT}/agents/a/versions", None),
        ("/v1", None),
        ("/v1/", None),
        ("/v1beta/models", None),
        ("/responses", None),
        ("/openaix/responses", None),
        ("", None),
    ],
)
def test_every_form_of_path_has_its_place(path: str, below: str | None) -> None:
    assert path_below_root(path) == below


@pytest.mark.parametrize(
    ("host", "path", "who"),
    [
        ("api.openai.com", "/v1/responses", "openai"),
        ("eu.api.openai.com", "/v1/responses", "openai"),
        ("API.OpenAI.com", "/v1/responses", "openai"),
        ("r.openai.azure.com", "/openai/responses", "azure"),
        ("r.cognitiveservices.azure.com", "/openai/responses", "azure"),
        ("r.services.ai.azure.com", "/openai/v1/responses", "azure"),
        ("r.services.ai.azure.com", f"{PROJECT}/openai/v1/responses", "foundry"),
        ("notapi.openai.com", "/v1/responses", ""),
        ("api.openai.com.evil.org", "/v1/responses", ""),
        ("127.0.0.1", "/v1/responses", ""),
        ("api.x.ai", "/v1/responses", ""),
        ("", "/v1/responses", ""),
    ],
)
def test_the_host_tells_the_provider(host: str, path: str, who: str) -> None:
    assert provider_of_host(host, path) == who


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://api.openai.com:443/v1/responses?a=b", ("api.openai.com", "/v1/responses", "a=b")),
        ("/v1/responses?a=b", ("", "/v1/responses", "a=b")),
        ("api.openai.com/v1/responses", ("api.openai.com", "/v1/responses", "")),
        ("<ENDPOINT.x>/openai/v1/responses", ("", "/openai/v1/responses", "")),
        ("**REDACTED**", ("", "", "")),
        ("https://[/v1", ("", "", "")),
    ],
)
def test_addresses_are_parsed(url: str, parts: tuple[str, str, str]) -> None:
    assert split_url(url) == parts


@pytest.mark.parametrize(
    "host", ["", "<host>", "redacted", "SANITIZED.invalid", "Sanitized.azure.com", "my_redacted", "api.example.com"]
)
def test_placeholders_hide_a_host(host: str) -> None:
    assert is_host_hidden(host)


def test_a_real_host_hides_nothing() -> None:
    assert not is_host_hidden("gateway.corp.net")


@pytest.mark.parametrize(
    ("path", "headers", "who"),
    [
        ("/v1/responses", {"openai-version": "x"}, "openai"),
        ("/openai/v1/responses", {"apim-request-id": "x"}, "azure"),
        ("/openai/v1/responses", {"openai-version": "x", "apim-request-id": "x"}, "azure"),
        (f"{PROJECT}/openai/responses", {"x-ms-region": "x"}, "foundry"),
        (f"{PROJECT}/openai/v1/responses", {"openai-version": "x"}, "foundry"),
        (f"{PROJECT}/agents/a/versions", {}, "foundry"),
        ("/v1/responses", {"server": "x"}, ""),
    ],
)
def test_headers_tell_the_provider(path: str, headers: dict[str, str], who: str) -> None:
    assert provider_by_headers(path, headers) == who


@pytest.mark.parametrize(
    ("path", "request_", "answer", "who"),
    [
        ("/v1/responses", {"model": "gpt-5"}, None, "openai"),
        ("/v1/responses", None, {"model": "o4-mini"}, "openai"),
        ("/v1/responses", {}, {"model": "gpt-5", "content_filters": None}, "azure"),
        ("/openai/v1/responses", {"model": "gpt-5"}, None, "azure"),
        (f"{PROJECT}/openai/responses", {"model": "gpt-5"}, None, "foundry"),
        ("/v1/responses", {"model": "gpt-oss-20b"}, {"model": 3}, ""),
        ("/responses", {"model": "gpt-5"}, None, ""),
        ("/v1/responses", "gpt-5", None, ""),
    ],
)
def test_a_model_makes_a_provider_likely(path: str, request_: object, answer: object, who: str) -> None:
    assert guess_provider(path, request_, answer) == who


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
def test_an_address_is_parsed(url, origin, root, dialect):
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
    def test_the_environment_of_openai_has_its_base_url(self):
        assert led("https://api.openai.com/v1") == {"OPENAI_BASE_URL": f"{HERE}/v1"}

    def test_the_environment_of_azure_has_the_endpoint_alone_unless_a_base_url_was_named(self):
        assert led("https://it.openai.azure.com") == {"AZURE_OPENAI_ENDPOINT": HERE}
        both = {"AZURE_OPENAI_ENDPOINT": HERE, "OPENAI_BASE_URL": f"{HERE}/openai/v1"}
        assert led("https://it.openai.azure.com/openai/v1") == both

    def test_the_environment_of_foundry_has_the_project(self):
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

    def test_the_environment_keeps_the_command_from_asking_a_proxy_for_the_recorder(self):
        found = redirected_environment(parse_upstream("https://api.openai.com"), HERE, {"NO_PROXY": "intranet"})
        assert (found["NO_PROXY"], found["no_proxy"]) == ("127.0.0.1,intranet", "127.0.0.1")
