"""How clients ask, seen on the wire: one that makes a mistake is caught, the SDK that does it right is not."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from harness.analysis.client_mistake import client_mistakes_of
from harness.analysis.client_mistakes import retries
from harness.analysis.find_retries import Retry
from harness.analysis.judgement import ClientJudgement
from harness.explain.mistakes import see_client
from harness.faults import Gate, cut, end_stream, http_error, pause, rate_limit, server_error
from harness.items import message
from harness.world.mock import Mock
from tests.support.processes import wait_until

pytestmark = pytest.mark.harness(client="allow", refusals="allow", unused="allow")
HI: Any = {"model": "gpt-4.1", "input": "hi"}
NEVER = Gate()
OSLO = ["Oslo is", " a city in Norway."]


def found(mock: Mock, strict: bool = True) -> set[str]:
    """Return the mistakes that the client of a test made; where it is strict, those of an SDK's own habits, too."""
    return {mistake.mistake for mistake in client_mistakes_of(see_client(mock.world), strict=strict)}


@pytest.fixture
def wire(mock: Mock) -> Iterator[httpx.Client]:
    """A client that does nothing by itself."""
    headers = {"Authorization": f"Bearer {mock.api_key}"}
    with httpx.Client(base_url=mock.base_url, headers=headers, timeout=5) as made:
        yield made


def loop(wire: httpx.Client, *waits: float) -> None:
    """Ask again after each wait as long as there is an error, whichever it is."""
    for wait in (0.0, *waits):
        time.sleep(wait)
        if wire.post("/responses", json=HI).status_code < 400:
            return


class TestARefusalThatStays:
    def test_a_refusal_is_no_fault_of_a_test_whose_sdk_retries_an_exhausted_quota(self, mock: Mock) -> None:
        mock.script(http_error(429, "No credit.", code="insufficient_quota"), repeat=True)
        with pytest.raises(openai.RateLimitError):
            OpenAI(max_retries=1).responses.create(**HI)
        assert found(mock, strict=False) == set()
        assert "retried-non-retryable" in found(mock)

    def test_a_refusal_that_stays_is_the_end_for_the_sdk(self, mock: Mock) -> None:
        mock.script(http_error(400, "No."), repeat=True)
        with pytest.raises(openai.BadRequestError):
            OpenAI().responses.create(**HI)
        assert found(mock) == set()


class TestTheTimeToWait:
    def test_the_time_to_wait_is_ignored_by_a_loop(self, mock: Mock, wire: httpx.Client) -> None:
        mock.script(rate_limit(after="1s"), "ok")
        loop(wire, 0.1)
        assert found(mock) == {"retry-after-ignored"}

    @pytest.mark.slow
    def test_the_time_to_wait_is_kept_by_the_sdk(self, mock: Mock) -> None:
        mock.script(rate_limit(after="1s"), "ok")
        assert OpenAI().responses.create(**HI).output_text == "ok"
        assert found(mock) == set()
        (retry,) = mock.retries
        assert (retry.exchange, retry.of, retry.reason, retry.retry_after) == (2, 1, "429", 1.0)
        assert 1.0 <= retry.after < 3


class TestServerErrors:
    def test_server_errors_are_asked_for_again_at_once_by_a_loop(
        self, mock: Mock, wire: httpx.Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(retries, "IMMEDIATE", 1.0)  # a busy machine is slow
        mock.script(server_error(), server_error(), "ok")
        loop(wire, 0, 0)
        assert found(mock) == {"no-backoff"}
        assert [(retry.exchange, retry.of) for retry in mock.retries] == [(2, 1), (3, 2)]


class TestARetryWithLabelsOfItsOwn:
    def ask(self, attempt: int) -> None:
        headers = {"Idempotency-Key": str(attempt), "X-Sent-At": str(time.time())}
        metadata = {"attempt": str(attempt)}
        OpenAI(max_retries=0).responses.create(**HI, metadata=metadata, extra_headers=headers)

    def test_a_retry_with_labels_of_its_own_is_a_retry(self, mock: Mock) -> None:
        mock.script(server_error(), "ok")
        with pytest.raises(openai.InternalServerError):
            self.ask(1)
        self.ask(2)
        assert [(retry.exchange, retry.of, retry.reason) for retry in mock.retries] == [(2, 1, "500")]
        assert found(mock) == set()

    def test_a_retry_with_labels_of_its_own_makes_a_storm_like_any_other(self, mock: Mock) -> None:
        mock.script(server_error(), repeat=True)
        for attempt in range(10):
            with pytest.raises(openai.InternalServerError):
                self.ask(attempt)
        assert len(mock.retries) == 9
        assert "retry-storm" in found(mock)
        assert "gave-up-early" not in found(mock)

    def test_a_request_with_labels_of_its_own_is_no_retry_after_an_answer(self, mock: Mock) -> None:
        mock.script("one", "two")
        self.ask(1)
        self.ask(2)
        assert (mock.retries, found(mock)) == ([], set())


class TestASlowAnswer:
    def test_a_slow_answer_is_waited_for_without_end(self, mock: Mock) -> None:
        mock.world.client = ClientJudgement(patience=0.1)
        mock.script(pause("ok", seconds=0.3))
        assert OpenAI().responses.create(**HI).output_text == "ok"
        assert found(mock) == {"no-timeout"}

    def test_a_slow_answer_is_given_up_by_a_client_with_a_timeout(self, mock: Mock) -> None:
        mock.world.client = ClientJudgement(patience=0.2)
        mock.script(pause("ok", until=NEVER))
        with pytest.raises(openai.APITimeoutError):
            OpenAI(timeout=0.1, max_retries=0).responses.create(**HI)
        assert wait_until(lambda: mock.world.edge[1].ended)
        assert found(mock) == set()

    @pytest.mark.slow
    def test_a_slow_answer_is_asked_for_twice_when_the_client_retries(self, mock: Mock) -> None:
        mock.script(pause("one", until=NEVER), "two")
        assert OpenAI(timeout=0.5, max_retries=1).responses.create(**HI).output_text == "two"
        assert found(mock) == {"duplicate-create"}
        assert [retry.reason for retry in mock.retries] == ["timeout"]


class TestAStreamWithoutAnEnd:
    def read(self, client: OpenAI) -> str:
        """Return the id of a response whose stream the SDK reads to where it stops, which is no error for it."""
        events = list(client.responses.create(**HI, stream=True, background=True))
        assert events[-1].type != "response.completed"
        return str(events[0].response.id)

    def test_a_stream_without_an_end_passes_as_complete(self, mock: Mock) -> None:
        mock.script(end_stream("One.", after=5), "two")
        client = OpenAI()
        client.responses.create(model="gpt-4.1", input="ho", previous_response_id=self.read(client))
        assert "truncated-stream-accepted" in found(mock)

    def test_a_stream_without_an_end_is_looked_up_before_the_client_goes_on(self, mock: Mock) -> None:
        mock.script(end_stream("One.", after=5), "two")
        client = OpenAI()
        id = self.read(client)
        client.responses.retrieve(id)
        client.responses.create(model="gpt-4.1", input="ho", previous_response_id=id)
        assert found(mock) == set()


class TestAStreamThatGoesOn:
    def test_a_stream_that_goes_on_is_left(self, mock: Mock, wire: httpx.Client) -> None:
        mock.script(pause("Once.", after=2, until=NEVER))
        with wire.stream("POST", "/responses", json={**HI, "stream": True}) as answer:
            received = iter(answer.iter_lines())
            while "response.in_progress" not in next(received):
                pass
        assert wait_until(lambda: mock.world.edge[1].ended)
        assert found(mock) == {"abandoned-stream"}

    def test_a_stream_that_goes_on_is_read_to_its_end(self, mock: Mock) -> None:
        mock.script("Once.")
        assert [event.type for event in OpenAI().responses.create(**HI, stream=True)][-1] == "response.completed"
        assert found(mock) == set()


class TestAStreamThatIsResumed:
    def begin(self, mock: Mock, wire: httpx.Client) -> tuple[str, int]:
        """Return the id of a background response whose stream breaks off, and the number of its last event."""
        mock.script(cut("Once upon a time.", after=4))
        with (
            pytest.raises(httpx.RemoteProtocolError),
            wire.stream("POST", "/responses", json={**HI, "stream": True, "background": True}) as answer,
        ):
            list(answer.iter_lines())
        return str(mock.exchanges[0].answer.body["id"]), 3

    @pytest.mark.parametrize(("further", "mistakes"), [(0, set()), (2, {"resumed-from-the-wrong-event"})])
    def test_a_stream_that_is_resumed_goes_on_after_the_last_event(
        self, mock: Mock, wire: httpx.Client, further: int, mistakes: set[str]
    ) -> None:
        id, last = self.begin(mock, wire)
        answer = wire.get(f"/responses/{id}", params={"stream": "true", "starting_after": last + further})
        assert answer.status_code == 200
        assert found(mock) == mistakes


def test_a_retry_is_plain_data(mock: Mock, wire: httpx.Client) -> None:
    mock.script(server_error(), "ok")
    loop(wire, 0.06)
    (retry,) = mock.retries
    assert retry == Retry(2, 1, retry.after, "500")
    assert 0.05 < retry.after < 2


@pytest.mark.parametrize("shown", [[], [{"role": "assistant", "content": "Oslo is"}]], ids=["forgotten", "kept"])
@pytest.mark.parametrize("answer", [message(OSLO), pause(message(OSLO), after=5, until=NEVER)], ids=["sent", "paused"])
def test_an_answer_that_the_user_stops_is_no_loss(mock: Mock, answer: Any, shown: list[Any]) -> None:
    mock.script(answer, "Bern.")
    client, asked = OpenAI(), {"role": "user", "content": "Which cities do you know?"}
    with client.responses.create(model="gpt-4.1", input=[asked], stream=True) as stream:
        assert any(event.type == "response.output_text.delta" for event in stream)
    again: Any = [asked, *shown, {"role": "user", "content": "One word, please."}]
    assert client.responses.create(model="gpt-4.1", input=again).output_text == "Bern."
