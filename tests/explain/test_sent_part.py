"""What was sent, as far as an error points to it."""

import pytest

from harness.explain.sent_part import describe_sent_part, resolve_path
from harness.server.mock_api import MockApi
from tests.support.in_process import post


@pytest.fixture
def send():
    """Send a body (or bytes) to a mock without a network; the exchange is the result."""
    mock = MockApi(keys=())
    world = mock.open("sk-test", "refusal")

    def send(body):
        post(mock, body, key="sk-test")
        return world.exchanges[-1]

    return send


def asked(given, **members):
    return {"model": "gpt-4.1", "input": given, **members}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"input": "hi"}, 'no model in the body: {"input": "hi"}'),
        (asked([{"role": "user"}]), 'no content in input[0]: {"role": "user"}'),
        (asked("hi", temperature="hot"), 'temperature = "hot"'),
        (b'{"model": ', '{"model": '),
        (b'"hi"', '"hi"'),
        (asked("hi", messages=[]), '{"model": "gpt-4.1", "input": "hi", "messages": []}'),
    ],
)
def test_what_was_sent(send, body, words):
    exchange = send(body)
    assert exchange.status == 400
    assert describe_sent_part(exchange.request, exchange.answer.body["error"]["param"]) == words


@pytest.mark.parametrize(
    ("path", "reached"),
    [
        ("input[1].content[0].text", ("input[1].content[0].text", "x", "")),
        ("input[2].role", ("input", [1, {"content": [{"text": "x"}]}], "[2]")),
        ("input[0].role", ("input[0]", 1, "role")),
        ("tools", ("", {"input": [1, {"content": [{"text": "x"}]}]}, "tools")),
        ("", ("", {"input": [1, {"content": [{"text": "x"}]}]}, "")),
    ],
)
def test_a_path_leads_as_far_as_it_can(path, reached):
    assert resolve_path({"input": [1, {"content": [{"text": "x"}]}]}, path) == reached
