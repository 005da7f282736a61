"""Responses in the background: queued, in progress, ended; cancelled, streamed again, and what waits for them."""

from typing import Any

import pytest

from harness.core.errors import ConfigError
from harness.core.exchange import Answer
from harness.items import function_call, message
from harness.items.transcript import EMPTY_CHAIN
from tests.support.in_process import Client as Plain
from tests.support.tools import OUTPUT, functions


class Client(Plain):
    """A client that asks in the background."""

    def ask(self, input: Any = "hi", **members: Any) -> Answer:
        return super().ask(input, **{"background": True, **members})

    def read(self, id: str, **query: str) -> Answer:
        return self.send(f"GET /responses/{id}", **query)

    def states(self, id: str, count: int) -> list[str]:
        return [self.read(id).body["status"] for _ in range(count)]

    def text(self, id: str, reads: int = 1) -> str:
        """Return what a response says when it is read for the last of so many times."""
        *_, last = (self.read(id).body for _ in range(reads))
        return str(last["output"][0]["content"][0]["text"])


@pytest.fixture
def client() -> Client:
    return Client()


class TestABackgroundResponse:
    def test_a_background_response_is_queued_and_moves_on_each_time_it_is_read(self, client: Client) -> None:
        queued = client.ask().body
        assert (queued["status"], queued["background"], queued["output"]) == ("queued", True, [])
        assert client.states(queued["id"], 4) == ["in_progress", "completed", "completed", "completed"]

    def test_a_background_response_has_no_usage_end_or_payer_until_it_is_completed(self, client: Client) -> None:
        queued = client.ask().body
        running = client.read(queued["id"]).body
        done = client.read(queued["id"]).body
        for early in (queued, running):
            assert (early["usage"], early["completed_at"], early["service_tier"]) == (None, None, "auto")
            assert "billing" not in early
        assert done["completed_at"] > done["created_at"]
        assert (done["service_tier"], done["billing"]) == ("default", {"payer": "developer"})
        assert done["usage"]["output_tokens"] > 0

    def test_a_background_response_takes_its_turn_of_the_script_when_it_is_made(self, client: Client) -> None:
        client.mock.script(message("first"), message("second"))
        ids = [client.ask().body["id"] for _ in range(2)]
        assert [client.text(id, reads=3) for id in reversed(ids)] == ["second", "first"]

    def test_a_background_response_can_be_moved_by_the_test_alone(self, client: Client) -> None:
        client.mock.automatic = False
        one, other = (client.ask().body["id"] for _ in range(2))
        assert client.states(one, 2) == ["queued", "queued"]
        assert [made["status"] for made in client.mock.advance()] == ["in_progress", "in_progress"]
        assert [made["status"] for made in client.mock.advance(one)] == ["completed"]
        assert (client.states(one, 1), client.states(other, 1)) == (["completed"], ["in_progress"])

    @pytest.mark.parametrize("asked", [True, False])
    def test_a_background_response_cannot_be_moved_when_it_is_not_under_way(self, client: Client, asked: bool) -> None:
        id = client.ask().body["id"] if asked else "none"
        with pytest.raises(ConfigError, match=rf"advance: no background response .* with the id resp_x; {id} is"):
            client.mock.advance("resp_x")
        assert len(client.mock.advance()) == asked

    def test_a_background_response_can_be_polled_even_where_nothing_is_stored(self, client: Client) -> None:
        client.mock.organization(zdr=True)
        id = client.ask().body["id"]
        assert client.states(id, 2) == ["in_progress", "completed"]

    def test_a_background_response_lists_its_input_while_it_is_under_way(self, client: Client) -> None:
        id = client.ask("hello").body["id"]
        (item,) = client.send(f"GET /responses/{id}/input_items").body["data"]
        assert item["content"][0]["text"] == "hello"

    def test_a_background_response_shows_its_output_to_what_continues_it_when_it_has_ended(
        self, client: Client
    ) -> None:
        client.mock.script(function_call("f", {}, call_id="call_1"), message("early"), message("done"))
        id = client.ask(tools=functions("f")).body["id"]
        assert client.ask([OUTPUT], previous_response_id=id).rule == "output_needs_call"
        assert client.text(client.ask("and?", previous_response_id=id).body["id"], reads=2) == "early"
        client.states(id, 2)
        next_id = client.ask([OUTPUT], previous_response_id=id).body["id"]
        assert client.text(next_id, reads=2) == "done"


class TestCancelling:
    @pytest.mark.parametrize("reads", [0, 1])
    def test_ends_it_without_an_output_and_does_so_once(self, client: Client, reads: int) -> None:
        id = client.ask().body["id"]
        client.states(id, reads)
        cancelled = client.send(f"POST /responses/{id}/cancel")
        assert (cancelled.status, cancelled.body["status"], cancelled.body["output"]) == (200, "cancelled", [])
        assert client.send(f"POST /responses/{id}/cancel").body == cancelled.body
        assert client.states(id, 2) == ["cancelled", "cancelled"]

    @pytest.mark.parametrize(("background", "what"), [(True, "completed"), (False, "synchronous")])
    def test_comes_too_late_for_one_that_has_ended(self, client: Client, background: bool, what: str) -> None:
        id = client.ask(background=background).body["id"]
        client.states(id, 2)
        late = client.send(f"POST /responses/{id}/cancel")
        assert (late.status, late.body["error"]["message"]) == (400, f"Cannot cancel a {what} response.")

    @pytest.mark.parametrize(
        ("status", "what"), [("failed", "a failed response"), ("incomplete", "a response in terminal state")]
    )
    def test_comes_too_late_for_any_other_end(self, client: Client, status: str, what: str) -> None:
        made = {"id": "resp_1", "status": status, "background": True, "output": []}
        client.world.store.put_response(made, [], EMPTY_CHAIN)
        assert client.send("POST /responses/resp_1/cancel").body["error"]["message"] == f"Cannot cancel {what}."


def test_deleting_waits_for_the_end(client: Client) -> None:
    id = client.ask().body["id"]
    early = client.send(f"DELETE /responses/{id}")
    assert (early.status, early.body["error"]["message"]) == (400, "Cannot delete an in-flight response.")
    client.send(f"POST /responses/{id}/cancel")
    assert client.send(f"DELETE /responses/{id}").status == 200
    assert client.read(id).status == 404


def numbers(answer: Answer) -> list[int]:
    return [event["sequence_number"] for event in answer.events or ()]


class TestAStream:
    def test_a_background_stream_is_sent_to_its_end_at_once(self, client: Client) -> None:
        told = list(client.ask(stream=True).events or ())
        first, last = told[0]["response"], told[-1]["response"]
        assert [event["type"] for event in told[:3]] == ["response.created", "response.queued", "response.in_progress"]
        assert (first["status"], last["status"]) == ("queued", "completed")
        assert "billing" not in last
        assert client.read(last["id"]).body == {**last, "billing": {"payer": "developer"}}

    @pytest.mark.parametrize("after", [0, 1, 5])
    def test_a_stream_goes_on_after_the_number_that_was_seen_last(self, client: Client, after: int) -> None:
        first = client.ask(stream=True)
        again = client.read(first.body["id"], stream="true", starting_after=str(after))
        assert again.status == 200
        assert list(again.events or ()) == list(first.events or ())[after + 1 :]

    @pytest.mark.parametrize("query", [{}, {"starting_after": "-1"}, {"starting_after": "-9"}])
    def test_a_stream_is_sent_whole_when_nothing_was_seen(self, client: Client, query: dict[str, str]) -> None:
        first = client.ask(stream=True)
        assert numbers(client.read(first.body["id"], stream="true", **query)) == list(range(len(first.events or ())))

    def test_a_stream_is_empty_after_its_end(self, client: Client) -> None:
        first = client.ask(stream=True)
        again = client.read(first.body["id"], stream="true", starting_after=str(numbers(first)[-1]))
        assert (again.status, again.events) == (200, [])

    def test_a_stream_is_there_only_for_what_was_made_as_one(self, client: Client) -> None:
        id = client.ask().body["id"]
        refused = client.read(id, stream="true")
        assert (refused.status, refused.rule) == (400, "stream_needs_stream")
        assert client.states(id, 1) == ["in_progress"]


class TestAConversation:
    @pytest.fixture
    def conversation(self, client: Client) -> str:
        return str(client.send("POST /conversations", {}).body["id"])

    def texts(self, client: Client, id: str) -> list[str]:
        data = client.send(f"GET /conversations/{id}/items", order="asc").body["data"]
        return [item["content"][0]["text"] for item in data]

    def test_a_conversation_is_locked_until_its_response_has_ended(self, client: Client, conversation: str) -> None:
        id = client.ask(conversation=conversation).body["id"]
        locked = client.ask(conversation={"id": conversation})
        assert (locked.status, locked.body["error"]["code"]) == (400, "conversation_locked")
        client.states(id, 2)
        assert client.ask(conversation=conversation).status == 200

    def test_a_conversation_gets_its_items_when_the_response_completes(self, client: Client, conversation: str) -> None:
        id = client.ask("hello", conversation=conversation).body["id"]
        client.states(id, 1)
        assert self.texts(client, conversation) == []
        client.states(id, 1)
        assert self.texts(client, conversation) == ["hello", "ok"]

    def test_a_conversation_takes_up_nothing_of_what_was_cancelled(self, client: Client, conversation: str) -> None:
        id = client.ask(conversation=conversation).body["id"]
        client.send(f"POST /responses/{id}/cancel")
        assert self.texts(client, conversation) == []

    def test_a_conversation_may_be_gone_before_its_response_has_ended(self, client: Client, conversation: str) -> None:
        id = client.ask(conversation=conversation).body["id"]
        assert client.send(f"DELETE /conversations/{conversation}").status == 200
        assert client.states(id, 2) == ["in_progress", "completed"]
