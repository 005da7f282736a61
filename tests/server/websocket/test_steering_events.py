"""Steering over a connection: when it is taken, what comes of it, what is said when it is not."""

from typing import Any

import orjson
import pytest

from harness.items import custom_tool_call, function_call, mcp_approval_request, message
from tests.support.tools import functions, tools_for
from tests.support.websockets import Event, Socket, types

GPT6 = {"model": "gpt-6-astra"}
SHORT = {"type": "message", "role": "user", "content": "Be brief."}


def failure(events: list[Event]) -> tuple[str, str]:
    """Return the code and message of a steer that failed, told by one event alone."""
    [event] = events
    assert event["type"] == "response.steer.failed"
    assert event["error"]["type"] == "invalid_request_error"
    return event["error"]["code"], event["error"]["message"]


def first_of(socket: Socket, **members: Any) -> str:
    return str(socket.made(**{**GPT6, **members})["id"])


class TestASteerThatIsTaken:
    def test_a_steer_is_accepted_and_then_answered_by_another_response(self) -> None:
        socket = Socket()
        id = first_of(socket)
        accepted, *rest = socket.steer(id)
        assert accepted["type"] == "response.steer.accepted"
        assert accepted["steer"]["previous_response_id"] == id
        assert accepted["steer"]["id"].startswith("steer_")
        assert (types(rest)[0], types(rest)[-1]) == ("created", "completed")
        assert rest[-1]["response"]["previous_response_id"] == id

    def test_a_steer_is_numbered_after_the_events_of_its_target(self) -> None:
        socket = Socket()
        events = socket.create(**GPT6)
        accepted, created, *_ = socket.steer(events[-1]["response"]["id"])
        assert accepted["sequence_number"] == events[-1]["sequence_number"] + 1
        assert created["sequence_number"] == 0

    @pytest.mark.parametrize("input", ["Be brief.", [SHORT], [{"role": "user", "content": "Be brief."}]])
    def test_a_steer_is_what_the_model_reads_next(self, input: Any) -> None:
        socket = Socket()
        id = first_of(socket)
        socket.mock.when(input="Be brief.").script(message("Short."))
        assert socket.steer(id, input)[-1]["response"]["output"][0]["content"][0]["text"] == "Short."

    def test_leads_to_a_response_with_the_settings_of_its_target(self) -> None:
        socket = Socket()
        id = first_of(socket, instructions="You are a planner.", store=False, max_output_tokens=99)
        response = socket.steer(id)[-1]["response"]
        assert (response["instructions"], response["store"]) == ("You are a planner.", False)
        assert response["max_output_tokens"] == 99

    def test_a_steer_that_is_taken_asks_the_model_even_after_a_warm_up(self) -> None:
        socket = Socket()
        id = first_of(socket, generate=False)
        assert socket.steer(id)[-1]["response"]["output"] != []

    def test_a_steer_belongs_to_the_lane_of_its_target(self) -> None:
        socket = Socket()
        id = first_of(socket, stream_id="main")
        assert {event["stream_id"] for event in socket.steer(id)} == {"main"}

    def test_a_steer_that_is_taken_may_be_followed_by_one_of_what_came_of_it(self) -> None:
        socket = Socket()
        second = socket.steer(first_of(socket))[-1]["response"]["id"]
        assert types(socket.steer(second))[-1] == "completed"

    def test_a_steer_is_one_exchange(self) -> None:
        socket = Socket()
        id = first_of(socket)
        last = socket.steer(id)[-1]["response"]
        _, exchange = socket.journal
        assert (exchange.request.body["type"], exchange.status) == ("response.steer", 200)
        assert exchange.answer.body == last

    def test_a_steer_without_a_turn_gets_the_error_of_the_harness(self) -> None:
        socket = Socket()
        socket.mock.script(message("one"))
        accepted, told = socket.steer(first_of(socket))
        assert accepted["type"] == "response.steer.accepted"
        assert (told["status"], told["error"]["code"]) == (418, "NoTurn")


class TestASteerThatWaits:
    def test_a_steer_that_waits_names_the_outputs_that_are_due(self) -> None:
        socket = Socket()
        calls = [
            function_call("f", {}, call_id="call_1"),
            custom_tool_call("g", "x", call_id="call_2"),
            mcp_approval_request("server", "h", {}),
            message("Working on it."),
        ]
        socket.mock.script(calls)
        first = socket.made(**GPT6, tools=tools_for(calls))
        accepted, pending = socket.steer(first["id"])
        assert types([accepted, pending]) == ["steer.accepted", "steer.pending"]
        assert (pending["steer"], pending["reason"]) == (accepted["steer"], "waiting_for_required_input")
        assert pending["sequence_number"] == accepted["sequence_number"] + 1
        assert pending["required_input"] == [
            {"type": "function_call_output", "call_id": "call_1", "name": "f"},
            {"type": "custom_tool_call_output", "call_id": "call_2"},
            {"type": "mcp_approval_response", "approval_request_id": first["output"][2]["id"]},
        ]

    def waiting(self, **members: Any) -> tuple[Socket, str]:
        socket = Socket()
        socket.mock.script(function_call("f", {}, call_id="call_1"))
        id = first_of(socket, tools=functions("f"), **members)
        socket.mock.script(lambda request: message(" / ".join(map(_brief, request.body["input"]))))
        return socket, id

    OUTPUT = [{"type": "function_call_output", "call_id": "call_1", "output": "4"}]  # noqa: RUF012  (never changed)

    def test_a_steer_that_waits_goes_before_the_input_that_answers_the_call(self) -> None:
        socket, id = self.waiting()
        for text in ("Be brief.", "Be kind."):
            socket.steer(id, text)
        response = socket.made(self.OUTPUT, **GPT6, previous_response_id=id)
        assert response["output"][0]["content"][0]["text"] == "Be brief. / Be kind. / 4"

    def test_a_steer_that_waits_is_used_once(self) -> None:
        socket, id = self.waiting()
        socket.steer(id)
        second = socket.made(self.OUTPUT, **GPT6, previous_response_id=id)
        socket.mock.script(lambda request: message(str(request.body["input"])))
        third = socket.made("Go on.", **GPT6, previous_response_id=second["id"])
        assert third["output"][0]["content"][0]["text"] == "Go on."

    def test_a_steer_that_waits_goes_over_no_other_lane(self) -> None:
        socket, id = self.waiting(stream_id="main")
        assert {event["stream_id"] for event in socket.steer(id)} == {"main"}
        response = socket.made(self.OUTPUT, **GPT6, previous_response_id=id, stream_id="other")
        assert response["output"][0]["content"][0]["text"] == "4"


def _brief(item: dict[str, Any]) -> str:
    return str(item.get("content", item.get("output")))


class TestASteerThatFails:
    @pytest.mark.parametrize(
        "event",
        [
            {},
            {"previous_response_id": 7},
            {"input": None},
            {"input": []},
            {"input": 7},
            {"input": ["x"]},
            {"input": [{"role": "developer", "content": "x"}]},
            {"input": [{"role": "user", "content": "x", "id": "msg_1"}]},
            {"input": [{"role": "user"}]},
            {"input": [{"type": "function_call_output", "call_id": "call_1", "output": "x"}]},
            {"input": "x", "stream_id": "main"},
            {"input": "x", "model": "gpt-6-astra"},
        ],
    )
    def test_a_steer_that_fails_for_its_form_says_so(self, event: dict[str, Any]) -> None:
        socket = Socket()
        target = {"previous_response_id": first_of(socket)} if event else {}
        told = list(socket.session.receive(_json({"type": "response.steer", **target, **event})))
        assert failure(told) == ("invalid_input", "Invalid steering input.")
        assert (socket.journal[-1].status, socket.journal[-1].answer.rule) == (400, "steer_invalid_input")

    def test_a_steer_that_fails_gives_its_input_back(self) -> None:
        [event] = Socket().steer("resp_x", [SHORT])
        assert event["steer"] == {"input": [SHORT], "previous_response_id": "resp_x"}
        assert event["sequence_number"] == 0

    def test_a_steer_that_fails_for_a_response_of_another_connection_says_so(self) -> None:
        socket = Socket()
        id = first_of(socket)
        words = f"Response with id '{id}' not found."
        assert failure(Socket(of=socket).steer(id)) == ("response_not_found", words)

    def test_when_its_lane_has_gone_on_says_so(self) -> None:
        socket = Socket()
        id = first_of(socket)
        first_of(socket)
        assert failure(socket.steer(id)) == ("response_already_completed", f"Response '{id}' has already completed.")

    @pytest.mark.parametrize(
        "members",
        [
            {"model": "gpt-4.1"},
            {"model": "gpt-5.6"},
            {"context_management": [{"type": "compaction", "compact_threshold": 100_000}]},
        ],
    )
    def test_a_steer_that_fails_for_what_cannot_be_steered_says_so(self, members: dict[str, Any]) -> None:
        socket = Socket()
        code, _ = failure(socket.steer(first_of(socket, **members)))
        assert code == "steering_not_supported"

    def test_a_steer_that_fails_for_a_response_of_a_conversation_says_so(self) -> None:
        socket = Socket()
        conversation = socket.client.send("POST /conversations", {}).body["id"]
        code, _ = failure(socket.steer(first_of(socket, conversation=conversation)))
        assert code == "steering_not_supported"

    def test_a_steer_that_fails_with_the_response_that_would_take_it_keeps_its_id(self) -> None:
        socket = Socket()
        id = first_of(socket, store=False, stream_id="main")
        socket.mock.organization(models={"gpt-4.1"})
        accepted, failed = socket.steer(id)
        assert failed["error"]["code"] == "successor_creation_failed"
        assert failed["steer"] == {**accepted["steer"], "input": "Be brief."}
        assert (failed["stream_id"], socket.journal[-1].answer.rule) == ("main", "successor_creation_failed")
        socket.mock.organization(models=None)
        assert types(socket.steer(id))[-1] == "completed"


def _json(event: Any) -> bytes:
    return orjson.dumps(event)
