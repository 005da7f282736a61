"""A take is what travelled; its header says what sent it."""

import pytest

from harness.cassettes.format.interaction import Interaction, find_client
from tests.support.recordings import over_http, streamed


def test_an_answer_is_its_chunks():
    assert streamed(b"data: 1\n", b"\n").answer == b"data: 1\n\n"


def test_a_stream_says_so_in_its_headers():
    assert streamed(b"data: 1\n\n").is_stream
    assert not over_http({}, {}).is_stream


@pytest.mark.parametrize(
    ("agent", "client"),
    [
        ("OpenAI/Python 3.54.0", ("OpenAI/Python", "3.54.0")),
        ("OpenAI/JS 6.1.0", ("OpenAI/JS", "6.1.0")),
        ("curl/8.14.1", ("curl", "8.14.1")),
        ("Go-http-client/1.1", ("Go-http-client", "1.1")),
        ("openai-go v1.2.0-beta.1 linux", ("openai-go", "1.2.0-beta.1")),
        ("my agent", ("", "")),
    ],
)
def test_the_client_is_named_by_its_agent(agent, client):
    assert find_client([Interaction("GET", "/"), Interaction("GET", "/", {"user-agent": agent})]) == client


def test_nobody_sent_nothing():
    assert find_client([]) == ("", "")
