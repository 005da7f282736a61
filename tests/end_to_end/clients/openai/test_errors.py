"""What the unmodified `openai` SDK raises when the mock refuses."""

import openai
import pytest

from tests.support.clients.programs import MODEL

ASK = {"model": MODEL, "input": "hi"}
REFUSALS = [
    pytest.param({"temperature": 3}, openai.BadRequestError, 400, "temperature", "decimal_above_max_value", id="400"),
    pytest.param(
        {"previous_response_id": "resp_0"},
        openai.BadRequestError,
        400,
        "previous_response_id",
        "previous_response_not_found",
        id="400-state",
    ),
    pytest.param({"conversation": "conv_0"}, openai.NotFoundError, 404, None, None, id="404"),
]


@pytest.mark.parametrize(("more", "kind", "status", "param", "code"), REFUSALS)
def test_a_refusal_is_a_typed_exception(mock, client, more, kind, status, param, code):
    with pytest.raises(kind) as caught:
        client.responses.create(**ASK, **more)
    error = caught.value
    assert (error.status_code, error.type, error.param, error.code) == (status, "invalid_request_error", param, code)
    assert error.request_id.startswith("req_")


def test_a_refused_stream_is_an_exception_before_the_first_event(mock, client):
    with pytest.raises(openai.BadRequestError, match="Unknown parameter: 'seed'"):
        client.responses.create(**ASK, stream=True, extra_body={"seed": 1})


def test_the_sdk_retries_a_failing_server_and_then_gives_up(mock, client):
    mock.organization(failing=True)
    with pytest.raises(openai.InternalServerError):
        client.with_options(max_retries=1).responses.create(**ASK)
    assert [exchange.status for exchange in mock.exchanges] == [500, 500]
    assert [exchange.request.headers["x-stainless-retry-count"] for exchange in mock.exchanges] == ["0", "1"]
