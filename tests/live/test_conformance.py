"""`responses-harness verify --server`: a right server scores 100 %, each fault of another one is told, nothing crashes."""

import itertools
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import pytest
from typer.testing import Result
from websockets.exceptions import ConnectionClosed

from harness.answers.encode import encode_event
from harness.contract.schema import load
from harness.core.errors import ConfigError
from harness.core.exchange import ReceivedRequest
from harness.items.kind import item_types
from harness.live import websocket as sockets
from harness.live.conformance import examine_server as examining
from harness.live.conformance import scenarios
from harness.live.conformance.examine_server import examine_server
from harness.live.conformance.questions import (
    OPTIONAL_ENDPOINTS,
    STORED_ITEMS,
    build_questions,
    is_socket_event,
    minimal_requests,
    with_model,
)
from harness.live.conformance.scenario import SCENARIOS, run_scenario
from harness.live.conformance.score import Score, score_json, summary_lines
from harness.live.websocket import ConformanceSocket
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk
from harness.verify.examples import play_case
from tests.support.command_line import run_cli
from tests.support.schemas import assert_conforms
from tests.support.servers.plain_server import JSON, Handler, Reply, over_sockets, running, server

KEY = "sk-conformance-0123456789"


def mocked(change: Callable[[str, str, Any], Any] = lambda method, path, body: body) -> Callable[..., Reply]:
    """Return a mock whose JSON answers (of streams: each event) are changed."""
    mock = MockApi(fallback=small_talk)

    def answer(method: str, path: str, headers: Any, raw: bytes) -> Reply:
        below, _, query = path.partition("?")
        parameters = dict(pair.split("=") for pair in query.split("&")) if query else {}
        named = {name.lower(): value for name, value in headers.items()}
        message = mock.handle(ReceivedRequest(method, below, named, parameters, raw))
        if isinstance(message.body, bytes):
            return message.status, dict(message.headers), message.body
        if message.events is None:
            return message.status, JSON, json.dumps(change(method, below, message.body)).encode()
        frames = map(encode_event, (change(method, below, event) for event in message.events))
        return message.status, {"content-type": "text/event-stream"}, b"".join(frames)

    return answer


@pytest.fixture(autouse=True)
def _background_responses_are_polled_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenarios, "POLL_SECONDS", 0.01)


@pytest.fixture(scope="module")
def right() -> Iterator[str]:
    with serve_in_thread(MockApi(fallback=small_talk)) as made:
        yield made.base_url


verify = partial(run_cli, "verify")


def kinds(score: Any) -> set[str]:
    return {finding.get("claim") or finding.get("outcome") or finding["message"] for finding in score.findings}


class Examined(NamedTuple):
    """A server examined twice: in Python, and then by the command with one question at a time."""

    url: str
    score: Score
    result: Result
    report: Any


@pytest.fixture(scope="module")
def examined(right: str, tmp_path_factory: pytest.TempPathFactory) -> Examined:
    score = examine_server(right, jobs=3)
    file = tmp_path_factory.mktemp("examined") / "report.json"
    result = verify("--server", right, "--json", str(file))
    return Examined(right, score, result, json.loads(file.read_text()))


def examine_sample(url: str, every: int = 8, **options: Any) -> Score:
    """Return the score of a server that is asked only some of the questions, but for all scenarios."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(examining, "build_questions", lambda *given: list(build_questions(*given))[::every])
        return examine_server(url, jobs=2, **options)


class TestARightServer:
    def test_a_right_server_scores_100_percent_in_a_sample_of_all_questions(self, right):
        progress: list[tuple[int, int]] = []
        score = examine_sample(right, every=40, progress=lambda done, total: progress.append((done, total)))
        assert (score.findings, score.percent) == ([], 100)
        assert score.refusals
        assert score.accepts
        assert progress[-1] == (len(progress),) * 2
        assert set(score.claims) == set(SCENARIOS)
        assert not [reason for reason in score.left_out if reason.startswith("what comes")]

    @pytest.mark.slow
    def test_a_right_server_scores_100_percent_and_again_when_it_is_examined_twice(self, examined: Examined) -> None:
        assert examined.score.findings == examined.report["findings"] == []
        assert (examined.score.percent, examined.score.is_clean, examined.report["percent"]) == (100, True, 100)

    @pytest.mark.slow
    def test_nothing_that_could_be_sent_is_blocked(self, examined: Examined) -> None:
        score = examined.score
        assert not [reason for reason in score.left_out if reason.startswith(("what comes", "the server"))]
        assert score.surfaces == dict.fromkeys(OPTIONAL_ENDPOINTS, "")

    @pytest.mark.slow
    def test_the_report_is_as_its_schema_says_and_the_command_prints_a_table_and_a_last_line(self, examined) -> None:
        assert_conforms(examined.report, "server")
        assert examined.report["sections"]["refuses"]["of"] > 600
        assert examined.result.exit_code == 0, examined.result.output
        assert examined.result.stdout.splitlines()[-1] == f"score of {examined.url}: 100 %"
        assert "refuses  pairing" in examined.result.stdout

    @pytest.mark.slow
    def test_a_model_of_its_own_replaces_the_examples_and_a_429_is_waited_for(self) -> None:
        models = []

        def note(method: str, path: str, headers: Any, raw: bytes) -> Reply:
            with suppress(ValueError, AttributeError):
                models.append(json.loads(raw).get("model"))
            if len(models) == 1:
                return 429, {**JSON, "retry-after": "0"}, b'{"error": {"message": "Slow down."}}'
            return answer(method, path, headers, raw)

        answer = mocked()
        with server(note) as url:
            assert examine_server(url, model="my-model", jobs=2).percent == 100
        assert models[:2] == ["my-model", "my-model"]
        assert "gpt-4.1" not in models

    def test_the_key_of_a_server_is_sent_and_never_shown(self) -> None:
        seen = set()

        def note(method: str, path: str, headers: Any, raw: bytes) -> Reply:
            seen.add(headers.get("authorization"))
            return 500, JSON, json.dumps({"error": {"message": f"bad {headers.get('authorization')}"}}).encode()

        with server(note) as url:
            result = verify("--server", url, "--key-env", "OWN", OWN=KEY)
            report = verify("--server", url, "--key-env", "OWN", "--json", "-", OWN=KEY)
        assert f"Bearer {KEY}" in seen
        assert KEY not in result.output + report.output
        assert (result.exit_code, report.exit_code) == (1, 1)

    @pytest.mark.slow
    @pytest.mark.parametrize("root", ["/openai/v1", "/api/projects/p/openai/v1"])
    def test_a_server_of_azure_or_foundry_is_known_by_its_path(self, right: str, root: str) -> None:
        score = examine_server(right.replace("/v1", root), jobs=2)
        assert score.findings == []
        assert score.left_out["its error has a form of its own"] > 5
        assert ("there is no WS /responses" in "\n".join(summary_lines(score, KEY))) == ("/projects/" in root)

    def test_a_key_of_azure_is_sent_as_such(self) -> None:
        seen = set()

        def note(method: str, path: str, headers: Any, raw: bytes) -> Reply:
            seen.add((headers.get("authorization"), headers.get("api-key")))
            return 401, JSON, b'{"error": {"message": "No."}}'

        with server(note) as url, pytest.raises(ConfigError, match="refuses the key"):
            examine_server(url.replace("/v1", "/openai/v1"), key=KEY)
        assert seen == {(None, KEY)}


WRONG_ERRORS: Sequence[tuple[str, Callable[[Any], Any]]] = (
    ("code", lambda error: {"error": {**error, "message": "No."}}),
    ("status", lambda error: {"error": {**error, "code": "bad"}}),
    ("status", lambda error: {"error": {**error, "param": "elsewhere"}}),
    ("status", lambda error: {"detail": "No."}),
)
"""What a server may do to an error, and the grade that is left of it."""


@pytest.fixture(scope="module")
def wrong_errors() -> Iterator[tuple[Score, list[int]]]:
    """The score of a server that changes its errors in each of these ways by turns, and how often it did each."""
    turns, changed = itertools.count(), [0] * len(WRONG_ERRORS)

    def change(method: str, path: str, body: Any) -> Any:
        if not body.get("error"):
            return body
        turn = next(turns) % len(WRONG_ERRORS)
        changed[turn] += 1
        return WRONG_ERRORS[turn][1](body["error"])

    with server(mocked(change)) as url:
        yield examine_sample(url), changed


@pytest.fixture(scope="module")
def forgetful() -> Iterator[Score]:
    """The score of a server that doubles histories, cancels nothing, calls no custom tool, lacks a member and an event."""
    answer = mocked(lambda method, path, body: _without_member(_twice(path, _without_custom_calls(body))))

    def deaf(method: str, path: str, headers: Any, raw: bytes) -> Reply:
        if path.endswith("/cancel"):
            return 500, JSON, b"{}"
        resumed = "starting_after" in path
        status, named, body = answer(method, path.partition("?")[0] if resumed else path, headers, raw)
        return status, named, body.replace(b"event: response.created\n", b"event: message\n")

    with server(deaf) as url:
        yield examine_sample(url)


def _twice(path: str, body: Any) -> Any:
    if body.get("previous_response_id") and (usage := body.get("usage")):
        usage["input_tokens"] *= 2
    return {**body, "data": body["data"] * 2} if path.endswith("/input_items") and "data" in body else body


def _without_custom_calls(body: Any) -> Any:
    text = json.dumps(body).replace('"custom_tool_call"', '"message"')
    return json.loads(text.replace("custom_tool_call_input.delta", "output_text.delta"))


def _without_member(body: Any) -> Any:
    return {name: value for name, value in body.items() if name != "parallel_tool_calls"}


@pytest.fixture(scope="module")
def small() -> Iterator[Score]:
    """The score of a server that accepts everything, cuts its streams, lacks endpoints and answers files by 429."""
    answer = mocked()

    def small(method: str, path: str, headers: Any, raw: bytes) -> Reply:
        if not path.startswith(("/v1/responses", "/v1/models")) or "compact" in path:
            return 404, JSON, b'{"detail": "Not Found"}'
        if b"input_file" in raw:
            return 429, JSON, b'{"error": {"message": "Slow down."}}'
        status, named, body = answer(method, path, headers, raw)
        if status == 400:
            status, named, body = answer(method, path, headers, b'{"model": "gpt-4.1", "input": "hi"}')
        if "event-stream" in named.get("content-type", ""):
            return status, {**named, "content-length": str(len(body))}, body[: len(body) // 2]
        return status, named, body

    with server(small) as url:
        yield examine_sample(url)


@pytest.mark.parametrize(("taken", "percent"), [(0, 0), (1, 33.3), (2, 66.6), (1999, 99.9), (2000, 100)])
def test_a_score_is_rounded_down(taken: int, percent: float) -> None:
    score = Score("http://a.example", "gpt-4.1")
    score.accepts["tools"] = Counter({"taken": taken, "refused": (2000 if taken > 2 else 3) - taken})
    assert score.percent == percent


def test_a_score_is_the_mean_of_its_sections() -> None:
    score = Score("http://a.example", "gpt-4.1")
    assert score.percent is None
    score.accepts["tools"] = Counter({"taken": 1, "refused": 1})
    score.add_claim("a chain", "it goes on", "")
    assert (score.percent, score.is_clean) == (75, True)
    score.add_claim("a chain", "it ends", "it goes on")
    assert (score.percent, score.is_clean) == (50, False)


class TestAWrongServer:
    def test_three_grades_of_a_refusal(self, wrong_errors: tuple[Score, list[int]]) -> None:
        score, changed = wrong_errors
        graded = [finding for finding in score.findings if finding["kind"] == "refusal"]
        assert [one for one in graded if one["outcome"] != _due_grade(one["expected"], one["got"])] == []
        assert {grade["outcome"] for grade in graded} == set().union(*score.refusals.values()) == {"code", "status"}
        assert min(changed) > 5
        assert (score.is_clean, score.percent < 100) == (False, True)

    def test_an_error_in_another_form_is_a_finding(self, wrong_errors: tuple[Score, list[int]]) -> None:
        score, changed = wrong_errors
        found = (one["times"] for one in score.findings if (one["kind"], one.get("at")) == ("errors", "error"))
        looked_for = len(OPTIONAL_ENDPOINTS)  # these answers are not judged
        assert changed[3] - looked_for <= sum(found) <= changed[3]

    def test_what_a_wrong_server_accepts_although_it_must_not(self, small: Score) -> None:
        assert set(small.refusals["content"]) == {"taken"}
        assert "a chain that leaves it unanswered is refused" in kinds(small)

    def test_what_a_server_does_wrong_contradicts_a_claim(self, forgetful: Score) -> None:
        assert kinds(forgetful) >= {
            "no part of a chained history is duplicated",
            "no part of it is listed twice",
            "it is cancelled, or was done before",
            "it resumes after the number that the client has",
        }
        assert forgetful.claims["custom tool"]["false"] == 1
        streamed = {claim["claim"] for claim in forgetful.findings if claim.get("area") == "custom tool streamed"}
        assert "it has deltas" in streamed

    def test_a_member_that_is_missing_is_reported_once(self, forgetful: Score) -> None:
        answers = [finding for finding in forgetful.findings if finding["kind"] == "answers"]
        missing = ("POST /responses", "parallel_tool_calls")
        (times,) = [answer["times"] for answer in answers if (answer["on"], answer["at"]) == missing]
        assert times > 20
        assert sum(answer["times"] for answer in answers) == forgetful.forms["answers"]["findings"]

    def test_events_that_no_client_of_event_source_hears(self, forgetful: Score) -> None:
        found = {(finding["kind"], finding.get("at"), finding.get("message")) for finding in forgetful.findings}
        words = "its line is 'event: message', its data has the type 'response.created'"
        assert ("streams", "events[0]", words) in found

    def test_a_stream_that_is_cut_is_a_finding(self, small: Score) -> None:
        assert small.forms["streams"]["conform"] == 0
        assert any("cut off" in text for text in kinds(small))

    def test_an_endpoint_that_it_lacks_and_one_that_always_answers_429_are_left_out(self, small: Score) -> None:
        assert small.left_out["the server has no /conversations"] > 0
        assert "there is no /conversations: POST /conversations is answered by 404" in list(summary_lines(small, KEY))
        assert "conversation" not in small.claims
        assert small.left_out["the server was asked too often (429)"] > 0

    @pytest.mark.slow
    def test_json_of_any_form_is_a_finding_never_a_crash(self) -> None:
        bodies = itertools.cycle([b"[]", b'{"output": 3, "id": null}', b'{"output": [1, null], "usage": 7}'])
        with server(lambda method, path, headers, raw: (200, JSON, next(bodies))) as url:
            score = examine_server(url, jobs=4)
        assert score.percent is not None
        assert score.percent < 40
        assert score.forms["answers"]["conform"] == 0
        assert_conforms(score_json(score, KEY), "server")


def _due_grade(expected: Any, got: Any) -> str:
    """Return the grade of an error that one of WRONG_ERRORS was done to."""
    same = "code" in got and all(got[name] == expected[name] for name in ("status", "param", "code"))
    return "code" if same else "status"


class TestNoSuchServer:
    @pytest.mark.parametrize(
        ("status", "headers", "body", "message"),
        [
            (401, JSON, b'{"error": {"message": "No.", "code": null}}', "refuses the key: 401 No."),
            (404, JSON, b'{"detail": "Not Found"}', "has no /responses"),
            (200, JSON, b"<html>", "does not speak the API: the answer is neither JSON nor events"),
            (308, {"location": "https://a.test/v1?key=x"}, b"", "(308), to https://a.test/v1. Pass the base URL"),
        ],
    )
    def test_another_server_is_a_mistake(self, status: int, headers: dict[str, str], body: bytes, message: str) -> None:
        with server(lambda *_: (status, headers, body)) as url:
            result = verify("--server", url)
        assert (result.exit_code, message in result.stderr) == (2, True)

    def test_a_server_that_is_down_is_a_mistake(self) -> None:
        result = verify("--server", "http://127.0.0.1:9/v1")
        assert (result.exit_code, "the connection is refused. Start the server" in result.stderr) == (2, True)

    def test_a_key_that_cannot_be_sent_is_not_shown(self, right: str) -> None:
        result = verify("--server", right, "--key-env", "OWN", OWN=f"{KEY}\nx-more: 1")
        assert (result.exit_code, KEY in result.output) == (2, False)
        assert "the key has a line break or another control character: pass only the key." in result.stderr

    def test_a_server_without_the_model_is_a_mistake(self) -> None:
        body = b'{"error": {"message": "The model does not exist", "code": "model_not_found"}}'
        with server(lambda *_: (404, JSON, body)) as url:
            result = verify("--server", url)
        why = "stopped: the smallest request is not answered: 404 The model does not exist. --model names one."
        assert (result.exit_code, why in result.stdout) == (1, True)

    def test_a_slow_server_is_a_mistake(self) -> None:
        over = threading.Event()

        def slow(*_: Any) -> Reply:
            over.wait(60)
            return 200, JSON, b"{}"

        began = time.monotonic()
        with server(slow) as url, pytest.raises(ConfigError, match=r"no whole answer within 0\.2 s"):
            examine_server(url, timeout=0.2)
        assert time.monotonic() - began < 30
        over.set()

    @pytest.mark.slow
    def test_a_server_whose_answers_never_end_stops_the_examination(self) -> None:
        over = threading.Event()

        class Endless(Handler):
            count = 0

            answer = staticmethod(mocked())

            def _do(self) -> None:
                Endless.count += 1
                if Endless.count < 20:
                    super()._do()
                    return
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                over.wait(60)

            do_GET = do_POST = _do  # noqa: N815  (as http.server has it)

        with running(Endless) as url:
            score = examine_server(f"{url}/v1", timeout=0.5)
        over.set()
        assert score.stopped == f"{examining.MAX_FAULTS} requests in a row were not answered"
        assert Endless.count < 20 + 2 * examining.MAX_FAULTS

    @pytest.mark.slow
    def test_a_server_that_dies_stops_the_examination(self) -> None:
        answer, paths = mocked(), []

        def dies(method: str, path: str, headers: Any, raw: bytes) -> Reply:
            paths.append(path)
            if len(paths) > 40:
                raise ConnectionError
            return answer(method, path, headers, raw)

        with server(dies) as url:
            result = verify("--server", url)
        assert result.exit_code == 1
        assert f"stopped: {examining.MAX_FAULTS} requests in a row were not answered" in result.stdout
        assert len(paths) < 50

    @pytest.mark.parametrize(
        "url",
        ["127.0.0.1:1", "ftp://a/v1", "http://", "http://a/v1?x=1", "http://a:b@c/v1", "http://[/v1", "http://a:x/v1"],
    )
    def test_no_url(self, url: str) -> None:
        result = verify("--server", url)
        assert (result.exit_code, "pass a base URL" in result.stderr) == (2, True)


def say_nothing(connection: Any) -> None:
    with suppress(ConnectionClosed):
        while True:
            connection.recv()


def send_event(url: str, timeout: float = 60.0) -> Any:
    with closing(ConformanceSocket(url, {"authorization": f"Bearer {KEY}"}, timeout)) as socket:
        return socket.send_event(b'{"type": "response.create"}')


class TestSockets:
    def test_each_event_is_answered_as_http_would(self, right: str) -> None:
        with closing(ConformanceSocket(right, {"authorization": f"Bearer {KEY}"}, 5.0)) as socket:
            good, bad = (
                socket.send_event(json.dumps({"type": "response.create", "model": "gpt-4.1", **more}).encode())
                for more in ({"input": "hi", "stream_id": "a"}, {"input": "hi", "temperature": 9})
            )
        assert (good.status, good.body["status"], good.is_accepted) == (200, "completed", True)
        assert "stream_id" not in good.recorded.events[0]
        assert (bad.status, bad.body["error"]["param"]) == (400, "temperature")

    def test_a_refused_upgrade_is_an_answer_and_a_refused_connection_a_fault(self) -> None:
        with over_sockets(lambda connection: None, refuse=403) as url:
            assert send_event(url).status == 403
        assert send_event("http://127.0.0.1:9/v1").fault == "the connection is refused"

    @pytest.mark.parametrize(
        ("talk", "seconds", "fault"),
        [
            (lambda connection: connection.recv(), 60, "the connection is closed (ConnectionClosedOK)"),
            (say_nothing, 0.3, "no whole answer in time"),
            (lambda connection: connection.send("[]") or say_nothing(connection), 0.3, "no whole answer in time"),
            (lambda connection: connection.send(b"\xff") or say_nothing(connection), 60, "the connection is closed ("),
            (
                lambda connection: connection.recv() and [connection.send("{}") for _ in range(200)],
                60,
                "it has more than 1",
            ),
        ],
    )
    def test_an_answer_that_does_not_end_says_why(self, talk, seconds, fault, monkeypatch):
        monkeypatch.setattr(sockets, "MAX_EVENTS", 100)
        with over_sockets(talk) as url:
            reply = send_event(url, seconds)
        assert reply.fault.startswith(fault)
        assert not reply.is_accepted

    def test_events_without_end_do_not_extend_the_deadline(self) -> None:
        def flood(connection: Any) -> None:
            connection.recv()
            while True:
                connection.send("{}")

        with over_sockets(flood) as url:
            client = sockets.WebSocketClient(f"ws{url.removeprefix('http')}/responses", 0.3)
            client.open({})
            exchange = client.send_event("{}", lambda exchange: False)
            client.close()
        assert client.fault == "no whole answer in time"
        assert exchange.events

    def test_a_connection_that_remembers_nothing_is_reported(self) -> None:
        made = {"id": "resp_1", "status": "completed", "output": []}

        def forgetful(connection: Any) -> None:
            for text in connection:
                event = json.loads(text)
                error = {"type": "error", "status": 400, "error": {"message": "No.", "code": None}}
                refused = "previous_response_id" in event or event.get("temperature") == 9
                connection.send(json.dumps(error if refused else {"type": "response.completed", "response": made}))

        with over_sockets(forgetful) as url:
            claims = {finding.text: finding.problem for finding in run_scenario(SCENARIOS["websocket"], Talking(url))}
        assert claims["a request is refused as over HTTP"] == ""
        assert claims["what is not stored is not known to another connection"] == ""
        assert claims["after a refusal the connection can go on"].startswith("400")

    def test_of_a_server_without_sockets_nothing_is_claimed(self) -> None:
        assert list(run_scenario(SCENARIOS["websocket"], Talking("", absent=True))) == []


@dataclass
class Talking:
    """A server of which only WebSocket mode is asked."""

    url: str
    absent: bool = False
    timeout: float = 5.0

    def lacks(self, surface: str) -> bool:
        return self.absent

    def send(self, on: str, body: Any = None) -> Any:
        raise AssertionError(on)

    @contextmanager
    def connected(self) -> Iterator[Callable[[Any], Any]]:
        with closing(ConformanceSocket(self.url, {}, self.timeout)) as socket:
            yield lambda body: socket.send_event(json.dumps({"type": "response.create", **body}).encode())


SERVER = ("--server", "http://a/v1")


class TestOptions:
    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            (["tests/cassettes", *SERVER], "pass recordings, or --server URL."),
            ([*SERVER, "--respell"], "--server cannot be combined with options for recordings. Omit --respell."),
            ([*SERVER, "--key-env", "NOT_SET_ANYWHERE"], "--key-env NOT_SET_ANYWHERE: the variable is not set."),
            ([*SERVER, "--timeout", "0"], "'--timeout': Input should be greater than or equal to 0.1"),
        ],
    )
    def test_a_mistake_in_the_request(self, arguments: list[str], problem: str) -> None:
        result = verify(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert problem in result.stderr


SOME_MODELS = {
    *("additional_tools", "agent_message", "configuration_update", "multi_agent_call", "multi_agent_call_output"),
    *("compaction_trigger", "computer_call", "computer_call_output", "program", "program_output", "reasoning"),
    *("tool_search_call", "tool_search_output"),
}
"""Items that the rules about them ask of servers with a fitting model, or that only a beta takes."""


def kinds_of_items() -> set[str]:
    """Return the types of all items that a request may have."""
    root = load("CreateResponse")

    def types(schema: Any) -> Iterator[str]:
        if "$ref" in schema:
            schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
        for branch in schema.get("anyOf", schema.get("oneOf", ())):
            yield from types(branch)
        yield json.dumps(schema.get("properties", {}).get("type"))

    _, listed = root["properties"]["input"]["anyOf"]
    return set(re.findall(r'"const": "(\w+)"', " ".join(types(listed["items"]))))


EXAMPLES = [items for declared in item_types().values() for items in declared.examples.values()]


class TestQuestions:
    @pytest.mark.parametrize(("name", "case"), [(f"{area} {name}", case) for area, name, case in minimal_requests()])
    def test_the_mock_accepts_every_probe(self, name: str, case: Any) -> None:
        asked = with_model(case, examining.CUSTOM_TOOL_MODEL) if name == "tools custom" else case
        assert play_case(asked).answer.status == 200

    def test_there_is_a_probe_of_each_kind_that_a_client_runs_itself(self) -> None:
        sent = {item.get("type") for items in EXAMPLES for item in items}
        assert {"item_reference", "compaction"} == set(STORED_ITEMS)
        assert sent >= {
            f"{kind}_output" for kind in ("function_call", "custom_tool_call", "shell_call", "apply_patch_call")
        }

    def test_each_kind_of_input_item_is_probed_unless_only_some_models_accept_it(self) -> None:
        cases = [*({"input": items} for items in EXAMPLES), *(case.body for case in STORED_ITEMS.values())]
        probed = {item.get("type", "message") for body in cases for item in body["input"]}
        assert kinds_of_items() - probed == SOME_MODELS

    def test_what_no_server_can_answer_is_left_out_with_a_reason(self) -> None:
        reasons = {question.reason for question in build_questions("gpt-4.1", (), ("/files",), "/v1")}
        assert reasons >= {"it is another provider's", "it needs an account of its own", "time has to pass"}
        assert reasons >= {"the server has no /files", "its path is outside the base URL"}

    @pytest.mark.parametrize(("root", "is_asked"), [("/v1", True), ("/openai/v1", False)])
    def test_sockets_are_asked_of_openai_alone(self, root: str, is_asked: bool) -> None:
        asked = [each for each in build_questions("gpt-4.1", (), (), root) if not each.reason]
        assert any(is_socket_event(question.case) for question in asked) is is_asked

    def test_the_path_in_a_refusal_is_that_of_the_server(self) -> None:
        questions = build_questions("gpt-4.1", (), (), "/api/v1")
        first = next(question for question in questions if question.name == "unknown_url")
        assert first.expected_message == "Invalid URL (POST /api/v1/response)"

    def test_other_models_are_tried_where_the_server_lists_them(self) -> None:
        fewer, more = (
            sum(not question.reason for question in build_questions("gpt-4.1", listed, (), "/v1"))
            for listed in ((), ("gpt-5",))
        )
        assert more > fewer

    def test_what_depends_on_the_model_is_left_out(self) -> None:
        reasons = {question.name: question.reason for question in build_questions("a-deployment", (), (), "/v1")}
        assert reasons["encrypted_content_unsupported"] == "it depends on the model"
