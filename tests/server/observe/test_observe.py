"""What a server tells of itself and of its requests: health, metrics, access log, spans; keys and bodies are in none."""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import orjson
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from harness.core.errors import ConfigError
from harness.core.exchange import ReceivedRequest
from harness.core.limits import Limits
from harness.faults import rate_limit
from harness.items import message
from harness.server.http_server import App, serve_in_thread
from harness.server.mock_api import MockApi
from harness.server.observe.metrics import Metrics
from harness.server.observe.observed import UNKNOWN, observe, render_json, render_text, write_lines, write_refusals
from harness.server.observe.spans import make_provider, trace_requests
from harness.server.websocket.session import SocketSession
from tests.support.command_line import run_cli
from tests.support.processes import wait_until
from tests.support.servers.served import serving

KEY = "sk-a-key-that-nobody-may-see"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
HI = {"model": "gpt-4.1", "input": "secret words"}
UNPAIRED = {**HI, "input": [{"type": "function_call_output", "call_id": "call_1", "output": "x"}]}


def ask(url: str, body: Any = None, key: str = KEY, **headers: str) -> tuple[int, Any]:
    sent = Request(url, None if body is None else json.dumps(body).encode(), headers)
    sent.add_header("authorization", f"Bearer {key}")
    sent.add_header("content-type", "application/json")
    try:
        with urlopen(sent, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


def make_api(**settings: Any) -> MockApi:
    return MockApi(fallback=lambda _: [message("Hello.")], **settings)


class Watched:
    """A mock whose requests are logged, counted and traced."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.exporter = InMemorySpanExporter()
        self.api = make_api(limits=Limits(exchanges=2))
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.metrics = Metrics(self.api)
        observe(self.api, [self.metrics.note, write_lines(self.lines.append, render_json), trace_requests(provider)])

    def rendered(self) -> str:
        answer = asyncio.run(self.metrics.answer())
        assert answer.status == 200
        assert isinstance(answer.body, bytes)
        return answer.body.decode()

    @property
    def logged(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.lines]

    @property
    def span(self) -> ReadableSpan:
        return self.exporter.get_finished_spans()[-1]

    @property
    def samples(self) -> dict[tuple[str, ...], float]:
        """Each sample by its name and its labels' values."""
        families = text_string_to_metric_families(self.rendered())
        return {
            (sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples
        }


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def url(watched: Watched) -> Iterator[str]:
    with serve_in_thread(watched.api) as server:
        yield f"{server.base_url}/responses"


class TestAnAnswer:
    def test_an_answer_is_logged_with_its_model_its_world_and_its_id(self, watched: Watched, url: str) -> None:
        status, said = ask(url, HI)
        response, [line] = json.loads(said), watched.logged
        assert status == 200
        assert {name: line[name] for name in ("method", "path", "operation", "dialect", "status", "rule", "model")} == {
            "method": "POST",
            "path": "/v1/responses",
            "operation": "POST /responses",
            "dialect": "openai",
            "status": 200,
            "rule": None,
            "model": "gpt-4.1",
        }
        assert line["request_id"].startswith("req_")
        assert line["world"].startswith("key-")
        assert 0 < line["duration_ms"] < 20_000
        attributes = dict(watched.span.attributes or {})
        assert watched.span.name == "chat gpt-4.1"
        assert attributes["gen_ai.operation.name"] == "chat"
        assert attributes["gen_ai.request.model"] == "gpt-4.1"
        assert attributes["gen_ai.response.id"] == response["id"]
        assert attributes["gen_ai.usage.input_tokens"] == response["usage"]["input_tokens"]
        assert attributes["gen_ai.usage.output_tokens"] == response["usage"]["output_tokens"]
        assert (attributes["http.request.method"], attributes["http.response.status_code"]) == ("POST", 200)
        assert "error.type" not in attributes
        assert watched.samples["harness_requests_total", "openai", "POST /responses", "200"] == 1
        assert watched.samples["harness_request_duration_seconds_count", "POST /responses"] == 1

    def test_a_streamed_answer_is_logged_with_its_response(self, watched: Watched, url: str) -> None:
        ask(url, {**HI, "stream": True})
        assert watched.logged[0]["stream"]
        assert str((watched.span.attributes or {})["gen_ai.response.id"]).startswith("resp_")
        assert watched.samples["harness_streams_total", "POST /responses"] == 1

    @pytest.mark.parametrize(
        ("path", "name", "route"), [("/models", "GET /models", "/models"), ("/nowhere", "GET", None)]
    )
    def test_a_span_is_named_after_its_operation(
        self, watched: Watched, url: str, path: str, name: str, route: str | None
    ) -> None:
        ask(url.replace("/responses", path))
        attributes = dict(watched.span.attributes or {})
        assert (watched.span.name, attributes["http.request.method"]) == (name, "GET")
        assert attributes.get("http.route") == route

    def test_a_request_without_a_model_is_logged_without_one(self, watched: Watched, url: str) -> None:
        ask(url, {"input": "hi"})
        assert watched.logged[0]["model"] is None
        assert "gen_ai.request.model" not in (watched.span.attributes or {})

    def test_a_refusal_is_logged_with_its_rule(self, watched: Watched, url: str) -> None:
        assert ask(url, UNPAIRED)[0] == 400
        rule = watched.logged[0]["rule"]
        assert rule
        assert watched.samples["harness_refusals_total", rule] == 1
        assert watched.samples["harness_refusals_unexpected",] == 1
        attributes = watched.span.attributes or {}
        assert (attributes["harness.rule"], attributes["error.type"]) == (rule, "invalid_request_error")
        assert not watched.span.status.is_ok

    def test_an_answer_outside_of_the_api_has_no_operation_of_its_own(self, watched: Watched, url: str) -> None:
        for number in range(3):
            ask(f"{url}/{number}/elsewhere/{KEY}")
        assert {line["operation"] for line in watched.logged} == {UNKNOWN}
        assert watched.samples["harness_requests_total", "openai", UNKNOWN, "404"] == 3

    def test_an_answer_over_a_websocket_each_event_is_logged(self, watched: Watched) -> None:
        session = watched.api.open_session(ReceivedRequest("GET", "/v1/responses", {"authorization": f"Bearer {KEY}"}))
        assert isinstance(session, SocketSession)
        session.receive(json.dumps({"type": "response.create", **HI}))
        [line] = watched.logged
        assert (line["method"], line["operation"], line["status"], line["model"]) == (
            "WS",
            "WS /responses",
            200,
            "gpt-4.1",
        )
        assert watched.span.name == "chat gpt-4.1"

    def test_an_answer_belongs_to_the_span_of_its_client(self, watched: Watched, url: str) -> None:
        ask(url, HI, traceparent=PARENT)
        assert watched.span.parent
        assert f"{watched.span.parent.trace_id:032x}" == PARENT[3:35]
        assert f"{watched.span.parent.span_id:016x}" == PARENT[36:52]

    def test_an_answer_has_no_key_and_no_body_anywhere(self, watched: Watched, url: str) -> None:
        ask(f"{url}?key={KEY}", HI)
        ask(url, {**HI, "model": KEY})
        ask(f"{url}/{KEY}")
        told = b"".join(watched.lines).decode() + watched.rendered()
        told += "".join(span.to_json() for span in watched.exporter.get_finished_spans())
        assert KEY not in told
        assert HI["input"] not in told

    def test_an_answer_that_is_no_object_or_no_json_is_logged(self, watched: Watched, url: str) -> None:
        for body in ([], {"model": 5}, '"model"'):
            assert ask(url, body)[0] == 400
        assert [line["model"] for line in watched.logged] == [None] * 3


class TestMetrics:
    def test_metrics_say_what_is_kept_dropped_and_left(self, watched: Watched, url: str) -> None:
        watched.api.open("sk-2").script(message("one"), message("two"))
        for _ in range(5):
            ask(url, HI)
        samples = watched.samples
        assert samples["harness_worlds",] == 2
        assert samples["harness_streams_open",] == 0
        assert samples["harness_turns_left",] == 2
        assert samples["harness_exchanges_kept",] + samples["harness_exchanges_dropped",] == 5
        assert samples["harness_exchanges_dropped",] > 0
        assert [value for name, value in samples.items() if name[0] == "harness_build_info"] == [1]

    def test_metrics_are_counted_only_if_asked_for(self, url: str) -> None:
        status, said = ask(url.replace("/v1/responses", "/_harness/metrics"))
        assert status == 400
        assert "responses-harness serve --metrics" in said


class TestHealth:
    def test_health_tells_version_settings_and_counts(self) -> None:
        with serve_in_thread(make_api(as_of="2026-03-01", dialect="azure")) as server:
            status, said = ask(server.base_url.replace("/v1", "/_harness/health"))
        told = json.loads(said)
        assert status == 200
        assert list(told) == ["status", "version", "uptime_seconds", "worlds", "requests", "dialect", "as_of", "store"]
        assert (told["status"], told["dialect"], told["as_of"], told["worlds"]) == ("ok", "azure", "2026-03-01", 0)
        assert told["uptime_seconds"] >= 0

    def test_health_needs_no_control_plane(self) -> None:
        app = App(make_api())
        assert asyncio.run(app._answer_probe({"method": "GET", "path": "/_harness/health"}))
        assert app._control_app is None


def test_a_websocket_on_another_path_is_logged_once(watched: Watched) -> None:
    watched.api.open_session(ReceivedRequest("GET", "/v1/models", {"authorization": f"Bearer {KEY}"}))
    assert [(line["method"], line["operation"]) for line in watched.logged] == [("GET", "GET /models")]


def test_a_log_that_nobody_reads_is_dropped(watched: Watched) -> None:
    def fail(_: bytes) -> None:
        raise BrokenPipeError

    api = make_api()
    observe(api, [write_lines(fail, render_json)])
    assert [
        api.handle(ReceivedRequest("GET", "/v1/models", {"authorization": "Bearer sk-1"})).status for _ in range(2)
    ] == [200] * 2


class TestRefusals:
    """A server without a log tells of what it refuses, and of nothing else."""

    def lines_of(self, *, reader: bool = True) -> list[bytes]:
        lines: list[bytes] = []
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        with suppress(BlockingIOError):
            while not reader:
                os.write(writing, b"x" * 65536)
        api = MockApi(prepare=lambda mock: mock.script(message("Hello."), rate_limit(), message("Again.")))
        observe(api, [write_refusals(lines.append, writing)], only_refused=True)
        head = {"authorization": f"Bearer {KEY}"}
        for body in (HI, {**HI, "temperature": 7}, HI, UNPAIRED, HI, HI):
            api.handle(ReceivedRequest("POST", "/v1/responses", head, raw=orjson.dumps(body)))
        api.handle(ReceivedRequest("POST", "/v1/responses", {"authorization": f"Bearer wrong-{KEY}"}, raw=b"{}"))
        os.close(reading)
        os.close(writing)
        return lines

    def test_refusals_are_a_line_each_that_a_person_reads(self) -> None:
        [number, unpaired, no_turn, unknown] = [line.decode() for line in self.lines_of()]
        assert number.startswith(
            "responses-harness: POST /v1/responses 400: Invalid 'temperature': decimal above maximum value."
        )
        assert number.endswith("(number_above_maximum)\n")
        assert unpaired.endswith("call_id call_1. (output_needs_call)\n")
        assert no_turn.startswith("responses-harness: POST /v1/responses 418: ")
        assert unknown.startswith("responses-harness: POST /v1/responses 401: Incorrect API key provided")
        assert KEY not in "".join([number, unpaired, no_turn, unknown])

    def test_refusals_do_not_wait_for_who_does_not_read(self) -> None:
        assert self.lines_of(reader=False) == []

    def test_refusals_are_among_all_lines_of_a_log_for_people(self) -> None:
        lines: list[bytes] = []
        api = make_api()
        observe(api, [write_lines(lines.append, render_text)])
        api.handle(ReceivedRequest("POST", "/v1/responses", {"authorization": f"Bearer {KEY}"}, raw=orjson.dumps(HI)))
        assert lines == [b"responses-harness: POST /v1/responses 200 gpt-4.1\n"]


def test_spans_need_packages_and_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(ConfigError, match=r'pip install .*\[otel\]"'):
        make_provider()


@pytest.mark.slow
def test_the_command_logs_counts_and_tells_its_health_off_loopback_without_a_token() -> None:
    with serving("--host", "0.0.0.0", "--control-token", "t", "--log", "json", "--metrics") as running:
        root = f"http://127.0.0.1:{running.port}"
        assert ask(f"{root}/_harness/health")[0] == 200
        assert ask(f"{root}/_harness/metrics")[0] == 401
        assert ask(f"{root}/v1/responses", HI)[0] == 200
        status, said = ask(f"{root}/_harness/metrics", **{"x-harness-token": "t"})
        _, code, errors = running.end(2)
    assert (status, code) == (200, 0)
    assert 'harness_requests_total{dialect="openai",operation="POST /responses",status="200"} 1.0' in said
    assert [json.loads(line)["status"] for line in errors.splitlines() if line.startswith("{")] == [200]
    assert KEY not in errors


@pytest.mark.slow
def test_a_stream_is_counted_while_it_is_on_its_way() -> None:
    with serving("--metrics", "--pace", "ttft=500ms") as running:
        metrics = f"http://127.0.0.1:{running.port}/_harness/metrics"
        wire = HTTPConnection("127.0.0.1", running.port, timeout=20)
        head = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
        for _ in range(4):
            wire.request("POST", "/v1/responses", json.dumps({**HI, "stream": True}), head)
            assert wait_until(lambda: "harness_streams_open 1.0" in ask(metrics)[1], seconds=5)
            assert b"response.completed" in wire.getresponse().read()
            assert wait_until(lambda: "harness_streams_open 0.0" in ask(metrics)[1], seconds=5)
        wire.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [(("--log", "xml"), "--log xml: pass json or text."), (("--metrics", "--", "true"), "a COMMAND ends")],
)
def test_options_that_do_not_fit_are_refused(options: tuple[str, ...], said: str) -> None:

    done = run_cli("serve", *options)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
