"""What a refused key or an exceeded limit is told besides the words: the challenge, when to come back."""

import pytest

from harness.contract.rule import Case
from harness.contract.rules.http.access import mask_key
from harness.core.account import Organization, RateLimit
from harness.verify.examples import play_case


@pytest.mark.parametrize(
    ("key", "printed"),
    [
        ("", "''"),
        ("test", "test"),
        ("YOUR_API_KEY", "YOUR_API_KEY"),
        ("your_key_here", "your_key*here"),
        ("test-openai-key1", "test-ope****key1"),
        ("sk-invalid-test-key", "sk-inval*******-key"),
        ("sk-fake-openai-test", "sk-fake-*******test"),
    ],
)
def test_a_key_is_printed_masked_as_recorded(key, printed):
    assert mask_key(key) == printed


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer nobody"}])
def test_a_401_carries_the_challenge(headers):
    answer = play_case(Case({}, headers=headers)).answer
    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer realm="OpenAI API"')


def test_a_wrong_key_is_answered_with_the_status_beside_the_error():
    body = play_case(Case({}, headers={"authorization": "Bearer bad apiKey"})).answer.body
    assert list(body) == ["error", "status"]
    assert body["status"] == 401
    assert list(body["error"]) == ["message", "type", "code", "param"]
    assert (body["error"]["code"], body["error"]["param"]) == ("invalid_api_key", None)


def test_a_rate_limit_says_when_to_come_back():
    limit = RateLimit(30000, 22999, 12528, "tokens per min (TPM)", 11.054)
    answer = play_case(Case(account=Organization(rate_limit=limit))).answer
    assert answer.body["error"]["type"] == "tokens"
    assert {name: value for name, value in answer.headers.items() if name.startswith(("retry", "x-ratelimit"))} == {
        "retry-after": "12",
        "retry-after-ms": "11054",
        "x-ratelimit-limit-tokens": "30000",
        "x-ratelimit-remaining-tokens": "7001",
        "x-ratelimit-reset-tokens": "11.054s",
    }
    assert "Please try again in 11.054s." in answer.body["error"]["message"]
