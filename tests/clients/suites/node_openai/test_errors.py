"""How the npm package `openai` tells an application that something went wrong."""

import pytest
from story import RETRIED

from harness.ending import failed
from harness.faults import cut, server_error
from harness.items import message

LOST = {"role": "assistant", "content": [{"type": "input_file", "file_id": "file-1"}]}
ORPHAN = {"type": "function_call_output", "call_id": "call_1", "output": "4"}


INVALID = "Invalid value: 'input_file'. Supported values are: 'output_text' and 'refusal'."
UNCALLED = "No tool call found for function call output with call_id call_1."


@pytest.mark.parametrize(
    ("item", "words", "param"),
    [
        pytest.param(LOST, INVALID, "input[0].content[0]", id="file"),
        pytest.param(ORPHAN, UNCALLED, "input", id="orphan"),
    ],
)
def test_refusal(mock, play, item, words, param):
    with mock.refuses(words):
        error = play("refused", request={"input": [item]})
    assert (error["kind"], error["status"], error["request"]) == ("BadRequestError", 400, True)
    assert (error["message"], error["param"]) == (f"400 {words}", param)


def test_unknown_response(mock, play):
    with mock.refuses("response_not_found"):
        error = play("unknown")
    assert (error["kind"], error["status"]) == ("NotFoundError", 404)
    assert error["message"] == "404 Response with id 'resp_nobody' not found."


def test_without_credit(mock, play):
    mock.organization(out_of_quota=True)
    error = play("refused")
    assert (error["kind"], error["code"], len(mock.exchanges)) == ("RateLimitError", "insufficient_quota", 1)


def test_failure_within_a_stream(mock, play):
    mock.script([message(["On", "ce"]), failed("server_error", "Sorry.")])
    error = play("refusedStream")
    assert (error["kind"], error["code"], error["message"]) == ("APIError", "server_error", "Sorry.")


@pytest.mark.parametrize("after", [1, 6, 6.5], ids=str)
def test_cut_stream(mock, play, after):
    mock.script(cut(message(["Once ", "upon ", "a time."]), after=after))
    assert play("refusedStream")["message"] == "terminated"


def test_cut_answer(mock, play):
    mock.script(cut(message("Once upon a time."), after=1))
    assert play("refused")["message"] == "terminated"


FAILED = {"failed": (failed("server_error"), 500), "failed_limit": (failed("rate_limit_exceeded"), 429)}


@pytest.mark.parametrize(("fault", "status"), (RETRIED | FAILED).values(), ids=RETRIED | FAILED)
def test_failure_is_retried(mock, play, fault, status):
    mock.script(fault, message("Hello."))
    assert play("retried", times=2)["done"]["output_text"] == "Hello."
    assert [exchange.status for exchange in mock.exchanges] == [status, 200]


def test_failure_is_not_retried_for_ever(mock, play):
    mock.script(server_error(), server_error())
    error = play("retried", times=1)
    assert (error["kind"], error["status"]) == ("InternalServerError", 500)
