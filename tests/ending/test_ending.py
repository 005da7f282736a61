"""How a turn ends its response: incomplete, failed, or complete although off its schema."""

from typing import Any

import pytest

from harness.core.errors import ScriptError
from harness.ending import (
    SERVER_ERROR_MESSAGE,
    completed,
    empty,
    failed,
    incomplete,
    line_from_wire,
    split_ending,
    usage,
)
from harness.explain.turn import summarize_turn
from harness.faults import cut
from harness.items import function_call, message, reasoning
from tests.support.in_process import Client, types


@pytest.fixture
def one() -> Client:
    return Client()


class TestIncomplete:
    def test_breaks_off_within_the_last_item(self, one: Client) -> None:
        one.mock.script([reasoning("**Plan**"), message("Once"), function_call("f", '{"x":4815'), incomplete()])
        said = one.ask(max_output_tokens=16).body
        assert (said["status"], said["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
        assert said["completed_at"] is said["error"] is None
        assert said["billing"] == {"payer": "developer"}
        assert [item.get("status") for item in said["output"]] == [None, "completed", "incomplete"]
        assert said["usage"]["output_tokens"] == 16
        assert said["usage"]["total_tokens"] == said["usage"]["input_tokens"] + 16
        assert said["service_tier"] == "default"

    def test_ends_a_stream_in_place_of_completed(self, one: Client) -> None:
        one.mock.script([message(["Once", " upon"]), incomplete("content_filter")])
        answer = one.ask(stream=True)
        assert types(answer)[-2:] == ["output_item.done", "incomplete"]
        assert answer.body["incomplete_details"] == {"reason": "content_filter"}
        assert answer.body["usage"]["output_tokens"] != 16

    def test_incomplete_alone_leaves_the_output_empty(self, one: Client) -> None:
        one.mock.script(incomplete())
        assert one.ask().body["output"] == []

    def test_incomplete_has_one_of_the_known_reasons(self) -> None:
        with pytest.raises(ScriptError, match=r"incomplete: reason is 'bored'\. Use one of: max_output_tokens, "):
            incomplete("bored")

    def test_can_be_continued(self, one: Client) -> None:
        one.mock.script([message("Once"), incomplete()], message(" upon a time."))
        first = one.ask().body
        assert one.ask(previous_response_id=first["id"]).status == 200


class TestFailed:
    def test_tells_an_error_and_then_that_the_response_failed(self, one: Client) -> None:
        one.mock.script(failed("rate_limit_exceeded", "Too large."))
        answer = one.ask(stream=True, service_tier="auto")
        assert answer.status == 200
        assert types(answer) == ["created", "in_progress", "error", "failed"]
        assert list(answer.events or ())[2] == {
            "type": "error",
            "error": {"type": "tokens", "code": "rate_limit_exceeded", "message": "Too large.", "param": None},
            "sequence_number": 2,
        }
        assert answer.body["error"] == {"code": "rate_limit_exceeded", "message": "Too large."}
        assert (answer.body["usage"], answer.body["service_tier"]) == (None, "auto")

    @pytest.mark.parametrize(
        ("item", "told"),
        [
            (reasoning(), ["output_item.added"]),
            (message(["He", "l"]), ["output_item.added", "content_part.added", *["output_text.delta"] * 2]),
            (function_call("f", ["{"]), ["output_item.added", "function_call_arguments.delta"]),
        ],
        ids=["reasoning", "message", "function_call"],
    )
    def test_leaves_its_last_item_open(self, one: Client, item: Any, told: list[str]) -> None:
        one.mock.script([message("Hi."), item, failed()])
        events = types(one.ask(stream=True))
        assert events[events.index("output_item.done") + 1 :] == [*told, "error", "failed"]

    @pytest.mark.parametrize(
        ("code", "status", "kind"),
        [
            ("server_error", 500, "server_error"),
            ("vector_store_timeout", 500, "server_error"),
            ("rate_limit_exceeded", 429, "tokens"),
            ("insufficient_quota", 429, "insufficient_quota"),
            ("invalid_prompt", 400, "invalid_request_error"),
        ],
    )
    def test_failed_is_an_http_error_where_nothing_is_streamed(
        self, one: Client, code: str, status: int, kind: str
    ) -> None:
        one.mock.script(failed(code, "No."))
        answer = one.ask()
        assert answer.status == status
        assert answer.body == {"error": {"message": "No.", "type": kind, "param": None, "code": code}}
        assert one.world.store.responses == {}

    def test_in_the_background_the_error_is_part_of_the_response(self, one: Client) -> None:
        one.mock.script(failed())
        id = one.ask(background=True).body["id"]
        one.mock.advance(id)
        one.mock.advance(id)
        said = one.send(f"GET /responses/{id}").body
        assert (said["status"], said["error"]) == ("failed", {"code": "server_error", "message": SERVER_ERROR_MESSAGE})

    def test_adds_nothing_to_a_conversation(self, one: Client) -> None:
        id = one.send("POST /conversations", {}).body["id"]
        one.mock.script([message("Hi."), failed()])
        one.ask(conversation=id, stream=True)
        assert one.world.store.conversations[id].items == []

    @pytest.mark.parametrize("arguments", [("",), ("server_error", ""), (5,)])
    def test_failed_has_a_code_and_a_message(self, arguments: Any) -> None:
        with pytest.raises(ScriptError, match="Pass a non-empty string"):
            failed(*arguments)


class TestEmpty:
    """A completed response without any output, as it is reported of models from gpt-5 on."""

    def test_completes_without_output(self, one: Client) -> None:
        one.mock.script(empty())
        said = one.ask().body
        assert (said["status"], said["output"], said["incomplete_details"]) == ("completed", [], None)
        assert said["usage"]["output_tokens"] == 0

    def test_empty_is_a_stream_of_its_beginning_and_its_end(self, one: Client) -> None:
        one.mock.script(empty())
        answer = one.ask(stream=True)
        assert types(answer) == ["created", "in_progress", "completed"]
        assert answer.body["output"] == []

    @pytest.mark.parametrize(
        "demand",
        [
            {"tools": [{"type": "function", "name": "f"}], "tool_choice": "required"},
            {"text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": False}}},
        ],
    )
    def test_answers_a_request_that_demands_something(self, one: Client, demand: Any) -> None:
        one.mock.script(empty())
        assert one.ask(**demand).body["output"] == []

    def test_can_be_continued_and_read_back(self, one: Client) -> None:
        one.mock.script(empty(), "There.")
        first = one.ask().body["id"]
        assert one.send(f"GET /responses/{first}").body["output"] == []
        assert one.ask(previous_response_id=first).body["output"][0]["content"][0]["text"] == "There."

    def test_ends_in_the_background(self, one: Client) -> None:
        one.mock.script(empty())
        id = one.ask(background=True).body["id"]
        one.mock.advance(id)
        one.mock.advance(id)
        said = one.send(f"GET /responses/{id}").body
        assert (said["status"], said["output"]) == ("completed", [])

    def test_empty_has_usage_and_faults_like_any_turn(self, one: Client) -> None:
        one.mock.script(usage(empty(), output_tokens=64, reasoning=64), cut(empty(), after=2))
        assert one.ask().body["usage"]["output_tokens_details"] == {"reasoning_tokens": 64}
        assert types(one.ask(stream=True)) == ["created", "in_progress"]

    def test_stands_alone(self, one: Client) -> None:
        with pytest.raises(ScriptError, match=r"empty\(\) is a response without output\. Remove it, or the items"):
            one.mock.script([message("Once"), empty()])
        with pytest.raises(ScriptError, match="is not the last line of its turn"):
            one.mock.script([empty(), incomplete()])

    @pytest.mark.parametrize("turn", [[], ()])
    def test_an_empty_turn_is_refused_with_a_hint_at_empty(self, one: Client, turn: Any) -> None:
        with pytest.raises(
            ScriptError, match=r"is an empty turn\. Pass an item; for a response without output use empty\(\)"
        ):
            one.mock.script(turn)

    @pytest.mark.parametrize(
        "wire",
        [
            {"empty": None},
            {"empty": {}},
            {"type": "empty"},
            {"object": "response", "status": "completed", "output": []},
        ],
    )
    def test_empty_has_a_name_in_files_and_recordings(self, one: Client, wire: Any) -> None:
        one.mock.script(wire)
        assert one.ask().body["output"] == []

    def test_an_unused_empty_is_reported_by_its_name(self, one: Client) -> None:
        one.mock.script(empty())
        ((_, turn),) = one.world.script.unused
        assert summarize_turn(turn) == "empty"


class TestAScript:
    def test_a_script_has_an_ending_last(self, one: Client) -> None:
        with pytest.raises(
            ScriptError, match=r"is not the last line of its turn\. Give it last: \[message\('Once'\), inc"
        ):
            one.mock.script([incomplete(), message("Once")])

    def test_a_script_does_not_end_before_it_began(self, one: Client) -> None:
        with pytest.raises(ScriptError, match="is an empty turn"):
            one.mock.script([completed(off_schema=True)])

    def test_a_script_may_decide_by_the_request(self, one: Client) -> None:
        one.mock.script(lambda request: [message("Once"), incomplete()] if request.body.get("user") else message("Hi."))
        assert one.ask(user="ann").body["status"] == "incomplete"

    def test_a_script_is_parted_into_items_and_an_ending(self) -> None:
        said, end = message("Once"), incomplete()
        assert split_ending([said, end]) == ([said], end)
        assert split_ending([said]) == ([said], completed())
        assert split_ending([]) == ([], completed())


class TestOnTheWire:
    @pytest.mark.parametrize(
        ("wire", "line"),
        [
            ({"type": "incomplete"}, incomplete()),
            ({"type": "incomplete", "reason": "content_filter"}, incomplete("content_filter")),
            ({"type": "failed", "code": "invalid_prompt", "message": "No."}, failed("invalid_prompt", "No.")),
            ({"type": "completed", "off_schema": True}, completed(off_schema=True)),
            ({"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}, message("Hi.")),
        ],
    )
    def test_a_line_is_an_item_or_an_ending(self, wire: Any, line: Any) -> None:
        assert line_from_wire(wire) == line

    @pytest.mark.parametrize("wire", [{"type": "failed", "reason": "x"}, {"type": "mesage"}, "text", {}])
    def test_anything_else_is_reported_as_no_ending(self, wire: Any) -> None:
        with pytest.raises(ScriptError):
            line_from_wire(wire)


class TestAPrompt:
    def test_a_prompt_is_repeated_with_its_version_and_answered_by_a_model(self) -> None:
        one = Client(prompts=frozenset(["pmpt_1"]))
        said = one.send("POST /responses", {"prompt": {"id": "pmpt_1"}, "input": "hi"}).body
        assert said["prompt"] == {"id": "pmpt_1", "variables": {}, "version": "1"}
        assert said["model"] == "gpt-4.1-2025-04-14"


def test_moderation_finds_nothing(one: Client) -> None:
    answer = one.ask(moderation={"model": "omni-moderation-latest"}, stream=True)
    assert [answer.body["moderation"][side]["flagged"] for side in ("input", "output")] == [False, False]
    assert next(iter(answer.events or ()))["response"]["moderation"] is None
