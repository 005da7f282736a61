"""A recording as a script: turns, refusals, routes, what is not played; and its code, in three forms."""

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest

from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.format.serializer import dump_cassette
from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.verify.recorded_script import SCRIPT_FORMS, RequestChange, find_changes, summarize_changes, write_script
from harness.world.mock import Mock
from harness.world.scripting.document import parse_document
from harness.world.scripting.load import load_script_file
from tests.support.command_line import run_cli
from tests.support.in_process import Client
from tests.support.recordings import HI, JSON, compact, error, over_http, response, socket, sse, streamed
from tests.support.tools import functions
from tests.verify.tapes import CALL, EMBEDDINGS, HOST, posted, said, script


class TestTurns:
    def test_turns_are_lines_by_the_names_of_their_builders(self) -> None:
        recorded = script(over_http(HI, response(said("Hello."))), over_http(HI, response(CALL, said("Wait."))))
        assert recorded.document == {
            "script": [
                {"message": "Hello."},
                [{"function_call": {"name": "f", "arguments": {"x": 1}, "call_id": "call_1"}}, {"message": "Wait."}],
            ]
        }

    def test_turns_keep_what_a_builder_would_not_write_again(self) -> None:
        cited = said("Hi.")
        cited["content"][0]["annotations"] = [{"type": "url_citation", "url": "https://example.org"}]
        spaced = {**CALL, "arguments": '{"x": 1}'}
        [[message, call]] = script(over_http(HI, response(cited, spaced))).turns
        assert isinstance(message, dict)
        assert isinstance(call, dict)
        assert (message["type"], message["content"], "id" in message) == ("message", cited["content"], False)
        assert call["function_call"]["arguments"] == '{"x": 1}'

    def test_turns_name_the_approval_request_of_the_mock_instead_of_the_recorded_one(self) -> None:
        call = {"server_label": "prod", "name": "deploy", "arguments": "{}"}
        request = {"type": "mcp_approval_request", "id": "mcpr_recorded", **call}
        made = {"type": "mcp_call", "id": "mcp_1", "approval_request_id": "mcpr_recorded", "output": "live", **call}
        client = Client()
        script(over_http(HI, response(request)), over_http(HI, response(made))).apply(client.mock)
        asked = client.ask().body
        own = asked["output"][0]["id"]
        approval = {"type": "mcp_approval_response", "approval_request_id": own, "approve": True}
        [played] = client.ask([approval], previous_response_id=asked["id"]).body["output"]
        assert (played["approval_request_id"], played["output"]) == (own, "live")
        assert own != "mcpr_recorded"

    def test_turns_end_as_the_response_did(self) -> None:
        cut = response(said("Once"), status="incomplete", incomplete_details={"reason": "content_filter"})
        broken = response(status="failed", error={"code": "server_error", "message": "Sorry."})
        assert script(over_http(HI, cut), over_http(HI, broken)).turns == [
            [{"message": "Once"}, {"incomplete": "content_filter"}],
            [{"failed": {"code": "server_error", "message": "Sorry."}}],
        ]

    def test_turns_of_a_stream_are_the_items_of_its_last_event(self) -> None:
        events = sse(
            {"type": "response.output_text.delta", "delta": "Hel"},
            {"type": "response.completed", "response": response(said("Hello."))},
        )
        assert script(streamed(events)).turns == [[{"message": "Hello."}]]

    def test_turns_of_a_stream_that_broke_off_break_off_there(self) -> None:
        begun = sse(
            {"type": "response.created", "response": response()}, {"type": "response.output_text.delta", "delta": "He"}
        )
        wrong = {"code": "server_error", "message": "Oh."}
        failing = streamed(begun + sse({"type": "error", "error": wrong}))
        assert script(streamed(begun), streamed(begun, cut=True), failing).turns == [
            [{"message": ["He"]}, {"end_stream": {"after": 2}}],
            [{"message": ["He"]}, {"cut": {"after": 2}}],
            [{"message": ["He"]}, {"stream_error": {"after": 2, **wrong}}],
        ]

    def test_turns_of_a_socket_are_those_of_its_responses(self) -> None:
        created = {"type": "response.created", "response": response(status="in_progress"), "sequence_number": 0}
        done = {"type": "response.completed", "response": response(said("Hello.")), "sequence_number": 1}
        recorded = script(socket(("client", {"type": "response.create", **HI}), ("server", created), ("server", done)))
        assert recorded.turns == [[{"message": "Hello."}]]

    def test_turns_may_call_what_a_request_does_not_declare(self) -> None:
        client = Client()
        script(over_http(HI, response(CALL))).apply(client.mock)
        assert client.ask(tool_choice="none").body["output"][0]["name"] == "f"


class TestErrors:
    def test_errors_of_the_account_and_the_server_are_refusals_of_the_script(self) -> None:
        kept = {"retry-after": "2", "x-ratelimit-limit-requests": "3"}
        words = {"message": "Slow down.", "type": "requests", "code": "rate_limit_exceeded"}
        answer_headers = {**JSON, **kept, "cf-ray": "1"}
        limited = over_http(HI, {"error": {**words, "param": None}}, status=429, answer_headers=answer_headers)
        recorded = script(limited, over_http(HI, None, status=502, reason="Bad Gateway"), over_http(HI, response(CALL)))
        assert recorded.turns[:2] == [
            [{"http_error": {"status": 429, **words, "headers": kept}}],
            [{"http_error": {"status": 502, "message": "Bad Gateway"}}],
        ]
        client = Client()
        recorded.apply(client.mock)
        assert [client.ask().status for _ in range(2)] == [429, 502]
        assert client.world.refusals.unexpected == []

    def test_errors_that_a_rule_has_are_its_own_and_expected(self) -> None:
        words = "No tool output found for function call call_1."
        refused = over_http(HI, error(words, param="input"), status=400)
        recorded = script(refused, over_http(HI, response(said("Hi."))))
        assert (len(recorded.turns), recorded.document["refusals"]) == (1, ["call_needs_output"])
        client = Client()
        recorded.apply(client.mock)
        assert client.ask([CALL | {"id": None}, {"role": "user", "content": "x"}]).status == 400
        assert client.world.refusals.unexpected == []

    def test_errors_that_no_rule_has_are_refusals_of_the_script(self) -> None:
        recorded = script(over_http(HI, error("Never heard of."), status=400))
        assert recorded.turns == [
            [{"http_error": {"status": 400, "message": "Never heard of.", "type": "invalid_request_error"}}]
        ]


class TestOtherParts:
    def test_other_parts_of_the_api_are_routes(self) -> None:
        spoken = {"chunks": ((0.0, b"\xff\xfb"),), "answer_headers": {"content-type": "audio/mpeg"}}
        recorded = script(
            posted("/embeddings", EMBEDDINGS),
            posted("/chat/completions", error("Busy."), status=503),
            posted("/embeddings", EMBEDDINGS | {"model": "n"}),
            replace(posted("/audio/speech", None), **spoken),
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

    def test_other_parts_that_are_mocked_are_answered_by_the_mock(self) -> None:
        recorded = script(
            over_http(HI, response(said("Hi."))),
            Interaction("GET", f"{HOST}/responses/resp_1", status=200, chunks=((0.0, compact(response())),)),
        )
        assert (len(recorded.turns), recorded.routes, recorded.left_out) == (1, {}, [])

    def test_other_parts_that_cannot_be_played_are_named(self) -> None:
        recorded = script(
            over_http(HI, response(said("Hi."))),
            posted("/threads/thread_1/runs", {"object": "thread.run"}),
            posted("/conversations", error("Oh."), status=500),
            over_http(HI, None, status=0),
            over_http(HI, [1]),
        )
        assert recorded.left_out == [
            "POST /v1/threads/thread_1/runs: the output of a run of the Assistants API is spread over other exchanges",
            "POST /v1/conversations: its error (500) is not played; only a model's can be scripted",
            "POST /v1/responses: no answer was recorded",
            "POST /v1/responses: its answer (200) has no output of a model",
        ]

    @pytest.mark.parametrize(
        ("tape", "why"),
        [
            ([posted("/threads/runs", {})], r": POST /v1/threads/runs: the output of a run"),
            ([], r"\. Pass a recording"),
        ],
    )
    def test_alone_are_no_script(self, tape: list[Interaction], why: str) -> None:
        with pytest.raises(ScriptError, match=f"tape: it has no model response{why}"):
            script(*tape)


class TestCode:
    SEARCH: ClassVar[Json] = {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "x"}}
    TAPE = (
        over_http(HI, response(CALL)),
        over_http(HI, error("Busy.", code="server_is_overloaded"), status=503),
        over_http(HI, response(said('It\'s "so"\nand so.\u2028'), said("Two."))),
        over_http(HI, response({**SEARCH, "status": "completed"})),
        over_http(HI, response()),
        streamed(sse({"type": "response.output_text.delta", "delta": "He"}), cut=True),
        posted("/embeddings", EMBEDDINGS),
        posted("/moderations", None, status=500),
        posted("/threads/runs", {}),
    )

    @pytest.mark.parametrize("form", ["python", "yaml"])
    def test_code_is_a_script_file_that_says_the_same(self, form: str, tmp_path: Path) -> None:
        recorded = script(*self.TAPE)
        file = tmp_path / f"tape.{'py' if form == 'python' else 'yaml'}"
        file.write_text(write_script(recorded, form), encoding="utf-8")  # type: ignore[arg-type]
        own, loaded = Mock(), Mock()
        parse_document(recorded.document).apply(own)
        load_script_file(file).apply(loaded)
        assert self.turns(loaded) == self.turns(own)
        assert len(self.turns(own)) == 6
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
        assert "    empty(),\n" in text
        assert 'cut(message(["He"]), after=1),' in text
        (tmp_path / "it.py").write_text(text, encoding="utf-8")
        assert len(runpy.run_path(str(tmp_path / "it.py"))["script"]) == 6

    def test_as_json_is_what_the_control_plane_takes(self) -> None:
        document = orjson.loads(write_script(script(*self.TAPE), "json"))
        assert parse_document(document).apply(Mock())["turns"] == 6


class TestTheCommand:
    @pytest.fixture
    def tape(self, tmp_path: Path) -> Path:
        recorded = [over_http(HI, response(said("Hello."))), posted("/threads/runs", {})]
        (file := tmp_path / "tape.yaml").write_text(dump_cassette(CassetteHeader(), recorded), encoding="utf-8")
        return file

    @pytest.mark.parametrize("form", SCRIPT_FORMS)
    def test_prints_a_script(self, tape: Path, form: str) -> None:
        ended = run_cli("cassettes", tape, "--to-script", form)
        assert (ended.exit_code, "Hello." in ended.stdout) == (0, True)
        assert "not played: POST /v1/threads/runs" in ended.output

    def test_the_command_refuses_what_it_cannot_print(self, tape: Path) -> None:
        for paths, form, why in (
            ([tape], "yml", "--to-script yml: Did you mean 'yaml'?"),
            ([tape.parent], "yaml", "--to-script: pass the path of one cassette file."),
            ([], "yaml", "--to-script: pass the path of one cassette file."),
        ):
            ended = run_cli("cassettes", *paths, "--to-script", form)
            assert (ended.exit_code, why in ended.output) == (2, True), ended.output


SAID = over_http(HI, response(said("Hi.")))


class TestChanges:
    @staticmethod
    def changes(*asked: Any) -> list[RequestChange]:
        """Return what differs where these inputs are asked, and twice `hi` was recorded."""
        tape, client = script(SAID, SAID), Client()
        tape.apply(client.mock)
        for input in asked:
            client.ask(input)
        return find_changes(tape, client.world.exchanges)

    @pytest.mark.parametrize(
        ("asked", "told"),
        [
            (["hi", "hi"], []),
            (["hi"], ["POST /responses was recorded, but not sent"]),
            (["hi"] * 3, ["request 3, POST /responses, was not recorded"]),
        ],
        ids=["the same", "too few", "too many"],
    )
    def test_changes_are_requests_too_few_and_too_many(self, asked: list[str], told: list[str]) -> None:
        assert list(map(str, self.changes(*asked))) == told

    def test_changes_are_shown_as_a_diff(self) -> None:
        told = str(*self.changes("hi", "ho"))
        assert told.startswith("request 2, POST /responses, differs from the recording:\n--- recorded\n+++ asked\n")
        assert '-  "input": "hi",\n+  "input": "ho",' in told

    def test_changes_are_no_other_ids(self) -> None:
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

    def test_changes_are_summed_up_in_a_line(self) -> None:
        told = summarize_changes(self.changes("ho"), "tape")
        assert told == "tape: 1 request differs from it, 1 request did not come"
