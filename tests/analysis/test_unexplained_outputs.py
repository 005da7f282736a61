"""Outputs that say that a call was not executed, and what explains them: without `counted` the words alone tell."""

from typing import Any

import pytest

from harness.analysis.loss import NEXT, PROMPT, TOOLS, assistant, call, losses_of, output, sketch
from harness.core.exchange import Json, ToolRun, ToolRuns
from harness.items import function_call, message
from tests.support.in_process import Client

FOLLOW_UP = "Tool execution skipped - user provided follow-up message"
CALLS = [
    function_call("deploy", {"ref": "v2"}, call_id="call_1"),
    function_call("notify", {"who": "ops"}, call_id="call_2"),
    function_call("deploy", {"ref": "v3"}, call_id="call_3"),
]
SENT = sketch("C C2", call("call_3", arguments='{"ref":"v3"}'))


class Conversation:
    """Three calls were made in one response."""

    def __init__(self, calls: list[Any] = CALLS) -> None:
        self.client = Client()
        self.client.mock.script(calls, message("Done."), message("Yes."))
        self.first = self.client.ask([PROMPT], tools=TOOLS).body["id"]

    def lost(self, *items: Json, **members: str) -> list[str]:
        """Return what is lost when these items are sent."""
        self.client.ask([*items], tools=TOOLS, **members)
        return [lost.message for lost in self.client.mock.losses]


def outputs(*texts: str) -> list[Json]:
    return [output(f"call_{number}", text) for number, text in enumerate(texts, 1)]


def answered(*texts: str, then: tuple[Json, ...] = (), sent: list[Json] = SENT, calls: list[Any] = CALLS) -> list[str]:
    """Return what is lost when the calls get these outputs, and these items follow them."""
    return Conversation(calls).lost(PROMPT, *sent, *outputs(*texts), *then)


class TestAFinding:
    def test_a_finding_is_a_user_message_that_an_output_needs_and_lacks(self) -> None:
        first, second = answered("v2 is live", FOLLOW_UP, FOLLOW_UP)
        assert first == (
            "function_call notify (call_2) from exchange 1 was answered with a text that no tool returned: "
            '"Tool execution skipped - user provided …", although no user message follows'
        )
        assert "(call_3)" in second

    @pytest.mark.parametrize(
        "text",
        [
            *("Tool execution skipped.", "This tool call was not executed", "Tool call interrupted", "Tool not run."),
            *('{"error": "Tool execution skipped."}', '{"ok": false, "error": "Tool not executed"}'),
            *('{"status": "not_executed"}', '["not run"]', "[Request interrupted by user]", "(not executed)"),
            *("No result provided", '{"output": "No tool output was provided."}', "No response received."),
        ],
    )
    def test_calls_that_were_not_executed_all_in_the_same_words_are_a_finding(self, text: str) -> None:
        found = answered("v2 is live", text, text)
        assert [loss.rpartition(", ")[2] for loss in found] == ["without a reason"] * 2
        assert "as were 2 calls in all" in found[0]

    def test_a_finding_is_one_through_a_chain(self) -> None:
        talk = Conversation()
        assert len(talk.lost(*outputs(*[FOLLOW_UP] * 3), previous_response_id=talk.first)) == 3

    def test_a_finding_is_reported_once_however_often_the_history_is_sent(self) -> None:
        talk, history = Conversation(), [PROMPT, *SENT, *outputs(*[FOLLOW_UP] * 3)]
        talk.lost(*history)
        assert len(talk.lost(*history, assistant("Done."), NEXT)) == 3


RIGHT = [
    *("ok", "", "null", "{}", "true", "[]", "0", "None", "Done.", "File written.", '{"status": "skipped"}'),
    *("18 °C and sunny, with some wind from the west in the afternoon", "No results.", "Order A7 is cancelled."),
    *("Error: boom", "Tool call deploy failed: skipped 3 files", "2 passed, 1 skipped", "The build was aborted."),
    *('{"error": "The user refused it: skipped."}', '{"file": "a.txt", "status": "not run"}', "(no output)", "[]"),
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
    def test_no_finding_are_the_same_words_that_tools_and_clients_have_for_right_answers(self, text: str) -> None:
        assert answered(text, text, text) == []

    @pytest.mark.parametrize("text", [FOLLOW_UP, "Tool execution skipped."])
    def test_no_finding_is_a_message_of_the_user_that_follows(self, text: str) -> None:
        assert answered("v2 is live", text, text, then=(NEXT,)) == []
        assert answered(text, text, text, sent=[*SENT, NEXT]) == []

    def test_no_finding_is_a_message_of_the_user_that_follows_in_a_chain(self) -> None:
        talk = Conversation()
        assert talk.lost(*outputs(*[FOLLOW_UP] * 3), NEXT, previous_response_id=talk.first) == []

    def test_no_finding_is_a_single_call_that_was_not_executed(self) -> None:
        assert answered("v2 is live", "Tool execution skipped.", "v3 is live") == []

    def test_no_finding_are_calls_of_one_function_with_the_same_arguments(self) -> None:
        calls = [function_call("deploy", {"ref": "v2"}, call_id=f"call_{number}") for number in (1, 2)]
        sent = [call(f"call_{number}") for number in (1, 2)]
        assert answered("Tool execution skipped.", "Tool execution skipped.", sent=sent, calls=calls) == []


class TestSwappedOutputs:
    """Two calls of one response are answered with the output of the other."""

    def lost(self, first: str, second: str, *arguments: Json) -> list[str]:
        made = arguments or ({"city": "Paris"}, {"city": "Rome"})
        calls = [function_call("deploy", one, call_id=f"call_{n}", off_schema=True) for n, one in enumerate(made, 1)]
        talk = Conversation(calls)
        return talk.lost(*outputs(first, second), previous_response_id=talk.first)

    @pytest.mark.parametrize(
        "texts",
        [
            ("Rome: 22 °C", "Paris: 18 °C"),
            ("It is sunny in Rome.", "It rains in Paris."),
            ("Rome is sunny.", "Weather for Paris: rain"),
            ('{"city": "Rome", "sun": 1}', '{"city": "Paris", "sun": 0}'),
            ('{"at": {"city": "Rome"}, "sun": 1}', '{"at": {"city": "Paris"}, "sun": 0}'),
        ],
    )
    def test_outputs_that_name_the_argument_of_the_other_call_are_a_finding(self, texts: tuple[str, str]) -> None:
        found = self.lost(*texts)
        assert [lost.partition("with ")[2].partition(":")[0] for lost in found] == ["the output of another call"] * 2
        assert found[0].endswith("which names the arguments of function_call deploy (call_2)")

    @pytest.mark.parametrize(
        ("texts", "arguments"),
        [
            (("Paris: 18 °C", "Rome: 22 °C"), ()),
            (("Rome", "Paris"), ()),
            (("warmer than Rome", "22 °C"), ()),
            (("married to Rome", "married to Paris"), ()),
            (("warmer than Rome", "colder than Paris"), ()),
            (("in love with Rome", "the rival of Paris"), ()),
            (("18, cooler than in Rome", "22, warmer than in Paris"), ()),
            (("Rome since 1956", "Paris, its only twin"), ()),
            (("It is in Rome.", "It is in Paris."), ()),
            (('{"city": "Rome"}', '{"city": "Paris"}'), ()),
            (('{"next": "Rome"}', '{"next": "Paris"}'), ()),
            (("2 seats", "1 seat"), ({"seats": 1}, {"seats": 2})),
            (
                ("Rome to Paris: 2 h", "Paris to Rome: 2 h"),
                ({"from": "Paris", "to": "Rome"}, {"from": "Rome", "to": "Paris"}),
            ),
            (("Rome " + "x" * 200, "Paris " + "x" * 200), ()),
        ],
    )
    def test_outputs_that_name_it_for_another_reason_are_none(
        self, texts: tuple[str, str], arguments: tuple[Json, ...]
    ) -> None:
        assert self.lost(*texts, *arguments) == []


class TestTheSameOutputOfDifferentCalls:
    def lost(self, text: str, runs: ToolRuns | None = None) -> list[str]:
        talk = Conversation()
        talk.lost(PROMPT, *SENT, *outputs("v2 is live", text, text))
        return [lost.loss for lost in losses_of(talk.client.world.exchanges, strict=True, tool_runs=runs)]

    @pytest.mark.parametrize("text", ["ok", "(no output)", '{"rows": 0}', ""])
    def test_the_same_output_of_different_calls_is_a_finding_whatever_its_words(self, text: str) -> None:
        assert self.lost(text) == ["outputs-equal"]

    def test_the_same_output_of_different_calls_is_none_if_the_tools_returned_it(self) -> None:
        runs = ToolRuns()
        for name, arguments in (("notify", {"who": "ops"}), ("deploy", {"ref": "v3"})):
            runs.finished.append(ToolRun(name, arguments, "ok"))
        assert self.lost("ok", runs) == []
