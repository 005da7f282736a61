"""Quotas: requests and tokens per minute, refused in the API's words, refilled by the World's time."""

from typing import Any

import pytest

from harness.core.account import Organization
from harness.core.errors import ConfigError
from harness.core.exchange import Answer
from harness.world.quotas import Quotas
from harness.world.scripting.document import parse_document
from tests.support.in_process import KEY, Client, post
from tests.support.websockets import Socket


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock of the server, which a test sets."""
    clock = [0.0]
    monkeypatch.setattr("harness.server.answering.monotonic", lambda: clock[0])
    return clock


def client_with(**limits: int) -> Client:
    made = Client()
    made.mock.organization(**limits)
    return made


def words(answer: Answer) -> str:
    return str(answer.body["error"]["message"])


def limits_in(answer: Answer) -> dict[str, str]:
    return {name.removeprefix("x-ratelimit-"): text for name, text in answer.headers.items() if "ratelimit" in name}


class TestRequestsPerMinute:
    def test_requests_per_minute_are_refused_beyond_the_limit_in_the_words_of_the_api(self) -> None:
        client = client_with(requests_per_minute=3)
        assert [client.ask().status for _ in range(4)] == [200, 200, 200, 429]
        refused = client.world.exchanges[-1].answer
        assert refused.body["error"] == {
            "message": "Rate limit reached for gpt-4.1 in organization org-harness on requests per min (RPM): Limit 3, Used "
            "3, Requested 1. Please try again in 20s. Visit https://platform.openai.com/account/rate-limits to learn more.",
            "type": "requests",
            "param": None,
            "code": "rate_limit_exceeded",
        }
        assert (refused.headers["retry-after"], refused.headers["retry-after-ms"]) == ("20", "20000")
        assert limits_in(refused) == {"limit-requests": "3", "remaining-requests": "0", "reset-requests": "1m0s"}

    def test_requests_per_minute_are_in_the_headers_of_each_answer(self) -> None:
        client = client_with(requests_per_minute=3)
        assert limits_in(client.ask()) == {"limit-requests": "3", "remaining-requests": "2", "reset-requests": "20s"}
        assert limits_in(client.ask(stream=True))["reset-requests"] == "40s"

    def test_requests_per_minute_come_back_with_the_time_of_the_world(self) -> None:
        client = client_with(requests_per_minute=3)
        for _ in range(3):
            client.ask()
        client.mock.skip(19)
        assert words(client.ask()).partition("again in ")[2].startswith("1s.")
        client.mock.skip(1)
        assert [client.ask().status for _ in range(2)] == [200, 429]
        client.mock.skip(3600)
        assert [client.ask().status for _ in range(4)] == [200, 200, 200, 429]

    def test_requests_per_minute_are_counted_for_each_model(self) -> None:
        client = client_with(requests_per_minute=1)
        assert [client.ask(model=name).status for name in ("gpt-4.1", "gpt-4.1-mini", "gpt-4.1")] == [200, 200, 429]

    def test_requests_per_minute_are_no_matter_of_requests_that_ask_no_model(self) -> None:
        client = client_with(requests_per_minute=1)
        first = client.ask(store=True).body
        assert client.send(f"GET /responses/{first['id']}").status == 200
        assert client.send("GET /models").status == 200

    def test_requests_per_minute_are_spent_by_no_request_that_the_contract_refuses(self) -> None:
        client = client_with(requests_per_minute=1)
        assert [client.ask(temperature=9).status, client.ask().status, client.ask().status] == [400, 200, 429]

    def test_requests_per_minute_take_no_turn_when_refused(self) -> None:
        client = client_with(requests_per_minute=1)
        client.mock.script("One.", "Two.")
        client.ask(), client.ask()
        client.mock.skip(60)
        assert client.ask().body["output"][0]["content"][0]["text"] == "Two."
        assert client.world.unused == []

    def test_requests_per_minute_are_asked_for_and_fail_no_test(self) -> None:
        client = client_with(requests_per_minute=1)
        client.ask(), client.ask()
        assert client.world.exchanges[-1].answer.rule == "rate_limit"
        assert client.world.refusals.unexpected == []

    def test_requests_per_minute_end_with_the_limit(self) -> None:
        client = client_with(requests_per_minute=1)
        client.ask()
        client.mock.organization(zdr=True)
        assert client.ask().status == 429
        client.mock.organization(requests_per_minute=None)
        answer = client.ask()
        assert (answer.status, limits_in(answer)) == (200, {})


class TestTokensPerMinute:
    def test_tokens_per_minute_are_those_of_the_prompt_or_those_allowed_for_the_output(self) -> None:
        client = client_with(tokens_per_minute=1000)
        assert client.ask(max_output_tokens=800).status == 200
        refused = client.ask(max_output_tokens=387)
        assert words(refused).startswith(
            "Rate limit reached for gpt-4.1 in organization org-harness on tokens per min (TPM): Limit 1000, Used 800, "
            "Requested 387. Please try again in 11.22s. Visit"
        )
        assert (refused.body["error"]["type"], refused.headers["retry-after"]) == ("tokens", "12")
        assert limits_in(refused) == {"limit-tokens": "1000", "remaining-tokens": "200", "reset-tokens": "48s"}

    def test_tokens_per_minute_of_a_request_that_is_larger_than_the_limit_never_come(self) -> None:
        client = client_with(tokens_per_minute=100, requests_per_minute=5)
        refused = client.ask("word " * 4000)
        limit = "tokens per min (TPM): Limit 100, Requested "
        assert words(refused).startswith(f"Request too large for gpt-4.1 in organization org-harness on {limit}")
        assert (refused.status, refused.body["error"]["code"], refused.expected) == (429, "rate_limit_exceeded", True)
        assert "retry-after" not in refused.headers
        assert limits_in(refused)["remaining-requests"] == "5"

    def test_tokens_per_minute_are_in_the_headers_beside_the_requests(self) -> None:
        client = client_with(tokens_per_minute=60_000, requests_per_minute=60)
        requests = {"limit-requests": "60", "remaining-requests": "59", "reset-requests": "1s"}
        tokens = {"limit-tokens": "60000", "remaining-tokens": "59000", "reset-tokens": "1s"}
        assert limits_in(client.ask(max_output_tokens=1000)) == {**requests, **tokens}


def test_azure_has_its_own_words_and_whole_seconds() -> None:
    client = client_with(requests_per_minute=7)
    body = {"model": "gpt-4.1", "input": "hi"}
    *taken, refused = [post(client.api, body, "/openai/v1/responses", **{"api-key": KEY}) for _ in range(8)]
    assert [answer.status for answer in (*taken, refused)] == [200] * 7 + [429]
    told = limits_in(taken[0])
    assert [told[f"{name}-requests"] for name in ("limit", "remaining", "reset")] == ["7", "6", "9"]
    assert (words(refused), refused.headers["retry-after"]) == ("Too Many Requests", "9")


class TestAClientThatWaits:
    """Whoever has waited as long as it was told has its request; who comes early has not."""

    def test_a_client_that_waits_as_long_as_asked_has_its_quota(self) -> None:
        quotas = Quotas(requests=3)
        quotas.arrived = 100.0
        refusals = [quotas.spend("m", 1, 0) for _ in range(4)]
        assert [limit and limit.seconds for limit in refusals] == [None, None, None, 20]
        quotas.arrived = 119.0
        assert quotas.spend("m", 1, 0) is not None
        quotas.arrived = 120.0
        assert quotas.spend("m", 1, 0) is None
        assert quotas.spend("m", 1, 0) is not None

    def test_a_client_gets_no_more_than_it_waited_for(self) -> None:
        quotas = Quotas(requests=60)
        quotas.arrived = 0.0
        for _ in range(61):
            quotas.spend("m", 1, 0)
        quotas.arrived = 3600.0
        assert [quotas.spend("m", 1, 0) is None for _ in range(2)] == [True, False]

    def test_a_client_that_waits_has_a_server_whose_clock_counts(self, now: list[float]) -> None:
        client = client_with(requests_per_minute=60)
        statuses = [client.ask().status for _ in range(61)]
        now[0] += 1
        assert (statuses[-1], client.ask().status) == (429, 200)


class TestSettings:
    @pytest.mark.parametrize("limit", [0, -1, 1.5, "3", True])
    def test_settings_must_be_a_number(self, limit: Any) -> None:
        with pytest.raises(ConfigError, match=r"organization\(requests_per_minute=.*: pass a number of at least 1"):
            Organization(requests_per_minute=limit)

    def test_settings_stand_in_a_script_file_and_begin_with_a_world(self) -> None:
        client = Client()
        parse_document({"organization": {"requests_per_minute": 1, "tokens_per_minute": 5000}}).apply(client.mock)
        assert [client.ask().status for _ in range(2)] == [200, 429]
        begun = Client(requests_per_minute=1)
        assert [begun.ask().status for _ in range(2)] == [200, 429]


def test_a_socket_reads_its_quota_in_an_event(now: list[float]) -> None:
    socket = Socket(requests_per_minute=60)
    for _ in range(60):
        assert socket.create()[-1]["type"] == "response.completed"
    [told] = socket.create()
    assert (told["type"], told["status"], told["error"]["code"]) == ("error", 429, "rate_limit_exceeded")
    now[0] += 1
    assert socket.create()[-1]["type"] == "response.completed"
