"""Whose answer it is, and which path of the API."""

from __future__ import annotations

import pytest

from harness.api.http.providers import (
    guess_provider,
    is_host_hidden,
    path_below_root,
    provider_by_headers,
    provider_of_host,
    split_url,
)

PROJECT = "/api/projects/p"


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
def test_addresses_are_taken_apart(url: str, parts: tuple[str, str, str]) -> None:
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
