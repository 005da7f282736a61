"""How `ai` tells an application that something went wrong."""

import pytest
from story import RETRIED

from harness.ending import failed, incomplete
from harness.faults import cut, server_error
from harness.items import message


def test_refusal(mock, run):
    with mock.refuses("number_above_maximum"):
        error = run("refused", options={"temperature": 3})
    words = "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead."
    assert (error["name"], error["statusCode"], error["message"]) == ("AI_APICallError", 400, words)
    assert (error["data"]["param"], error["data"]["code"]) == ("temperature", "decimal_above_max_value")


def test_incomplete(mock, run):
    mock.script([message("Once upon"), incomplete()])
    told = run("text")
    assert (told["output"], told["finish"]) == ("Once upon", "length")


def test_failure_within_a_stream(mock, play):
    mock.script([message(["On", "ce"]), failed("server_error", "Sorry.")])
    error = play("refused", stream=True)
    assert "done" not in error
    assert "Sorry." in str(error)


@pytest.mark.parametrize("after", [1, 6, 6.5], ids=str)
def test_cut_stream(mock, play, after):
    mock.script(cut(message(["Once ", "upon ", "a time."]), after=after))
    assert play("refused", stream=True)["name"] == "AI_APICallError"


@pytest.mark.parametrize(("fault", "status"), RETRIED.values(), ids=RETRIED)
def test_failure_is_retried(mock, play, fault, status):
    mock.script(fault, message("Hello."))
    assert play("retried", times=1)["done"]["output"] == "Hello."
    assert [exchange.status for exchange in mock.exchanges] == [status, 200]


def test_failure_is_not_retried_for_ever(mock, play):
    mock.script(server_error(), server_error())
    error = play("retried", times=1)
    assert (error["name"], error["reason"]) == ("AI_RetryError", "maxRetriesExceeded")
