"""Requests to the live API: at its pace, to the right place with the right key, and no further than is any use."""

from typing import Any

import pytest

from harness.api.http.dialects import parse_upstream
from harness.live.paced import (
    DEFAULT_OUTPUT_TOKENS,
    Budget,
    Sender,
    UpstreamError,
    estimate_request,
    sum_budgets,
)
from harness.live.paced import LiveApi as Behind
from harness.verify.examples import EXAMPLE_HEADERS
from tests.support.servers.live_api import KEY, Change, Reply, error, live

GOOD: Reply = (200, {}, {"object": "list", "data": []})


def behind(url: str) -> Behind:
    return Behind(parse_upstream(url), KEY)


def get(sender: Sender) -> Any:
    return sender.send("GET", "/v1/models", EXAMPLE_HEADERS, None)


def in_turn(*answers: Reply) -> Change:
    left = list(answers)
    return lambda method, path, body: left.pop(0) if len(left) > 1 else left[0]


def send_in_turn(*answers: Reply) -> tuple[Any, int, list[float]]:
    """Return the reply to one request, how often it was sent, and the waits."""
    waits: list[float] = []
    with live(in_turn(*answers)) as (url, api):
        sender = Sender(behind(url), sleep=waits.append)
        reply = get(sender)
        return reply, len(api.requests), waits


@pytest.mark.parametrize(
    ("answer", "wait"),
    [
        (error(429, "Slow.", retry_after_ms="250"), 0.25),
        (error(429, "Slow.", retry_after="30", code="rate_limit_exceeded"), 30.0),
        (error(429, "Slow.", retry_after="300"), 300.0),
        *((error(status, "Busy."), 1.0) for status in (502, 503, 504)),
        (error(503, "Busy.", retry_after="soon"), 1.0),
        (error(500, "Oops."), 1.0),
        (error(408, "Late.", retry_after="2"), 2.0),
    ],
)
def test_what_may_be_answered_later_is_sent_again_when_the_api_says(answer: Reply, wait: float) -> None:
    reply, times, waits = send_in_turn(answer, GOOD)
    assert (reply.status, times, waits) == (200, 2, [wait])


@pytest.mark.parametrize(
    ("answer", "times", "waits"),
    [
        (error(500, "Oops."), 2, [1.0]),
        ((500, {}, "<html>Oops</html>"), 2, [1.0]),
        (error(503, "Busy."), 6, [1.0, 2.0, 4.0, 8.0, 16.0]),
        (error(429, "Tomorrow.", retry_after="301"), 1, []),
        (error(429, "Slow.", retry_after_ms="1"), 6, [0.001] * 5),
    ],
    ids=["a server error", "a page with one", "busy for good", "a limit of more than five minutes", "limited for good"],
)
def test_what_stays_or_lasts_too_long_is_the_answer(answer: Reply, times: int, waits: list[float]) -> None:
    reply, sent, waited = send_in_turn(answer)
    assert (reply.status, sent, waited) == (answer[0], times, waits)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (error(401, f"Incorrect API key provided: {KEY}."), "refuses the key: Incorrect API key provided: "),
        (error(429, "No credit.", code="insufficient_quota"), "the account is out of credit"),
        ((404, {}, "<html>Not here</html>"), "Pass the root of the API, such as http://127.0.0.1"),
        ((502, {}, "<html>Bad gateway</html>"), "502, the answer is neither JSON nor events"),
    ],
)
def test_what_makes_going_on_pointless_ends_it(answer: Reply, message: str) -> None:
    with pytest.raises(UpstreamError, match=message) as raised:
        send_in_turn(answer)
    assert KEY not in str(raised.value)


def test_nobody_there_ends_it() -> None:
    with live() as (url, _):
        pass
    with pytest.raises(UpstreamError, match=r"the connection is refused\. Is it running, and is the URL right\?"):
        get(Sender(behind(url)))


def test_a_server_that_has_answered_may_fail_twice_in_a_row() -> None:
    failed: Reply = (502, {}, "<html>Bad gateway</html>")
    with live(in_turn(GOOD, failed, failed, GOOD, failed)) as (url, api):
        sender = Sender(behind(url), sleep=lambda seconds: None)
        assert [get(sender).status for _ in range(2)] == [200, 200]
        with pytest.raises(UpstreamError, match="502, the answer is neither JSON nor events"):
            get(sender)
    assert len(api.requests) == 7
    sender = Sender(behind(url))
    sender._answered = True
    assert [get(sender).status for _ in range(2)] == [0, 0]
    with pytest.raises(UpstreamError, match="the connection is refused"):
        get(sender)


def test_a_wrong_key_that_was_meant_is_an_answer() -> None:
    with live() as (url, api):
        reply = Sender(behind(url)).send("GET", "/v1/models", {"authorization": "Bearer bad"}, None, with_key=False)
    assert (reply.status, api.keys) == (401, ["Bearer bad"])


@pytest.mark.parametrize(
    ("url", "known", "path"),
    [
        ("https://api.openai.com/v1", "/v1/responses", "/v1/responses"),
        ("https://api.openai.com/v1", "/responses", "/responses"),
        ("https://gateway.example.org/llm", "/v1/responses?a=b", "/llm/responses?a=b"),
        ("https://mine.openai.azure.com/openai/v1", "/v1/responses", "/openai/v1/responses"),
        ("https://mine.openai.azure.com/openai/v1", "/openai/responses", "/openai/responses"),
        (
            "https://mine.services.ai.azure.com/api/projects/shop/openai/v1",
            "/api/projects/p/agents/a?api-version=v1",
            "/api/projects/shop/agents/a?api-version=v1",
        ),
    ],
)
def test_a_path_of_the_api_is_found_behind_any_root(url: str, known: str, path: str) -> None:
    assert behind(url).path(known) == path


def test_azure_gets_its_key_in_its_own_header_and_not_named() -> None:
    azure = behind("https://mine.openai.azure.com/openai/v1")
    sent = azure.headers({"authorization": "Bearer x", "content-type": "a/b"})
    assert sent == {"content-type": "a/b", "api-key": KEY}
    assert azure.public_name == "https://azure"
    assert behind("https://api.openai.com/v1").public_name == "https://api.openai.com"


@pytest.mark.parametrize(
    ("method", "path", "body", "accepted", "cost"),
    [
        ("POST", "/v1/responses", b'{"input":"hi","max_output_tokens":16}', True, Budget(1, 10, 16)),
        ("POST", "/v1/threads/t/runs", b'{"max_completion_tokens":256}', True, Budget(1, 8, 256)),
        ("POST", "/v1/responses", b"{}", True, Budget(1, 1, DEFAULT_OUTPUT_TOKENS)),
        ("POST", "/v1/responses", b'{"max_output_tokens":"x"}', True, Budget(1, 7, DEFAULT_OUTPUT_TOKENS)),
        ("POST", "/v1/responses", b"no JSON", True, Budget(1, 2, DEFAULT_OUTPUT_TOKENS)),
        ("POST", "/v1/responses", b"[]", True, Budget(1, 1, DEFAULT_OUTPUT_TOKENS)),
        ("POST", "/v1/responses", b'{"input":"hi"}', False, Budget(1)),
        ("GET", "/v1/responses/resp_1", b"", True, Budget(1)),
        ("POST", "/v1/conversations", b"{}", True, Budget(1)),
    ],
)
def test_only_what_a_model_answers_costs_tokens(method, path, body, accepted, cost):
    assert estimate_request(method, path, body, accepted) == cost


def test_budgets_add_up_and_read_as_a_sentence() -> None:
    assert str(sum_budgets([Budget(1, 10, 16), Budget(1, 1000)])) == "2 calls, at most about 1,010 tokens in and 16 out"
    assert str(sum_budgets([Budget(1)])) == "1 call, at most about 0 tokens in and 0 out"


def test_what_it_cost_before_is_the_least_that_it_costs_again() -> None:
    cost = Budget(1, 10, 500)
    assert cost.at_least({"input_tokens": 900, "output_tokens": 20}) == Budget(1, 900, 500)
    assert Budget(1).at_least({}) == Budget(1)
    assert cost.at_least({"input_tokens": None, "output_tokens": 700}) == Budget(1, 10, 700)
