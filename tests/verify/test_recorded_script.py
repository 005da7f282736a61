"""A recording as a script: turns, refusals, routes, and what is not played; as code in three forms."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.format.serializer import dump_cassette
from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.verify.recorded_script import RecordedScript, read_script
from harness.verify.script_changes import find_changes, summarize_changes
from harness.verify.script_code import SCRIPT_FORMS, write_script
from harness.world.mock import Mock
from harness.world.scripting.document import parse_document
from harness.world.scripting.load import load_script_file
from tests.support.command_line import run_cli
from tests.support.in_process import Client
from tests.support.recordings import HI, JSON, compact, error, over_http, response, socket, sse, streamed
from tests.support.tools import functions

HOST = "https://api.openai.com/v1"
EMBEDDINGS = {"object": "list", "data": [{"embedding": [0.1], "index": 0, "object": "embedding"}], "model": "m"}


def said(text: str, **members: Any) -> Json:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [part], **members}


CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "f",
    "arguments": '{"x":1}',
    "status": "completed",
}


def script(*interactions: Interaction) -> RecordedScript:
    return read_script(interactions, "tape")


def posted(path: str, answer: Any, request: Any = None, status: int = 200, **members: Any) -> Interaction:
    return over_http(request or {"model": "m"}, answer, uri=f"{HOST}{path}", status=status, **members)


class TestTurns:
    def test_are_lines_by_the_names_of_their_builders(self) -> None:
        recorded = script(over_http(HI, response(said("Hello."))), over_http(HI, response(CALL, said("Wait."))))
        assert recorded.document == {
            "script": [
                {"message": "Hello."},
                [{"function_call": {"name": "f", "arguments": {"x": 1}, "call_id": "call_1"}}, {"message": "Wait."}],
            ]
        }

    def test_keep_what_a_builder_would_not_write_again(self) -> None:
        cited = said("Hi.")
        cited["content"][0]["annotations"] = [{"type": "url_citation", "url": "https://example.org"}]
        spaced = {**CALL, "arguments": '{"x": 1}'}
        [[message, call]] = script(over_http(HI, response(cited, spaced))).turns
        assert isinstance(message, dict)
        assert isinstance(call, dict)
        assert (message["type"], message["content"], "id" in message) == ("message", cited["content"], False)
        assert call["function_call"]["arguments"] == '{"x": 1}'

    def test_end_as_the_response_did(self) -> None:
        cut = response(said("Once"), status="incomplete", incomplete_details={"reason": "content_filter"})
        broken = response(status="failed", error={"code": "server_error", "message": "Sorry."})
        assert script(over_http(HI, cut), over_http(HI, broken)).turns == [
            [{"message": "Once"}, {"incomplete": "content_filter"}],
            [{"failed": {"code": "server_error", "message": "Sorry."}}],
        ]

    def test_of_a_stream_are_the_items_of_its_last_event(self) -> None:
        events = sse(
            {"type": "response.output_text.delta", "delta": "Hel"},
            {"type": "response.completed", "response": response(said("Hello."))},
        )
        assert script(streamed(events)).turns == [[{"message": "Hello."}]]

    def test_of_a_stream_that_broke_off_break_off_there(self) -> None:
        begun = (
            {"type": "response.created", "response": response()},
            {"type": "response.output_text.delta", "delta": "He"},
        )
        ended, cut = streamed(sse(*begun)), streamed(sse(*begun), cut=True)
        failing = streamed(sse(*begun, {"type": "error", "error": {"code": "server_error", "message": "Oh."}}))
        assert script(ended, cut, failing).turns == [
            [{"message": ["He"]}, {"end_stream": {"after": 2}}],
            [{"message": ["He"]}, {"cut": {"after": 2}}],
            [{"message": ["He"]}, {"stream_error": {"after": 2, "code": "server_error", "message": "Oh."}}],
        ]

    def test_of_a_socket_are_those_of_its_responses(self) -> None:
        created = {"type": "response.created", "response": response(status="in_progress"), "sequence_number": 0}
        done = {"type": "response.completed", "response": response(said("Hello.")), "sequence_number": 1}
        recorded = script(socket(("client", {"type": "response.create", **HI}), ("server", created), ("server", done)))
        assert recorded.turns == [[{"message": "Hello."}]]

    def test_may_call_what_a_request_does_not_declare(self) -> None:
        client = Client()
        script(over_http(HI, response(CALL))).apply(client.mock)
        assert client.ask(tool_choice="none").body["output"][0]["name"] == "f"


class TestErrors:
    def test_of_the_account_and_the_server_are_refusals_of_the_script(self) -> None:
        limited = over_http(
            HI,
            error("Slow down.", type="requests", code="rate_limit_exceeded"),
            status=429,
            answer_headers={**JSON, "retry-after": "2", "x-ratelimit-limit-requests": "3", "cf-ray": "1"},
        )
        recorded = script(limited, over_http(HI, None, status=502, reason="Bad Gateway"), over_http(HI, response(CALL)))
        assert recorded.turns[:2] == [
            [
                {
                    "http_error": {
                        "status": 429,
                        "message": "Slow down.",
                        "type": "requests",
                        "code": "rate_limit_exceeded",
                        "headers": {"retry-after": "2", "x-ratelimit-limit-requests": "3"},
                    }
                }
            ],
            [{"http_error": {"status": 502, "message": "Bad Gateway"}}],
        ]
        client = Client()
        recorded.apply(client.mock)
        assert [client.ask().status for _ in range(2)] == [429, 502]
        assert client.world.refusals.unasked == []

    def test_that_a_rule_has_are_its_own_and_expected(self) -> None:
        words = "No tool output found for function call call_1."
        refused = over_http(HI, error(words, param="input"), status=400)
        recorded = script(refused, over_http(HI, response(said("Hi."))))
        assert (len(recorded.turns), recorded.document["refusals"]) == (1, ["call_needs_output"])
        client = Client()
        recorded.apply(client.mock)
        assert client.ask([CALL | {"id": None}, {"role": "user", "content": "x"}]).status == 400
        assert client.world.refusals.unasked == []

    def test_that_no_rule_has_are_refusals_of_the_script(self) -> None:
        recorded = script(over_http(HI, error("Never heard of."), status=400))
        assert recorded.turns == [
            [{"http_error": {"status": 400, "message": "Never heard of.", "type": "invalid_request_error"}}]
        ]


class TestOtherParts:
    def test_of_the_api_are_routes(self) -> None:
        recorded = script(
            posted("/embeddings", EMBEDDINGS),
            posted("/chat/completions", error("Busy."), status=503),
            posted("/embeddings", EMBEDDINGS | {"model": "n"}),
            replace(
                posted("/audio/speech", None),
                chunks=((0.0, b"\xff\xfb"),),
                answer_headers={"content-type": "audio/mpeg"},
            ),
        )
        assert recorded.turns == []
        assert recorded.routes == {
            "POST /embeddings": [{"json": EMBEDDINGS}, {"json": EMBEDDINGS | {"model": "n"}}],
            "POST /chat/completions": [{"status": 503, "json": error("Busy.")}],
            "POST /audio/speech": [{"base64": "//s=", "headers": {"content-type": "audio/mpeg"}}],
        }
        client = Client()
        recorded.apply(client.mock)
        assert client.send("POST /embeddings", {"input": "changed"}).body == EMBEDDINGS

    def test_that_are_mocked_are_answered_by_the_mock(self) -> None:
        recorded = script(
            over_http(HI, response(said("Hi."))),
            Interaction("GET", f"{HOST}/responses/resp_1", status=200, chunks=((0.0, compact(response())),)),
        )
        assert (len(recorded.turns), recorded.routes, recorded.left_out) == (1, {}, [])

    def test_that_cannot_be_played_are_named(self) -> None:
        recorded = script(
            over_http(HI, response(said("Hi."))),
            posted("/threads/thread_1/runs", {"object": "thread.run"}),
            posted("/conversations", error("Oh."), status=500),
            over_http(HI, None, status=0),
            over_http(HI, [1]),
        )
        assert recorded.left_out == [
            "POST /v1/threads/thread_1/runs: what a run of the Assistants API says is spread over other exchanges",
            "POST /v1/conversations: its error (500) is not played; only a model's can be scripted",
            "POST /v1/responses: no answer was recorded",
            "POST /v1/responses: its answer (200) holds nothing that a model said",
        ]

    def test_alone_are_no_script(self) -> None:
        with pytest.raises(
            ScriptError, match="tape: it holds no response of a model: POST /v1/threads/runs: what a run"
        ):
            script(posted("/threads/runs", {}))
        with pytest.raises(ScriptError, match=r"tape: it holds no response of a model\. Give a recording"):
            script()


class TestChanges:
    @staticmethod
    def changes(*asked: Any, recorded: RecordedScript | None = None) -> list[str]:
        tape = recorded or script(*(over_http(HI, response(said("Hi."))) for _ in range(2)))
        client = Client()
        tape.apply(client.mock)
        for input in asked:
            client.ask(input)
        return [str(change) for change in find_changes(tape, client.world.exchanges)]

    def test_are_none_where_the_requests_are_the_same(self) -> None:
        assert self.changes("hi", "hi") == []

    def test_are_shown_as_a_diff(self) -> None:
        [told] = self.changes("hi", "ho")
        assert told.startswith("request 2, POST /responses, differs from the recording:\n--- recorded\n+++ asked\n")
        assert '-  "input": "hi",\n+  "input": "ho",' in told

    def test_tell_of_requests_too_few_and_too_many(self) -> None:
        assert self.changes("hi") == ["POST /responses was recorded and did not come"]
        assert self.changes("hi", "hi", "hi") == ["request 3, POST /responses, was not recorded"]

    def test_are_no_other_ids(self) -> None:
        output = {"type": "function_call_output", "call_id": "call_1", "output": "1"}
        chained = {"model": "gpt-4.1", "previous_response_id": f"resp_{'a1' * 20}", "input": [output]}
        tools = {"tools": functions("f")}
        tape = script(over_http(HI | tools, response(CALL)), over_http(chained | tools, response(said("Hi."))))
        client = Client()
        client.tools = functions("f")
        tape.apply(client.mock)
        first = client.ask(store=None).body
        client.ask([output], previous_response_id=first["id"])
        [told] = find_changes(tape, client.world.exchanges)
        assert (told.exchange, "store" in told.diff) == (1, True)

    def test_are_summed_up_in_a_line(self) -> None:
        tape = script(*(over_http(HI, response(said("Hi."))) for _ in range(2)))
        client = Client()
        tape.apply(client.mock)
        client.ask("ho")
        changes = find_changes(tape, client.world.exchanges)
        assert summarize_changes(changes, "tape") == "tape: 1 request differs from it, 1 request did not come"


class TestCode:
    TAPE = (
        over_http(HI, response(CALL)),
        over_http(HI, error("Busy.", code="server_is_overloaded"), status=503),
        over_http(HI, response(said('It\'s "so"\nand so.\u2028'), said("Two."))),
        over_http(
            HI,
            response(
                {
                    "type": "web_search_call",
                    "id": "ws_1",
                    "status": "completed",
                    "action": {"type": "search", "query": "x"},
                }
            ),
        ),
        streamed(sse({"type": "response.output_text.delta", "delta": "He"}), cut=True),
        posted("/embeddings", EMBEDDINGS),
        posted("/moderations", None, status=500),
        posted("/threads/runs", {}),
    )

    @pytest.mark.parametrize("form", ["python", "yaml"])
    def test_is_a_script_file_that_says_the_same(self, form: str, tmp_path: Path) -> None:
        recorded = script(*self.TAPE)
        file = tmp_path / f"tape.{'py' if form == 'python' else 'yaml'}"
        file.write_text(write_script(recorded, form), encoding="utf-8")  # type: ignore[arg-type]
        own, loaded = Mock(), Mock()
        parse_document(recorded.document).apply(own)
        load_script_file(file).apply(loaded)
        assert self.turns(loaded) == self.turns(own)
        assert len(self.turns(own)) == 5
        assert [(path.path, path.answers) for path in loaded.world.routed] != []
        assert {path.path for path in loaded.world.routed} == {path.path for path in own.world.routed}
        assert file.read_text().splitlines()[1].startswith("# not played: POST /v1/threads/runs: ")

    @staticmethod
    def turns(mock: Mock) -> list[Any]:
        return [turn if isinstance(turn, list) else [turn] for _, turn in mock.world.script.unused]

    def test_in_python_is_written_by_the_builders(self, tmp_path: Path) -> None:
        text = write_script(script(*self.TAPE), "python")
        assert 'function_call("f", {"x": 1}, call_id="call_1"),' in text
        assert 'http_error(503, "Busy.", type="invalid_request_error", code="server_is_overloaded"),' in text
        assert 'cut(message(["He"]), after=1),' in text
        (tmp_path / "it.py").write_text(text, encoding="utf-8")
        assert len(runpy.run_path(str(tmp_path / "it.py"))["script"]) == 5

    def test_as_json_is_what_the_control_plane_takes(self) -> None:
        document = orjson.loads(write_script(script(*self.TAPE), "json"))
        assert parse_document(document).apply(Mock())["turns"] == 5


class TestTheCommand:
    @pytest.fixture
    def tape(self, tmp_path: Path) -> Path:
        file = tmp_path / "tape.yaml"
        file.write_text(
            dump_cassette(CassetteHeader(), [over_http(HI, response(said("Hello."))), posted("/threads/runs", {})]),
            encoding="utf-8",
        )
        return file

    @pytest.mark.parametrize("form", SCRIPT_FORMS)
    def test_prints_a_script(self, tape: Path, form: str) -> None:
        ended = run_cli("cassettes", tape, "--to-script", form)
        assert (ended.exit_code, "Hello." in ended.stdout) == (0, True)
        assert "not played: POST /v1/threads/runs" in ended.output

    def test_refuses_what_it_cannot_print(self, tape: Path) -> None:
        for arguments, words in (
            ((tape, "--to-script", "yml"), "--to-script yml: Did you mean 'yaml'?"),
            ((tape.parent, "--to-script", "yaml"), "--to-script: give the path of one cassette, a file."),
            (("--to-script", "yaml"), "--to-script: give the path of one cassette, a file."),
        ):
            ended = run_cli("cassettes", *arguments)
            assert (ended.exit_code, words in ended.output) == (2, True), ended.output
