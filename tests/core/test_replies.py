"""What the model said, read back from the journal, whatever carried it."""

from typing import Any

import pytest

from harness.core.replies import ModelReplies
from harness.ending import completed, failed
from harness.items import file_citation, function_call, mcp_approval_request, message, output_text, reasoning, refusal
from tests.support.in_process import Client, user
from tests.support.threads import FUNCTION, Desk
from tests.support.tools import functions, mcp_tool
from tests.support.websockets import Socket

NOTE = file_citation("file-1", "report.pdf", cite="report")
ANSWER = [reasoning("**Planning**"), message("See the report.", annotations=[NOTE])]
LOGGED = {"file_id": "file-1", "filename": "report.pdf", "index": 14, "type": "file_citation"}


@pytest.fixture
def client() -> Client:
    made = Client()
    made.tools = functions("deploy", "f", "g")
    return made


class TestAResponse:
    def test_a_reply_has_all_parts_of_its_response(self, client: Client) -> None:
        client.mock.script([*ANSWER, function_call("deploy", {"ref": "v2"})])
        made = client.ask().body
        [said] = client.mock.replies
        assert (said.id, said.exchange, said.text, said.annotations) == (made["id"], 1, "See the report.", [LOGGED])
        assert [(call["name"], call["arguments"]) for call in said.calls] == [("deploy", '{"ref":"v2"}')]
        assert [item["summary"][0]["text"] for item in said.reasoning] == ["**Planning**"]
        assert said.usage == made["usage"]

    @pytest.mark.parametrize("how", [{"stream": True}, {"background": True, "stream": True}, {"store": False}])
    def test_a_response_says_the_same_in_any_form(self, client: Client, how: dict[str, Any]) -> None:
        client.mock.script(ANSWER)
        client.ask(**how)
        assert [(reply.text, reply.annotations) for reply in client.mock.replies] == [("See the report.", [LOGGED])]
        with pytest.deprecated_call(match=r"mock\.said is now mock\.replies"):
            assert client.mock.said == client.mock.replies

    def test_a_background_reply_counts_when_it_was_read(self, client: Client) -> None:
        client.mock.script(ANSWER)
        made = client.ask(background=True).body
        client.send(f"GET /responses/{made['id']}")
        assert client.mock.replies == ()
        for _ in range(2):
            client.send(f"GET /responses/{made['id']}")
        assert [(reply.text, reply.exchange) for reply in client.mock.replies] == [("See the report.", 3)]

    def test_a_reply_over_a_websocket_counts_and_a_warm_up_does_not(self) -> None:
        socket = Socket()
        socket.mock.script(ANSWER)
        socket.create(generate=False)
        socket.create()
        assert [reply.text for reply in socket.mock.replies] == ["See the report."]

    def test_a_response_that_was_refused_or_failed_at_once_is_no_reply(self, client: Client) -> None:
        client.mock.script([message("Partly."), failed("server_error")])
        client.ask()
        client.ask(previous_response_id="resp_0")
        assert client.mock.replies == ()

    def test_a_response_that_failed_in_its_stream_is_a_reply_as_far_as_it_came(self, client: Client) -> None:
        client.mock.script([message("Partly."), failed("server_error")])
        client.ask(stream=True)
        assert client.mock.replies.texts == ["Partly."]

    def test_a_response_refuses_in_words(self, client: Client) -> None:
        client.mock.script(message(refusal("I cannot.")))
        client.ask()
        assert client.mock.replies.text == "I cannot."

    def test_a_reply_follows_the_one_whose_calls_it_answers(self, client: Client) -> None:
        client.mock.script(function_call("f", {}, call_id="call_f"), message("Done."), message("Bye."))
        first = client.ask().body
        answered = [*first["output"], {"type": "function_call_output", "call_id": "call_f", "output": "1"}]
        client.ask([user("hi"), *answered])
        client.ask([user("hi"), *answered, {"role": "assistant", "content": "Done."}])
        assert [reply.follows for reply in client.mock.replies] == [None, first["id"], None]

    def test_a_response_follows_a_request_for_leave_that_it_answers(self, client: Client) -> None:
        client.mock.script(mcp_approval_request("prod", "deploy", {}), message("Done."))
        tools = [{**mcp_tool("prod"), "require_approval": "always"}]
        first = client.ask(tools=tools).body
        leave = {"type": "mcp_approval_response", "approval_request_id": first["output"][-1]["id"], "approve": True}
        client.ask([leave], previous_response_id=first["id"], tools=tools)
        assert client.mock.replies[1].follows == first["id"]
        assert [call["type"] for call in client.mock.replies.calls] == ["mcp_approval_request"]


class TestAll:
    def test_all_of_nothing(self) -> None:
        said = ModelReplies()
        assert (said.text, said.texts, said.annotations, said.calls, said.reasoning) == ("", [], [], [], [])
        assert said.usage == {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}

    def test_add_up(self, client: Client) -> None:
        client.mock.script(ANSWER, [function_call("f", {}), function_call("g", {})])
        bodies = [client.ask().body for _ in range(2)]
        said = client.mock.replies
        assert (said.text, said.texts, said.annotations) == ("", ["See the report.", ""], [LOGGED])
        assert [call["name"] for call in said.calls] == ["f", "g"]
        assert len(said.reasoning) == 1
        assert said.usage["total_tokens"] == sum(body["usage"]["total_tokens"] for body in bodies)

    def test_all_are_plain_json(self, client: Client) -> None:
        client.mock.script(ANSWER)
        client.ask()
        shown = client.mock.replies[0].as_json()
        assert (shown["text"], shown["annotations"], shown["calls"]) == ("See the report.", [LOGGED], [])
        others = {"id", "exchange", "reasoning", "usage", "messages", "follows"}
        assert set(shown) == {"text", "annotations", "calls", *others}


class TestARun:
    MARKED = "See the report【4:0†report.pdf】."

    @pytest.fixture
    def desk(self) -> Desk:
        return Desk(name="Ann", tools=[FUNCTION])

    @pytest.mark.parametrize("citations", ["both", "delta", "completed"])
    def test_a_run_in_a_stream_keeps_annotations_that_came_in_one_place_only(self, desk: Desk, citations: Any) -> None:
        desk.mock.citations = citations
        desk.stream(ANSWER[1])
        [said] = desk.mock.replies
        assert said.text == self.MARKED
        assert [note["file_citation"]["file_id"] for note in said.annotations] == ["file-1"]

    def test_a_run_that_waits_replies_with_its_calls_and_goes_on_as_itself(self, desk: Desk) -> None:
        events = desk.stream(function_call("f", {"a": 1}, call_id="call_a"))
        run = events[-2]["data"]
        ((call,),) = (reply.calls for reply in desk.mock.replies)
        assert (call["type"], call["call_id"], call["arguments"]) == ("function_call", "call_a", '{"a":1}')
        desk.mock.script(message("Done."))
        desk.submit(run, {"call_a": "1"}, stream=True)
        [said] = desk.mock.replies
        assert (said.id, said.text, len(said.calls)) == (run["id"], "Done.", 1)
        assert said.usage["total_tokens"] > 0

    def test_a_polled_run_replies_with_what_was_listed(self, desk: Desk) -> None:
        desk.mock.script([message("One."), message(output_text("Two."), refusal("No."))])
        run = desk.settled(desk.run(desk.thread("hi")).body)
        assert desk.mock.replies.texts == [""]
        desk.messages(run["thread_id"])
        desk.messages(run["thread_id"], order="asc")
        [said] = desk.mock.replies
        assert [part for message in said.messages for part in message["content"]] == [
            {"type": "output_text", "text": "One.", "annotations": []},
            {"type": "output_text", "text": "Two.", "annotations": []},
            {"type": "refusal", "refusal": "No."},
        ]

    def test_a_run_that_asks_for_leave(self, desk: Desk) -> None:
        desk.stream(mcp_approval_request("prod", "deploy", {}), completed(off_schema=True))
        assert [(call["type"], call["name"]) for call in desk.mock.replies.calls] == [
            ("mcp_approval_request", "deploy")
        ]

    def test_a_message_that_is_read_again_keeps_what_only_its_deltas_cited(self, desk: Desk) -> None:
        desk.mock.citations = "delta"
        events = desk.stream(message("See the report.", "More.", annotations=[NOTE]))
        desk.messages(events[0]["data"]["thread_id"])
        assert [len(reply.annotations) for reply in desk.mock.replies] == [1]
