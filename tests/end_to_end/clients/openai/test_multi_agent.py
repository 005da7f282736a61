"""The multi-agent beta by the unmodified SDK: which agent said what, in an answer, in a stream, over a WebSocket.

Every answer and every event is read by the SDK's beta types with nothing missing (`tests/support/clients/strict.py`).
"""

from typing import Any

import openai
import pytest
from websockets.exceptions import ConnectionClosedOK

from harness.ending import completed
from harness.items import agent_message, by_agent, function_call, message, multi_agent_call, multi_agent_call_output
from harness.world.mock import Mock
from harness.world.scripting.document import parse_sent_script
from tests.support.tools import functions

BETA: Any = "responses_multi_agent=v1"
HEADERS = {"OpenAI-Beta": BETA}
ASK: Any = {"model": "gpt-5.6-sol", "input": "Compare Alpha and Beta.", "multi_agent": {"enabled": True}}
ALPHA = "/root/alpha"
TEAM = [
    multi_agent_call("spawn_agent", {"task_name": "alpha"}, call_id="call_a"),
    multi_agent_call_output("spawn_agent", "call_a", '{"task_name":"/root/alpha"}'),
    by_agent(ALPHA, message("Six weeks.")),
    agent_message(ALPHA, "/root"),
    message("Take Beta."),
]
READS: Any = functions("get_proposal")


def agents(items: Any) -> list[tuple[str, str]]:
    return [(item.type, item.agent.agent_name) for item in items]


def final_text(response: Any) -> str:
    """Return what the guide tells an application to show: the final answer of the root agent."""
    return "".join(
        part.text
        for item in response.output
        if item.type == "message" and item.agent.agent_name == "/root" and item.phase == "final_answer"
        for part in item.content
    )


def test_every_item_has_its_agent(mock: Mock, client: openai.OpenAI) -> None:
    mock.script(TEAM)
    response = client.beta.responses.create(**ASK, betas=[BETA])
    assert agents(response.output) == [
        ("multi_agent_call", "/root"),
        ("multi_agent_call_output", "/root"),
        ("message", ALPHA),
        ("agent_message", "/root"),
        ("message", "/root"),
    ]
    assert final_text(response) == "Take Beta."
    assert [item.id.partition("_")[0] for item in response.output[:2]] == ["mac", "maco"]


def test_every_event_of_an_item_has_its_agent(mock: Mock, client: openai.OpenAI) -> None:
    mock.script(TEAM)
    said: dict[str, str] = {}
    for event in client.beta.responses.create(**ASK, betas=[BETA], stream=True):
        about_item = "output_index" in event.model_fields_set
        assert (getattr(event, "agent", None) is not None) == about_item, event
        if event.type == "response.output_text.delta":
            assert event.agent is not None
            said[event.agent.agent_name] = said.get(event.agent.agent_name, "") + event.delta
    assert said == {ALPHA: "Six weeks.", "/root": "Take Beta."}


def test_the_items_can_be_sent_back_with_the_outputs_of_calls(mock: Mock, client: openai.OpenAI) -> None:
    called = by_agent(ALPHA, function_call("get_proposal", {}, call_id="call_1"))
    mock.script([*TEAM[:2], called], message("Take Beta."))
    history: list[Any] = [{"role": "user", "content": "Compare."}]
    first = client.beta.responses.create(**{**ASK, "input": history}, tools=READS, store=False, betas=[BETA])
    history += [item.model_dump(mode="json", exclude_none=True) for item in first.output]
    history.append({"type": "function_call_output", "call_id": "call_1", "output": "6 weeks"})
    second = client.beta.responses.create(**{**ASK, "input": history}, tools=READS, store=False, betas=[BETA])
    assert final_text(second) == "Take Beta."


def test_a_script_file_names_agents(mock: Mock, client: openai.OpenAI) -> None:
    lines = [
        {"multi_agent_call": {"action": "spawn_agent", "call_id": "call_a"}},
        {"message": {"text": "Six weeks.", "agent": ALPHA}},
        {"message": "Take Beta."},
    ]
    parse_sent_script({"script": [lines]}).apply(mock)
    response = client.beta.responses.create(**ASK, betas=[BETA])
    assert agents(response.output)[1:] == [("message", ALPHA), ("message", "/root")]


CALLS = [
    by_agent(ALPHA, function_call("get_proposal", {}, call_id="call_1")),
    by_agent("/root/beta", function_call("get_proposal", {}, call_id="call_2")),
]


def output(call_id: str) -> Any:
    return {"type": "function_call_output", "call_id": call_id, "output": "six weeks"}


def inject(connection: Any, response: str, *call_ids: str) -> None:
    connection.send({"type": "response.inject", "response_id": response, "input": [output(id) for id in call_ids]})


def told(connection: Any, last: str) -> list[Any]:
    """Return the events up to one of this type."""
    events: list[Any] = []
    while not events or events[-1].type != last:
        events.append(event := connection.recv())
        assert event.type == last or not event.type.endswith(("failed", "error"))  # nothing would follow
    return events


def create(connection: Any, **members: Any) -> None:
    connection.send({"type": "response.create", **ASK, "tools": READS, **members})


class TestOverAWebSocket:
    def test_a_response_goes_on_with_the_outputs_that_are_injected(self, mock: Mock, client: openai.OpenAI) -> None:
        mock.script([*CALLS, completed(awaits_outputs=True)], message("Take Beta."))
        with client.beta.responses.connect(extra_headers=HEADERS) as connection:
            create(connection)
            events = [connection.recv() for _ in range(2)]
            while [event.type for event in events].count("response.output_item.done") < 2:
                events.append(connection.recv())
            id = events[0].response.id
            assert client.beta.responses.retrieve(id).status == "in_progress"
            inject(connection, id, "call_2")
            events += told(connection, "response.inject.created")
            assert client.beta.responses.retrieve(id).status == "in_progress"
            inject(connection, id, "call_1")
            events += told(connection, "response.completed")
        assert [event.sequence_number for event in events] == list(range(len(events)))
        made = events[-1].response
        assert [item.type for item in made.output] == ["function_call", "function_call", "message"]
        assert (made.id, final_text(made)) == (id, "Take Beta.")
        done = [event.output_index for event in events if event.type == "response.output_item.done"]
        assert done == [0, 1, 2]
        stored = client.beta.responses.retrieve(id)
        assert [item.id for item in stored.output] == [item.id for item in made.output]
        assert (stored.status, stored.usage) == ("completed", made.usage)

    def test_a_call_that_is_open_can_be_answered_afterwards(self, mock: Mock, client: openai.OpenAI) -> None:
        mock.script([*CALLS, completed(awaits_outputs=True)], message("Take Beta."), message("Because."))
        with client.beta.responses.connect(extra_headers=HEADERS) as connection:
            create(connection, store=False)
            id = told(connection, "response.created")[0].response.id
            inject(connection, id, "call_1", "call_2")
            told(connection, "response.completed")
            create(connection, store=False, input="Why?", previous_response_id=id)
            assert final_text(told(connection, "response.completed")[-1].response) == "Because."

    def test_a_response_can_wait_for_outputs_more_than_once(self, mock: Mock, client: openai.OpenAI) -> None:
        mock.script(
            [CALLS[0], completed(awaits_outputs=True)], [CALLS[1], completed(awaits_outputs=True)], message("ok")
        )
        with client.beta.responses.connect(extra_headers=HEADERS) as connection:
            create(connection)
            id = told(connection, "response.output_item.done")[0].response.id
            for call in ("call_1", "call_2"):
                inject(connection, id, call)
                told(connection, "response.inject.created")
            made = told(connection, "response.completed")[-1].response
        assert [item.type for item in made.output] == ["function_call", "function_call", "message"]

    def test_an_output_that_comes_too_late_is_returned(self, mock: Mock, client: openai.OpenAI) -> None:
        mock.script(CALLS[0], message("Take Beta."))
        with (
            mock.refuses("inject_response_completed"),
            client.beta.responses.connect(extra_headers=HEADERS) as connection,
        ):
            create(connection)
            id = told(connection, "response.completed")[-1].response.id
            inject(connection, id, "call_1")
            failed = connection.recv()
            assert (failed.type, failed.response_id) == ("response.inject.failed", id)
            assert failed.error.code == "response_already_completed"
            assert failed.error.message == f"Response '{id}' has already completed."
            back = [item.model_dump(mode="json", exclude_none=True) for item in failed.input]
            assert back == [output("call_1")]
            create(connection, input=back, previous_response_id=id)
            assert final_text(told(connection, "response.completed")[-1].response) == "Take Beta."

    @pytest.mark.parametrize("body", [{"input": "x"}, {"input": []}, {"response_id": 1}, {"more": 1}])
    def test_a_malformed_injection_closes_the_connection(self, mock: Mock, client: openai.OpenAI, body: Any) -> None:
        sent = {"type": "response.inject", "response_id": "resp_x", "input": [output("call_1")], **body}
        with mock.refuses("inject_malformed"), client.beta.responses.connect(extra_headers=HEADERS) as connection:
            connection.send(sent)
            assert connection.recv().type == "error"
            with pytest.raises(ConnectionClosedOK):
                connection.recv()

    def test_a_client_that_asks_on_instead_of_injecting_gets_both_ends(self, mock: Mock, client: openai.OpenAI) -> None:
        mock.script([CALLS[0], completed(awaits_outputs=True)], message("Take Beta."))
        with client.beta.responses.connect(extra_headers=HEADERS) as connection:
            create(connection)
            id = told(connection, "response.output_item.done")[0].response.id
            create(connection, input=[output("call_1")], previous_response_id=id)
            assert told(connection, "response.completed")[-1].response.id == id
            assert client.beta.responses.retrieve(id).status == "completed"
            assert final_text(told(connection, "response.completed")[-1].response) == "Take Beta."

    def test_an_output_of_no_call_is_refused(self, mock: Mock, client: openai.OpenAI) -> None:
        mock.script([CALLS[0], completed(awaits_outputs=True)], message("ok"))
        with mock.refuses("inject_call_unknown"), client.beta.responses.connect(extra_headers=HEADERS) as connection:
            create(connection)
            id = told(connection, "response.output_item.done")[0].response.id
            inject(connection, id, "call_1", "call_9")
            assert told(connection, "response.inject.failed")[0].error.code == "invalid_input"
            inject(connection, id, "call_1")
            told(connection, "response.completed")
