"""The path that agents took: lists of it that are asserted, and what a failed assertion shows."""

from typing import Any

import pytest

from harness import Mock
from harness.analysis.loss import output
from harness.analysis.path import SHOWN_PATH
from harness.core.errors import ConfigError
from harness.items import custom_tool_call, function_call, mcp_call, message, reasoning, web_search_call
from tests.support.in_process import Client
from tests.support.tools import functions

PLANNER, OPS = "You are the planner.", "You are ops."


@pytest.fixture
def client() -> Client:
    made = Client()
    made.tools = functions("get_weather", "book", "transfer_to_ops")
    return made


@pytest.fixture
def mock(client: Client) -> Mock:
    """Two agents: the planner asks for the weather twice and hands over, ops books without an answer."""
    client.mock.script(
        function_call("get_weather", {"city": "Paris"}, call_id="call_1"),
        [
            function_call("get_weather", {"city": "Oslo"}, call_id="call_2"),
            function_call("transfer_to_ops", {}, call_id="call_3"),
        ],
        [message("Booking."), function_call("book", {"seats": 2}, call_id="call_4")],
    )
    first = client.ask("Where?", instructions=PLANNER, store=True).body
    second = client.ask(
        [output("call_1", "18 °C")], previous_response_id=first["id"], instructions=PLANNER, store=True
    ).body
    outputs = [output("call_2", "5 °C"), output("call_3", "ops")]
    client.ask(outputs, previous_response_id=second["id"], instructions=OPS)
    return client.mock


class TestCalls:
    def test_calls_are_a_list(self, mock: Mock) -> None:
        assert [(call.agent, call.name) for call in mock.calls] == [
            *(("planner", name) for name in ("get_weather", "get_weather", "transfer_to_ops")),
            ("ops", "book"),
        ]
        assert mock.calls.named("get_weather") == mock.calls[:2]
        assert mock.calls.named("cancel") == []
        assert mock.calls.by("ops") == mock.calls[3:]

    def test_calls_have_their_arguments_as_the_tool_gets_them(self, mock: Mock) -> None:
        assert mock.calls.named("get_weather").arguments == [{"city": "Paris"}, {"city": "Oslo"}]

    def test_calls_of_a_custom_tool_have_its_text(self, client: Client) -> None:
        client.tools = [{"type": "custom", "name": "run"}]
        client.mock.script(custom_tool_call("run", "print(1"))
        client.ask(model="gpt-5")
        assert client.mock.calls.arguments == ["print(1"]
        assert str(client.mock.path) == "agent 1 → run(print(1) unanswered"

    def test_calls_are_unanswered_until_an_output_has_come(self, mock: Mock) -> None:
        assert mock.calls.unanswered == mock.calls.named("book")
        assert not mock.calls.named("get_weather").unanswered

    def test_calls_are_counted(self, mock: Mock) -> None:
        weather = mock.calls.named("get_weather")
        assert weather.times(2)
        assert not weather.times(1)
        assert mock.calls.named("cancel").times(0)
        assert mock.calls.times(4)

    def test_came_before_others(self, mock: Mock) -> None:
        calls = mock.calls
        assert calls.named("get_weather").before("book")
        assert calls.named("get_weather").before(calls.named("book"))
        assert not calls.named("book").before("get_weather")

    @pytest.mark.parametrize("name", ["cancel", "boook"])
    def test_calls_of_a_tool_that_was_never_called_came_before_nothing(self, mock: Mock, name: str) -> None:
        assert not mock.calls.named(name).before("book")
        assert not mock.calls.named("book").before(name)

    def test_calls_of_one_answer_are_made_at_once(self, client: Client) -> None:
        client.mock.script([function_call("get_weather"), function_call("book")])
        client.ask()
        claim = client.mock.calls.named("get_weather").before("book")
        assert not claim
        assert str(claim).startswith("get_weather and book were made together, in the answer to request 1; the path: ")

    @pytest.mark.parametrize("number", [-1, "2", None])
    def test_calls_cannot_be_counted_by_anything_else(self, mock: Mock, number: Any) -> None:
        with pytest.raises(ConfigError, match="pass a non-negative number"):
            mock.calls.times(number)
        with pytest.raises(ConfigError, match="pass the name of a tool"):
            mock.calls.before(3)  # type: ignore[arg-type]

    def test_calls_stay_what_they_were_when_more_come(self, mock: Mock, client: Client) -> None:
        calls, claim = mock.calls, str(mock.calls.times(9))
        client.ask(tools=functions("book"), instructions=OPS)
        assert (len(calls), str(calls.times(9))) == (4, claim)
        assert str(mock.calls.times(9)) != claim


class TestWhatAFailureSays:
    PATH = (
        "planner → get_weather(city=Paris) ✓ 18 °C → get_weather(city=Oslo) ✓ 5 °C → transfer_to_ops() ✓ ops "
        '→ ops → "Booking." → book(seats=2) unanswered'
    )

    def test_what_a_failure_says_is_the_path(self, mock: Mock) -> None:
        assert str(mock.path) == self.PATH
        assert repr(mock.calls.named("get_weather").times(3)) == (
            f"2 calls of get_weather, not 3; the path: {self.PATH}"
        )

    def test_what_a_failure_says_is_when_the_calls_came(self, mock: Mock) -> None:
        text = repr(mock.calls.named("book").before("get_weather"))
        assert text.startswith("book (request 3) came after get_weather (request 1); the path: planner → ")

    def test_suggests_the_name_that_was_called(self, mock: Mock) -> None:
        assert str(mock.calls.before("boook")).startswith("there is no call of boook (Did you mean 'book'?); the path:")

    def test_a_failure_about_calls_shows_each_with_its_output_or_else_the_path(self, mock: Mock) -> None:
        assert repr(mock.calls.unanswered) == "[book(seats=2) unanswered]"
        assert repr(mock.calls.named("cancel")) == f"<no call of cancel; the path: {self.PATH}>"

    def test_fits_into_what_pytest_shows_of_a_value(self, client: Client) -> None:
        for _ in range(9):
            client.mock.script(function_call("get_weather", {"city": "x" * 200}))
            client.ask(instructions=PLANNER)
        text = repr(client.mock.calls.named("get_weather").times(1))
        assert len(text) < 240
        assert len(text) > SHOWN_PATH
        assert text.startswith("9 calls of get_weather, not 1; the path: planner → get_weather(city=x")

    def test_what_a_failure_says_of_nothing_says_so(self, client: Client) -> None:
        assert repr(client.mock.calls) == "<no call; the path: nothing happened>"


class TestThePath:
    def test_the_path_has_what_the_api_has_run_itself_and_what_it_refused(self, client: Client) -> None:
        client.tools = [{"type": "web_search"}]
        client.mock.script([reasoning("**Think**"), web_search_call("rain"), message("It rains.")])
        client.ask()
        client.ask([output("call_9", "x")])
        found, said, refused = client.mock.path.steps
        assert (found.name, said.text) == ("web_search_call", '"It rains."')
        assert (refused.name, refused.text[:12]) == ("", "refused: 400")

    def test_the_path_shows_how_often_a_call_was_answered(self, client: Client) -> None:
        client.mock.script(function_call("book", call_id="call_1"), "Ok.", "Again.")
        first = client.ask(store=True).body
        for text in ("one", [{"type": "input_text", "text": "two"}]):
            client.ask([output("call_1", text)], previous_response_id=first["id"])
        assert client.mock.path.steps[0].text == "book() ✓ two (answered 2 times)"

    def test_the_path_has_approvals_with_their_answers(self, client: Client) -> None:
        client.tools = [{"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}]
        client.mock.mcp("prod", {"deploy": lambda ref: f"{ref} is live"})
        client.mock.script([mcp_call("prod", "deploy", {"ref": "v2"}), message("Out.")])
        first = client.ask(store=True).body
        assert client.mock.approvals.unanswered.arguments == [{"ref": "v2"}]
        assert str(client.mock.path) == "agent 1 → deploy(ref=v2) unanswered"
        answer = {"type": "mcp_approval_response", "approval_request_id": first["output"][-1]["id"], "approve": True}
        client.ask([answer], previous_response_id=first["id"])
        approvals = client.mock.approvals
        assert approvals.named("deploy").times(1)
        assert not approvals.unanswered
        assert repr(approvals) == "[deploy(ref=v2) approved]"
        assert str(client.mock.path) == 'agent 1 → deploy(ref=v2) approved → deploy(ref=v2) ✓ v2 is live → "Out."'


class TestAgents:
    def test_agents_are_in_the_order_in_which_they_took_over(self, mock: Mock) -> None:
        assert mock.agents == ["planner", "ops"]
        assert "ops" in mock.agents
        [hand_off] = mock.agents.hand_offs
        assert (hand_off.by, hand_off.to, hand_off.name) == ("planner", "ops", "transfer_to_ops")

    def test_agents_are_none_before_a_request(self, client: Client) -> None:
        client.send("GET /models")
        assert client.mock.agents == []
