"""`harness verify --server`: a right server scores 100 %, each fault of another one is told, nothing crashes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner, Result

from harness.cases import play
from harness.cli import app
from harness.conformance import examine as examining
from harness.conformance.endpoint import Endpoint
from harness.conformance.examine import examine
from harness.conformance.probes import ITEMS, probes
from harness.conformance.questions import SURFACES, questions
from harness.conformance.score import document, lines
from harness.errors import ConfigError
from harness.fallback import small_talk
from harness.mock import Mock
from harness.schema import directory
from harness.server import serving

KEY = "sk-conformance-0123456789"
Reply = tuple[int, dict[str, str], bytes]
JSON = {"content-type": "application/json"}


class Handler(BaseHTTPRequestHandler):
    """Answers whatever the test's function says to the method, the path, the headers and the body."""

    answer: Callable[[str, str, Any, bytes], Reply]

    def _do(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        status, headers, body = type(self).answer(self.command, self.path, self.headers, raw)
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


for _method in ("GET", "POST", "PUT", "DELETE"):
    setattr(Handler, f"do_{_method}", Handler._do)


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        pass


@contextmanager
def server(answer: Callable[[str, str, Any, bytes], Reply]) -> Iterator[str]:
    """The base URL of a server that answers so."""
    with running(type("Own", (Handler,), {"answer": staticmethod(answer)})) as url:
        yield f"{url}/v1"


@contextmanager
def running(handler: type[Handler]) -> Iterator[str]:
    made = Quiet(("127.0.0.1", 0), handler)
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{made.server_port}"
    finally:
        made.shutdown()
        made.server_close()


def mocked(change: Callable[[str, str, Any], Any] = lambda method, path, body: body) -> Callable[..., Reply]:
    """A mock whose JSON answers (of streams: each event) are changed."""
    mock = Mock(fallback=small_talk)

    def answer(method: str, path: str, headers: Any, raw: bytes) -> Reply:
        below, _, query = path.partition("?")
        asked = dict(pair.split("=") for pair in query.split("&")) if query else {}
        named = {name.lower(): value for name, value in headers.items()}
        said = mock.handle(method, below, named, asked, raw)
        if isinstance(said.body, bytes):
            return said.status, dict(said.headers), said.body
        if said.events is None:
            return said.status, JSON, json.dumps(change(method, below, said.body)).encode()
        frames = "".join(f"data: {json.dumps(change(method, below, event))}\n\n" for event in said.events)
        return said.status, {"content-type": "text/event-stream"}, frames.encode()

    return answer


@pytest.fixture
def right() -> Iterator[str]:
    with serving(Mock(fallback=small_talk)) as made:
        yield made.base_url


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(app, ["verify", *arguments], env=environment)


def kinds(score: Any) -> set[str]:
    return {each.get("claim") or each.get("outcome") or each["message"] for each in score.findings}


class TestARightServer:
    def test_it_scores_100_percent_and_again_when_it_is_asked_twice(self, right: str) -> None:
        for jobs in (1, 3):
            score = examine(right, jobs=jobs)
            assert score.findings == []
            assert (score.percent, score.clean) == (100.0, True)

    def test_nothing_that_could_be_asked_is_blocked(self, right: str) -> None:
        score = examine(right, jobs=2)
        assert not [reason for reason in score.left_out if reason.startswith(("what comes", "the server"))]
        assert set(score.surfaces) == set(SURFACES)
        assert not any(score.surfaces.values())

    def test_the_report_is_as_its_schema_says(self, right: str, tmp_path) -> None:
        run("--server", right, "--jobs", "2", "--json", str(tmp_path / "said.json"))
        said = json.loads((tmp_path / "said.json").read_text())
        jsonschema.validate(said, json.loads((directory() / "server.json").read_text()))
        assert said["percent"] == 100
        assert said["sections"]["refuses"]["of"] > 600

    def test_exit_code_0_a_table_and_a_last_line(self, right: str) -> None:
        result = run("--server", right, "--jobs", "2")
        assert result.exit_code == 0, result.output
        assert result.stdout.splitlines()[-1] == f"score of {right}: 100 %"
        assert "refuses  pairing" in result.stdout

    def test_progress_is_told_to_the_end(self, right: str) -> None:
        told: list[tuple[int, int]] = []
        examine(right, jobs=2, progress=lambda done, total: told.append((done, total)))
        assert told[-1][0] == told[-1][1] == len(told)

    def test_a_model_of_its_own_takes_the_place_of_the_examples(self) -> None:
        models = set()

        def note(method: str, path: str, headers: Any, raw: bytes) -> Reply:
            with suppress(ValueError, AttributeError):
                models.add(json.loads(raw).get("model"))
            return answer(method, path, headers, raw)

        answer = mocked()
        with server(note) as url:
            assert examine(url, model="my-model", jobs=2).percent == 100
        assert "my-model" in models
        assert "gpt-4.1" not in models

    def test_its_key_is_sent_and_never_told(self) -> None:
        seen = set()

        def note(method: str, path: str, headers: Any, raw: bytes) -> Reply:
            seen.add(headers.get("authorization"))
            return 500, JSON, json.dumps({"error": {"message": f"bad {headers.get('authorization')}"}}).encode()

        with server(note) as url:
            shown = run("--server", url, "--key-env", "OWN", OWN=KEY)
            whole = run("--server", url, "--key-env", "OWN", "--json", "-", OWN=KEY)
        assert f"Bearer {KEY}" in seen
        assert KEY not in shown.output + whole.output
        assert (shown.exit_code, whole.exit_code) == (1, 1)


class TestAWrongServer:
    @pytest.mark.parametrize(
        ("member", "value", "grade"),
        [
            ("message", "No.", "code"),
            ("code", "bad", "status"),
            ("param", "elsewhere", "status"),
        ],
    )
    def test_three_grades_of_a_refusal(self, member: str, value: str, grade: str) -> None:
        def change(method: str, path: str, body: Any) -> Any:
            return (
                {"error": {**body["error"], member: value}}
                if "error" in body and path == "/v1/responses" and body["error"]
                else body
            )

        with server(mocked(change)) as url:
            score = examine(url, jobs=2)
        assert set(score.refusals["content"]) == {grade}
        assert not score.clean
        assert score.percent is not None
        assert score.percent < 100

    def test_an_error_in_another_form_has_the_right_status_at_most(self) -> None:
        with server(mocked(lambda method, path, body: {"detail": "No."} if body.get("error") else body)) as url:
            score = examine(url, jobs=2)
        assert set(score.refusals["content"]) == {"status"}
        assert score.forms["errors"]["conform"] == 0

    def test_what_it_takes_although_it_must_not(self) -> None:
        answer = mocked()

        def kind(method: str, path: str, headers: Any, raw: bytes) -> Reply:
            status, named, body = answer(method, path, headers, raw)
            good = {"model": "gpt-4.1", "input": "hi"}
            return answer(method, path, headers, json.dumps(good).encode()) if status == 400 else (status, named, body)

        with server(kind) as url:
            score = examine(url, jobs=2)
        assert set(score.refusals["content"]) == {"taken"}
        assert "a chain that leaves it unanswered is refused" in kinds(score)

    def test_a_history_that_is_there_twice(self) -> None:
        def change(method: str, path: str, body: Any) -> Any:
            if isinstance(body, dict) and body.get("previous_response_id") and (usage := body.get("usage")):
                usage["input_tokens"] *= 2
            return body

        with server(mocked(change)) as url:
            assert "no part of a chained history is there twice" in kinds(examine(url, jobs=2))

    def test_a_member_that_is_missing_is_told_once(self) -> None:
        def change(method: str, path: str, body: Any) -> Any:
            return {name: value for name, value in body.items() if name != "parallel_tool_calls"}

        with server(mocked(change)) as url:
            score = examine(url, jobs=2)
        (found,) = [
            each for each in score.findings if each.get("on") == "POST /responses" and each["kind"] == "answers"
        ]
        assert found["at"] == "parallel_tool_calls"
        assert found["times"] == score.forms["answers"]["findings"] - sum(
            each["times"] for each in score.findings if each["kind"] == "answers" and each is not found
        )

    def test_a_stream_that_is_cut(self) -> None:
        answer = mocked()

        def cut(method: str, path: str, headers: Any, raw: bytes) -> Reply:
            status, named, body = answer(method, path, headers, raw)
            streams = "event-stream" in named.get("content-type", "")
            return (
                (status, {**named, "content-length": str(len(body))}, body[: len(body) // 2])
                if streams
                else (status, named, body)
            )

        with server(cut) as url:
            score = examine(url, jobs=2)
        assert score.forms["streams"]["conform"] == 0
        assert any("cut off" in text for text in kinds(score))

    def test_an_endpoint_that_it_lacks_is_left_out_and_named(self) -> None:
        answer = mocked()

        def small(method: str, path: str, headers: Any, raw: bytes) -> Reply:
            known = path.startswith(("/v1/responses", "/v1/models")) and "compact" not in path
            return answer(method, path, headers, raw) if known else (404, JSON, b'{"detail": "Not Found"}')

        with server(small) as url:
            score = examine(url, jobs=2)
        assert score.left_out["the server has no /conversations"] > 5
        assert "there is no /conversations: POST /conversations is answered by 404" in list(lines(score, KEY))
        assert "conversation" not in score.claims

    @pytest.mark.parametrize("body", [b"[]", b'{"output": 3, "id": null}', b'{"output": [1, null], "usage": 7}'])
    def test_json_of_any_form_is_told_never_a_crash(self, body: bytes) -> None:
        with server(lambda method, path, headers, raw: (200, JSON, body)) as url:
            score = examine(url, jobs=4)
        assert score.percent is not None
        assert score.percent < 40
        assert score.forms["answers"]["conform"] == 0
        jsonschema.validate(document(score, KEY), json.loads((directory() / "server.json").read_text()))

    def test_who_is_asked_too_often_is_waited_for(self) -> None:
        answer, times = mocked(), []

        def busy(method: str, path: str, headers: Any, raw: bytes) -> Reply:
            times.append(time.monotonic())
            if len(times) == 1:
                return 429, {**JSON, "retry-after": "0"}, b'{"error": {"message": "Slow down."}}'
            return answer(method, path, headers, raw)

        with server(busy) as url:
            assert examine(url, jobs=2).percent == 100

    def test_who_is_always_asked_too_often_is_not_judged(self) -> None:
        answer = mocked()

        def busy(method: str, path: str, headers: Any, raw: bytes) -> Reply:
            if b"input_file" in raw:
                return 429, JSON, b'{"error": {"message": "Slow down."}}'
            return answer(method, path, headers, raw)

        with server(busy) as url:
            score = examine(url, jobs=2)
        assert score.left_out["the server was asked too often (429)"] > 0


class TestNoSuchServer:
    def test_down(self) -> None:
        result = run("--server", "http://127.0.0.1:9/v1")
        assert result.exit_code == 2
        assert "the connection is refused. Start the server" in result.stderr

    @pytest.mark.parametrize(
        ("status", "body", "said"),
        [
            (401, b'{"error": {"message": "No.", "code": null}}', "refuses the key: 401 No."),
            (404, b'{"detail": "Not Found"}', "has no /responses"),
            (200, b"<html>", "does not speak the API: the answer is neither JSON nor events"),
        ],
    )
    def test_another_one(self, status: int, body: bytes, said: str) -> None:
        with server(lambda *_: (status, JSON, body)) as url:
            result = run("--server", url)
        assert result.exit_code == 2
        assert said in result.stderr

    def test_one_without_the_model(self) -> None:
        body = b'{"error": {"message": "The model does not exist", "code": "model_not_found"}}'
        with server(lambda *_: (404, JSON, body)) as url:
            result = run("--server", url)
        assert result.exit_code == 1
        assert (
            "stopped: the smallest request is not answered: 404 The model does not exist. --model names one."
            in result.stdout
        )

    def test_slow(self) -> None:
        def slow(*_: Any) -> Reply:
            time.sleep(2)
            return 200, JSON, b"{}"

        began = time.monotonic()
        with server(slow) as url, pytest.raises(ConfigError, match=r"no whole answer within 0\.2 s"):
            examine(url, timeout=0.2)
        assert time.monotonic() - began < 2

    def test_one_that_drips_is_given_up_in_time(self) -> None:
        def drip(handler: Handler) -> None:
            handler.send_response(200)
            handler.end_headers()
            for _ in range(50):
                handler.wfile.write(b" ")
                time.sleep(0.1)

        began = time.monotonic()
        with running(type("Drip", (Handler,), {"do_GET": drip})) as url:
            reply = Endpoint(url, KEY, 0.4).send("GET", "/x", {}, None)
        assert time.monotonic() - began < 2
        assert reply.fault.startswith("no whole answer within 0.4 s, after")

    def test_one_that_dies_stops_the_examination(self) -> None:
        answer, asked = mocked(), []

        def dies(method: str, path: str, headers: Any, raw: bytes) -> Reply:
            asked.append(path)
            if len(asked) > 40:
                raise ConnectionError
            return answer(method, path, headers, raw)

        with server(dies) as url:
            result = run("--server", url)
        assert result.exit_code == 1
        assert f"stopped: {examining.FAULTS} requests in a row were not answered" in result.stdout
        assert len(asked) < 50

    @pytest.mark.parametrize(
        "url",
        ["127.0.0.1:1", "ftp://a/v1", "http://", "http://a/v1?x=1", "http://a:b@c/v1", "http://[/v1", "http://a:x/v1"],
    )
    def test_no_url(self, url: str) -> None:
        result = run("--server", url)
        assert result.exit_code == 2
        assert "give a base URL" in result.stderr


class TestOptions:
    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["tests/cassettes", "--server", "http://a/v1"],
            ["tests/cassettes", "--model", "m"],
            ["--server", "http://a/v1", "--respell"],
            ["--server", "http://a/v1", "--key-env", "NOT_SET_ANYWHERE"],
            ["--server", "http://a/v1", "--timeout", "0"],
        ],
    )
    def test_a_mistake_in_what_is_asked(self, arguments: list[str]) -> None:
        assert run(*arguments).exit_code == 2


class TestQuestions:
    @pytest.mark.parametrize(("name", "case"), [(f"{area} {name}", case) for area, name, case in probes()])
    def test_the_mock_takes_every_probe(self, name: str, case: Any) -> None:
        assert play(case).answer.status == 200

    def test_there_is_a_probe_of_each_kind_that_a_client_runs_itself(self) -> None:
        sent = {item.get("type") for items in ITEMS.values() for item in items}
        assert sent >= {
            f"{kind}_output" for kind in ("function_call", "custom_tool_call", "shell_call", "apply_patch_call")
        }

    def test_what_no_server_can_be_asked_is_left_out_with_a_reason(self) -> None:
        reasons = {each.reason for each in questions("gpt-4.1", (), ("/files",), "/v1") if each.reason}
        assert reasons >= {"said in another dialect", "depends on the account", "takes time that the mock skips"}
        assert "the server has no /files" in reasons

    def test_the_path_in_a_refusal_is_that_of_the_server(self) -> None:
        asked = [each for each in questions("gpt-4.1", (), (), "/api/v1") if each.name == "unknown_url"]
        assert asked[0].words == "Invalid URL (POST /api/v1/response)"

    def test_other_models_are_asked_about_where_the_server_lists_them(self) -> None:
        fewer, more = (
            sum(not each.reason for each in questions("gpt-4.1", listed, (), "/v1")) for listed in ((), ("gpt-5",))
        )
        assert more > fewer

    def test_what_depends_on_the_model_is_left_out(self) -> None:
        asked = {each.name: each.reason for each in questions("a-deployment", (), (), "/v1")}
        assert asked["encrypted_content_unsupported"] == "depends on the model"
