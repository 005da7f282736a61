"""Requests that nobody answers while they are recorded: the client learns why, and so does the recording."""

import asyncio
import socket

import pytest

from harness.cassettes.files import read_cassette
from harness.cassettes.recording.vcr import use_cassette
from harness.server.mock_api import MockApi
from tests.support.processes import free_port
from tests.support.servers.live_server import over_tls
from tests.support.servers.stalling import STUCK, TRICKLING, stalling

ASKED = {"model": "gpt-4.1", "input": "hi"}
AUTH = {"authorization": "Bearer sk-arrivals-0123456789"}


def ask(http, url, **options):
    with http.Client(**options) as client:
        return client.post(url, json=ASKED, headers=AUTH)


async def ask_async(http, url):
    async with http.AsyncClient() as client:
        return await client.post(url, json=ASKED, headers=AUTH)


def test_the_error_and_the_recording_say_which_address_it_was(http, file):
    url = f"http://127.0.0.1:{free_port()}/v1/responses"
    with use_cassette(file, "all") as backend:
        with pytest.raises(http.ConnectError) as refused:
            ask(http, f"{url}?key=secret-0123")
        with pytest.raises(http.ConnectError):
            asyncio.run(ask_async(http, url))
    (text,) = refused.value.__notes__
    assert text.startswith(f"POST {url} was not answered and not recorded: ")
    assert text.endswith(" Is its address right, and is the API up?")
    assert backend.failures[0].what == text
    assert (len(backend.failures), file.exists()) == (2, False)


def test_an_answer_that_is_too_slow_is_none(http, file):
    with socket.create_server(("127.0.0.1", 0)) as silent, use_cassette(file, "all") as backend:
        with pytest.raises(http.ReadTimeout):
            ask(http, f"http://127.0.0.1:{silent.getsockname()[1]}/v1/responses", timeout=0.2)
        assert "was not answered and not recorded: timed out" in backend.failures[0].what


def test_an_answer_that_falls_silent_is_recorded_as_far_as_it_came(http, file):
    with stalling(STUCK) as origin, use_cassette(file, "all"), pytest.raises(http.ReadTimeout):
        ask(http, f"{origin}/v1/responses", timeout=0.3)
    (interaction,) = read_cassette(file).interactions
    assert (interaction.cut, interaction.answer) == (True, b"data: 1\n\n")


def test_an_answer_that_never_ends_is_recorded_until_its_client_leaves(http, file):
    with (
        stalling(TRICKLING) as origin,
        use_cassette(file, "all"),
        http.stream("POST", f"{origin}/v1/responses", json=ASKED, headers=AUTH) as answer,
    ):
        first = next(answer.iter_raw())
    (interaction,) = read_cassette(file).interactions
    assert interaction.answer.startswith(first)


def test_a_certificate_that_nobody_trusts_is_reported(http, file, tmp_path_factory, monkeypatch):
    with over_tls(MockApi(), tmp_path_factory) as origin, use_cassette(file, "all") as backend:
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(http.ConnectError):
            ask(http, f"{origin}/v1/responses")
        assert backend.failures[0].what.endswith("Name the file of its certificates in SSL_CERT_FILE.")
