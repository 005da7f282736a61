"""Which requests are retries: what the API would take for one, whatever else differs."""

from typing import Any

import pytest

from harness.analysis.client_mistake import OK, Sending, refused, seen
from harness.analysis.find_retries import asked_delay, find_retries
from harness.core.exchange import Answer, Exchange, Form, Request

FAILED = Sending(0, refused(503), body={"input": "hi", "instructions": "It is 10:41:07.", "metadata": {"try": "1"}})


def repeats(first: Sending, second: Sending) -> bool:
    """Return whether the second of two requests is a retry of the first."""
    return [(retry.exchange, retry.of) for retry in seen(first, second).retries] == [(2, 1)]


def again(body: Any = None, **members: Any) -> Sending:
    return Sending(1, OK, body={**(FAILED.body or {}), **(body or {})}, **members)


def test_the_wait_that_a_refusal_asks_for_is_known_to_the_millisecond() -> None:
    asked = [{"retry-after-ms": "1500", "retry-after": "2"}, {"retry-after": "2"}, {"retry-after": "Fri"}]
    assert [asked_delay(headers) for headers in asked] == [1.5, 2, None]


@pytest.mark.parametrize(
    "retry",
    [
        again({"metadata": {"try": "2"}}),
        again({"client_metadata": {"turn_started_at": "2"}}),
        again({"user": "u", "safety_identifier": "u", "prompt_cache_key": "k"}),
        again({"service_tier": "default", "temperature": None}),
        again({"stream": True, "stream_options": {"include_obfuscation": False}}),
        again(headers={"idempotency-key": "2", "x-request-started": "2", "traceparent": "2", "session-id": "2"}),
        again({"instructions": "It is 10:41:09.5."}),
        again({"input": [{"role": "user", "content": "hi", "id": "msg_2"}]}),
    ],
)
def test_what_no_model_reads_may_differ(retry: Sending) -> None:
    assert repeats(FAILED, retry)


@pytest.mark.parametrize(
    "request_",
    [
        again({"input": "ho"}),
        again({"instructions": "Be brief."}),
        again({"input": [{"role": "user", "content": "hi"}, {"role": "user", "content": "At 10:42?"}]}),
        again({"model": "gpt-5"}),
        again({"temperature": 1}),
        again({"tools": [{"type": "web_search"}]}),
        again({"previous_response_id": "resp_1"}),
        again(headers={"user-agent": "another client"}),
        again(path="/responses/input_tokens"),
    ],
)
def test_what_a_model_reads_may_not(request_: Sending) -> None:
    assert not repeats(FAILED, request_)


def test_the_time_of_a_user_is_read() -> None:
    asked = [{"role": "user", "content": "At 10:41?"}]
    assert not repeats(Sending(0, refused(503), {"input": asked}), Sending(1, OK, {"input": "At 10:42?"}))
    told = [{"role": "developer", "content": [{"type": "input_text", "text": f"It is 10:4{n}."}]} for n in (1, 2)]
    assert repeats(Sending(0, refused(503), {"input": told[:1]}), Sending(1, OK, {"input": told[1:]}))


def test_the_same_question_after_an_answer_is_none() -> None:
    assert seen(Sending(0, OK), Sending(1, OK), Sending(2, OK, body={"metadata": {"run": "2"}})).retries == []


class TestAnSdkThatCounts:
    def count(self, number: int) -> dict[str, str]:
        return {"x-stainless-retry-count": str(number)}

    def test_an_sdk_that_counts_says_itself_that_a_changed_request_is_a_retry(self) -> None:
        rows = [
            Sending(number, refused(503), body={"input": f"At {number}"}, headers=self.count(number))
            for number in range(3)
        ]
        assert [(retry.exchange, retry.of) for retry in seen(*rows).retries] == [(2, 1), (3, 2)]

    def test_an_sdk_that_counts_what_it_has_sent(self) -> None:
        first = Sending(0, refused(503), body={"input": "one"}, headers=self.count(0))
        for other in (
            Sending(1, OK, body={"input": "two"}, headers=self.count(0)),
            Sending(1, OK, body={"input": "two"}, headers=self.count(2)),
            Sending(1, OK, path="/responses/resp_1", headers=self.count(1)),
        ):
            assert not repeats(first, other)


class TestARefusal:
    def test_a_refusal_is_repeated_where_the_blamed_member_is_unchanged(self) -> None:
        refusal = Sending(0, refused(400, param="input[0].content"))
        assert repeats(refusal, Sending(1, OK, body={"metadata": {"try": "2"}}))

    @pytest.mark.parametrize("param", ["metadata", "metadata.try", None])
    def test_a_refusal_is_not_where_it_has_changed(self, param: str | None) -> None:
        refusal = Sending(0, refused(400, param=param), body={"metadata": {"try": "x" * 513}})
        assert not repeats(refusal, Sending(1, OK, body={"metadata": {"try": "2"}}))

    def test_a_refusal_of_a_key_is_not_repeated_with_another(self) -> None:
        keys = [{"authorization": f"Bearer sk-{name}"} for name in ("old", "new")]
        assert not repeats(Sending(0, refused(401), headers=keys[0]), Sending(1, OK, headers=keys[1]))
        assert repeats(Sending(0, refused(429), headers=keys[0]), Sending(1, OK, headers=keys[1]))


def uploaded(number: int, boundary: str, status: int, text: str = "x") -> Exchange:
    raw = f'--{boundary}\r\ncontent-disposition: form-data; name="file"\r\n\r\n{text}\r\n--{boundary}--\r\n'
    form = Form({"file": text, "purpose": "user_data"})
    headers = {"content-type": f"multipart/form-data; boundary={boundary}", "content-length": str(len(raw))}
    request = Request("POST", "/files", headers, body=form.fields, raw=raw.encode(), operation="POST /files")
    return Exchange(number, request, Answer(status, {}))


def test_an_upload_is_retried_with_another_boundary() -> None:
    edge = seen(Sending(0, refused(503)), Sending(1, OK)).edge
    retried = [uploaded(1, "a", 503), uploaded(2, "bb", 200)]
    assert [retry.of for retry in find_retries(retried, edge)] == [1]
    assert find_retries([uploaded(1, "a", 503), uploaded(2, "a", 200, "another file")], edge) == []


def test_a_socket_falls_back_to_http() -> None:
    edge = seen(Sending(0, refused(503)), Sending(1, OK)).edge
    event = {"type": "response.create", "stream_id": "a", "model": "gpt-5", "input": "hi"}
    socket = Request("WS", "/responses", body=event, operation="WS /responses")
    plain = Request("POST", "/responses", body={"model": "gpt-5", "input": "hi", "stream": True})
    sent = [Exchange(1, socket, Answer(503, {})), Exchange(2, plain, Answer(200, {}))]
    assert [retry.of for retry in find_retries(sent, edge)] == [1]
    steer = Request("WS", "/responses", body={**event, "type": "response.steer"}, operation="WS /responses")
    assert find_retries([Exchange(1, steer, Answer(503, {})), sent[1]], edge) == []


def test_integers_beyond_64_bits_and_lone_surrogates_are_compared_like_others() -> None:
    odd = {"input": "\ud800", "tools": [{"maximum": 10**200}]}
    edge = seen(Sending(0, refused(503)), Sending(1, OK)).edge
    sent = [Exchange(number, Request("POST", "/responses", body=odd), Answer(503, {})) for number in (1, 2)]
    assert len(find_retries(sent, edge)) == 1
