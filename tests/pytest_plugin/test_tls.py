"""Tests over TLS: the addresses, the variables, the fixtures; and the credential of Azure's clients."""

import asyncio
import os
import ssl
import sys

import openai
import pytest

from harness.core.errors import install_command
from harness.drive import FoundryCredential
from harness.items import message
from harness.pytest_plugin import environment
from harness.world.mock import Mock
from tests.support.inner_run import Run
from tests.support.slow import slow_except

SECURE = '@pytest.mark.harness(tls=True, losses="allow")\n'


class TestATestThatSpeaksTls:
    def test_a_test_that_speaks_tls_is_led_there_by_its_environment(self, run: Run) -> None:
        before = os.environ.get("SSL_CERT_FILE")
        run(f"""
{SECURE}def test_it(mock):
    mock.script(message("hi"))
    with openai.OpenAI() as made:
        assert made.responses.create(model="gpt-4.1", input="x").output_text == "hi"
    assert {{mock.base_url[:8], mock.azure_endpoint[:8], mock.project_endpoint[:8]}} == {{"https://"}}
    names = "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"
    assert len({{os.environ[name] for name in names}}) == 1 and "trustStore" in os.environ["JAVA_TOOL_OPTIONS"]

def test_other(mock, client):
    mock.script(message("hi"))
    assert client.responses.create(model="gpt-4.1", input="x").output_text == "hi"
    assert mock.base_url.startswith("http://")
""").assert_outcomes(passed=2)
        assert os.environ.get("SSL_CERT_FILE") == before

    @pytest.mark.harness(tls=True, losses="allow")
    def test_a_test_that_speaks_tls_has_clients_that_trust_it(
        self, mock: Mock, client: openai.OpenAI, async_client: openai.AsyncOpenAI
    ) -> None:
        mock.script(message("hi"), message("again"))
        assert client.responses.create(model="gpt-4.1", input="x").output_text == "hi"
        answer = asyncio.run(async_client.responses.create(model="gpt-4.1", input="y"))
        assert (answer.output_text, str(client.base_url)[:5]) == ("again", "https")

    @pytest.mark.slow
    def test_a_test_over_tls_is_trusted_by_libraries_that_were_imported_before(self, run: Run) -> None:
        run(
            f"""
import aiohttp, httpx, requests
{SECURE}def test_it(mock):
    url, headers = mock.base_url + "/models", {{"Authorization": "Bearer " + mock.api_key}}
    async def ask():
        async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as answer:
            return answer.status
    assert [asyncio.run(ask()), httpx.get(url, headers=headers).status_code] == [200, 200]
    assert requests.get(url, headers=headers).status_code == 200
""",
            "-W",
            "ignore::pytest.PytestUnraisableExceptionWarning",  # the loop may end before aiohttp has closed its socket
        ).assert_outcomes(passed=1)

    @pytest.mark.slow
    def test_a_test_that_speaks_tls_may_run_in_a_session_with_its_environment(self, run: Run) -> None:
        run(
            f"""
early = openai.OpenAI()
{SECURE}def test_it(mock):
    mock.script(message("hi"), message("again"))
    with early, openai.OpenAI() as late:
        answers = [each.responses.create(model="gpt-4.1", input="x").output_text for each in (early, late)]
    assert answers == ["hi", "again"]
    assert [str(each.base_url).split(":")[0] for each in (early, late)] == ["http", "https"]
""",
            "-o",
            "harness_env=session",
        ).assert_outcomes(passed=1)

    def test_a_test_that_speaks_tls_says_which_clients_do_not_trust_it(self, run: Run) -> None:
        run(f"""
import ssl
import sys
early = openai.DefaultHttpxClient(verify=ssl.create_default_context())
{SECURE}def test_it(mock):
    with openai.OpenAI(http_client=early, max_retries=0) as made:
        made.responses.create(model="gpt-4.1", input="x")
""").shows("*responses-harness: TLS*", "a client rejected the certificate of this server (unknown ca). *", failed=1)

    def test_a_test_that_speaks_tls_needs_cryptography(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("harness.core.errors.find_spec", lambda _: None)
        run("@pytest.mark.harness(tls=True)\ndef test_it(mock): ...").shows(
            f"*needs cryptography: {install_command('tls').replace('[', '[[]')}", errors=1
        )


class TestTheCredential:
    def test_the_credential_brings_tls_and_leads_to_the_world(
        self, mock: Mock, foundry_credential: FoundryCredential
    ) -> None:
        mock.script(message("hi"))
        token = foundry_credential.get_token("https://ai.azure.com/.default").token
        with openai.OpenAI(base_url=mock.project_endpoint + "/openai/v1", api_key=token) as made:
            assert made.responses.create(model="mine", input="x").output_text == "hi"
        assert (mock.project_endpoint[:8], mock.exchanges[0].request.dialect) == ("https://", "foundry")

    @pytest.fixture
    def project(self, mock: Mock, foundry_credential: FoundryCredential) -> str:
        return mock.project_endpoint

    def test_the_credential_may_be_asked_for_by_a_fixture(self, project: str) -> None:
        assert project.startswith("https://")

    @pytest.mark.parametrize(
        "test",
        slow_except(
            [0],
            [
                "@pytest.mark.harness(tls=False)\ndef test_it(mock, foundry_credential): ...",
                "def test_it(mock, request): request.getfixturevalue('foundry_credential')",
            ],
        ),
    )
    def test_the_credential_is_of_no_use_over_plain_http(self, run: Run, test: str) -> None:
        run(test).shows("*`foundry_credential`: the mock of this test uses plain HTTP*")

    def test_the_credential_serves_synchronous_and_asynchronous_clients(self) -> None:
        credential = FoundryCredential("sk-1")

        async def ask() -> list[object]:
            async with credential as same:
                await same.close()
                return [await same.get_token("scope", enable_cae=True), await same.get_token_info("scope", options={})]

        with credential as same:
            assert same.close() is not None
        (awaited, info), token = asyncio.run(ask()), credential.get_token("scope")
        assert token == awaited == info
        assert (token[0], token.token_type, token.refresh_on) == ("sk-1", "Bearer", None)


def test_nothing_is_done_to_aiohttp_where_it_has_no_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp.connector", ssl)
    environment._trust_in_aiohttp("no certificate")
