"""Outputs that say that a call was not executed, and what explains them: without `counted` the words alone tell."""

from __future__ import annotations

from typing import Any

import pytest

from harness.analysis.losses.examples import NEXT, PROMPT, TOOLS, assistant, call, output
from harness.core.exchange import Json
from harness.items import function_call, message
from tests.support.in_process import Client

FOLLOW_UP = "Tool execution skipped - user provided follow-up message"
SAME = ("call_1", "call_2")
CALLS = [
    function_call("deploy", {"ref": "v2"}, call_id="call_1"),
    function_call("notify", {"who": "ops"}, call_id="call_2"),
    function_call("deploy", {"ref": "v3"}, call_id="call_3"),
]
SENT = [call(), call("call_2", "notify", '{"who":"ops"}'), call("call_3", arguments='{"ref":"v3"}')]


def answered(*texts: Any, then: tuple[Json, ...] = (), sent: list[Json] = SENT, calls: list[Any] = CALLS) -> list[str]:
    """What is lost when three calls get these outputs, and these items follow them."""
    client = Client()
    client.mock.script(calls, message("Done."))
    client.ask([PROMPT], tools=TOOLS)
    outputs = [output(f"call_{number}", text) for number, text in enumerate(texts, 1)]
    client.ask([PROMPT, *sent, *outputs, *then], tools=TOOLS)
    return [lost.message for lost in client.mock.losses]


class TestAFinding:
    def test_is_a_message_of_the_user_that_is_told_of_and_not_there(self) -> None:
        first, second = answered("v2 is live", FOLLOW_UP, FOLLOW_UP)
        assert first == (
            "function_call notify (call_2), said in exchange 1, was answered with a text that no tool returned: "
            '"Tool execution skipped - user provided …", though no message of the user follows'
        )
        assert "(call_3)" in second

    @pytest.mark.parametrize(
        "text", ["Tool execution skipped.", "This tool call was not executed", "Tool call interrupted", "Tool not run."]
    )
    def test_are_calls_that_were_not_executed_all_of_them_in_the_same_words(self, text: str) -> None:
        found = answered("v2 is live", text, text)
        assert [each.rpartition(", ")[2] for each in found] == ["and nothing tells why"] * 2
        assert "as 2 calls were" in found[0]

    def test_is_one_through_a_chain(self) -> None:
        client = Client()
        client.mock.script(CALLS, message("Done."))
        first = client.ask([PROMPT], tools=TOOLS).body["id"]
        outputs = [output(f"call_{number}", FOLLOW_UP) for number in (1, 2, 3)]
        client.ask(outputs, previous_response_id=first, tools=TOOLS)
        assert [lost.loss for lost in client.mock.losses] == ["output-invented"] * 3

    def test_is_told_once_however_often_the_history_is_sent(self) -> None:
        client, history = Client(), [PROMPT, *SENT, *(output(f"call_{number}", FOLLOW_UP) for number in (1, 2, 3))]
        client.mock.script(CALLS, message("Done."), message("Yes."))
        client.ask([PROMPT], tools=TOOLS)
        client.ask(history, tools=TOOLS)
        client.ask([*history, assistant("Done."), NEXT], tools=TOOLS)
        assert len(client.mock.losses) == 3


RIGHT = [
    *("ok", "", "null", "{}", "true", "[]", "0", "None", "Done.", "File written.", '{"status": "skipped"}'),
    *("18 °C and sunny, with some wind from the west in the afternoon", "No results.", "Order A7 is cancelled."),
    *("Error: boom", "Tool call deploy failed: skipped 3 files", "2 passed, 1 skipped", "The build was aborted."),
    "Tool execution was not approved.",
    "Error: Tool call invocation was rejected by user.",
    "The tool call was denied.",
    "Tool execution denied.",
    "Tool not executed - a final result was already processed.",
    "Tool call cancelled by the user.",
    "The user interrupted the tool call.",
    "Tool execution cancelled.",
    "cancelled",
    "aborted",
    "Tool call skipped: only one call may run at a time.",
    "Tool call skipped because the limit of 5 calls is reached.",
    "Tool execution skipped (dry run).",
    "Tool call limit exceeded. Do not call it again.",
    "Tool execution skipped, as the budget is used up: " + "x" * 200,
]


class TestNoFinding:
    @pytest.mark.parametrize("text", RIGHT)
    def test_are_the_same_words_that_tools_and_clients_have_for_right_answers(self, text: str) -> None:
        assert answered(text, text, text) == []

    @pytest.mark.parametrize("text", [FOLLOW_UP, "Tool execution skipped."])
    def test_is_a_message_of_the_user_that_follows(self, text: str) -> None:
        assert answered("v2 is live", text, text, then=(NEXT,)) == []
        assert answered(text, text, text, sent=[*SENT, NEXT]) == []

    def test_is_a_message_of_the_user_that_follows_in_a_chain(self) -> None:
        client = Client()
        client.mock.script(CALLS, message("Done."))
        first = client.ask([PROMPT], tools=TOOLS).body["id"]
        outputs = [output(f"call_{number}", FOLLOW_UP) for number in (1, 2, 3)]
        client.ask([*outputs, NEXT], previous_response_id=first, tools=TOOLS)
        assert client.mock.losses == []

    def test_is_a_single_call_that_was_not_executed(self) -> None:
        assert answered("v2 is live", "Tool execution skipped.", "v3 is live") == []

    def test_are_calls_of_one_function_with_the_same_arguments(self) -> None:
        calls = [function_call("deploy", {"ref": "v2"}, call_id=f"call_{number}") for number in (1, 2)]
        sent = [call(f"call_{number}") for number in (1, 2)]
        assert answered("Tool execution skipped.", "Tool execution skipped.", sent=sent, calls=calls) == []
