"""`mock.route`: other parts of the provider's API, which a test answers itself and nobody judges."""

import asyncio
import base64
import inspect
import json
import re
import struct
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types import CreateEmbeddingResponse

from harness.analysis.loss import losses_of
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.recording.replay import recorded
from harness.cassettes.scrubbing.mask_interactions import scrub_interactions
from harness.core.errors import ConfigError, HarnessError
from harness.core.exchange import Answer, Json, ReceivedRequest, Request
from harness.explain.find_causes import find_suspects
from harness.explain.render import render_verdict
from harness.faults import hang_up, http_error, rate_limit
from harness.items import function_call
from harness.report.fill_case import fill_case
from harness.report.report import Report, ReportCase, count_unknown_models, summary_line
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from harness.world.scripting.document import parse_sent_script
from harness.world.scripting.load import load_script_file
from tests.support.wired import wire

EMBEDDINGS: Json = {
    "object": "list",
    "model": "text-embedding-3-small",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.5, -0.25]}],
    "usage": {"prompt_tokens": 1, "total_tokens": 1},
}
ASKED = {"model": "text-embedding-3-small", "input": "Paris"}


def encoded(request: Request) -> Json:
    """As the API answers the SDK, which asks for base64 unless it is told otherwise."""
    data = [
        {"object": "embedding", "index": index, "embedding": base64.b64encode(struct.pack("<2f", 0.5, -0.25)).decode()}
        for index, _ in enumerate(request.body["input"])
    ]
    assert request.body["encoding_format"] == "base64"
    return {**EMBEDDINGS, "data": data}


def ask(api: MockApi, path: str = "/v1/embeddings", method: str = "POST", key: str = "sk-a", **sent: Any) -> Answer:
    kind = sent.get("kind", "application/json")
    headers = {"authorization": f"Bearer {key}", "api-key": key, "content-type": kind}
    return api.handle(ReceivedRequest(method, path, headers, raw=sent.get("raw", b'{"input":"x"}')))


def routed(answer: Any, **head: Any) -> MockApi:
    api = MockApi()
    api.open("sk-a").route("POST", "/embeddings", answer, **head)
    return api


class TestWithTheSdk:
    def test_embeddings_of_numbers(self, mock: Mock, client: openai.OpenAI) -> None:
        mock.route("POST", "/embeddings", EMBEDDINGS)
        for _ in range(2):
            assert client.embeddings.create(**ASKED).data[0].embedding == [0.5, -0.25]
        routed = [(exchange.status, exchange.is_routed, exchange.request.path) for exchange in mock.exchanges]
        assert routed == [(200, True, "/embeddings")] * 2

    def test_embeddings_in_base64(self, mock: Mock, client: openai.OpenAI) -> None:
        mock.route("POST", "/embeddings", encoded)
        made = client.embeddings.create(model="text-embedding-3-small", input=["a", "b"])
        assert [entry.embedding for entry in made.data] == [[0.5, -0.25]] * 2

    def test_embeddings_asked_for_asynchronously(self, mock: Mock) -> None:
        mock.route("POST", "/embeddings", CreateEmbeddingResponse.model_validate(EMBEDDINGS))

        async def create() -> list[float]:
            async with openai.AsyncOpenAI(base_url=mock.base_url, api_key=mock.api_key) as client:
                return (await client.embeddings.create(**ASKED)).data[0].embedding

        assert asyncio.run(create()) == [0.5, -0.25]

    def test_with_the_sdk_of_azure(self, mock: Mock) -> None:
        mock.route("POST", "/embeddings", EMBEDDINGS)
        endpoint, key = mock.azure_endpoint, mock.api_key
        old = openai.AzureOpenAI(azure_endpoint=endpoint, api_key=key, api_version="2025-04-01-preview")
        new = openai.OpenAI(base_url=f"{endpoint}/openai/v1", api_key=key)
        foundry = openai.OpenAI(base_url=f"{mock.project_endpoint}/openai/v1", api_key=key)
        for client in (old, new, foundry):
            assert client.embeddings.create(**ASKED).data[0].embedding == [0.5, -0.25]
        assert [exchange.request.dialect for exchange in mock.exchanges] == ["azure", "azure", "foundry"]

    def test_bytes_and_texts(self, mock: Mock, client: openai.OpenAI) -> None:
        mock.route("POST", "/audio/speech", b"\x00\xff", headers={"Content-Type": "audio/mpeg"})
        mock.route("POST", "/audio/transcriptions", lambda request: f"{request.body['model']}")
        with client.audio.speech.with_streaming_response.create(model="tts-1", voice="alloy", input="Hi") as spoken:
            assert (spoken.headers["content-type"], b"".join(spoken.iter_bytes())) == ("audio/mpeg", b"\x00\xff")
        heard = client.audio.transcriptions.create(model="whisper-1", file=b"\x00\xff", response_format="text")
        assert str(heard).strip() == "whisper-1"

    def test_a_stream(self, mock: Mock, client: openai.OpenAI) -> None:
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": []}
        stream = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
        mock.route("POST", "/chat/completions", stream, headers={"content-type": "text/event-stream"})
        chunks = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True)
        assert [chunk.id for chunk in chunks] == ["c"]

    def test_errors_and_retries(self, mock: Mock, client: openai.OpenAI) -> None:
        mock.route("POST", "/embeddings", [http_error(429, "Later.", headers={"retry-after-ms": "1"}), EMBEDDINGS])
        assert client.with_options(max_retries=1).embeddings.create(**ASKED).data
        assert [exchange.status for exchange in mock.exchanges] == [429, 200]
        assert mock.losses == []


class TestAnAnswer:
    def test_an_answer_has_its_status_and_headers(self) -> None:
        answer = ask(routed({"id": "b"}, status=202, headers={"X-Request-ID": "mine"}))
        assert (answer.status, answer.headers["x-request-id"], answer.body) == (202, "mine", {"id": "b"})
        own = ask(routed(lambda request: Answer(201, {"a": 1}, {"etag": "1"}), headers={"etag": "0"}))
        assert (own.status, own.headers["etag"], own.body) == (201, "1", {"a": 1})

    def test_an_answer_of_a_list_answers_one_request_each(self) -> None:
        api = routed([{"a": 1}, lambda request: [1, 2]])
        answers = [ask(api), ask(api), ask(api)]
        assert [answer.body for answer in answers[:2]] == [{"a": 1}, [1, 2]]
        assert answers[2].status == 418
        assert "route('POST', '/embeddings'): all 2 answers are used. Add one" in answers[2].body["error"]["message"]
        assert len(api.worlds["sk-a"].problems) == 1

    def test_an_answer_may_be_none_at_all(self) -> None:
        assert ask(routed(hang_up())).status == 0

    def test_an_answer_of_the_newest_route_goes_before(self) -> None:
        api = routed({"a": 1})
        api.open("sk-a").route("POST", "/embeddings", {"a": 2})
        assert ask(api).body == {"a": 2}

    def test_an_answer_is_one_of_its_key_alone(self) -> None:
        api = routed({"a": 1})
        assert (ask(api, key="sk-b").status, ask(api, key="other").status) == (404, 401)

    def test_an_answer_is_for_one_method_and_path_below_the_base_url(self) -> None:
        api = routed({"a": 1})
        assert ask(api, method="GET").status == 404
        for path in ("/v1/embeddings/x", "/v1/embedding", "/embeddings/x"):
            assert ask(api, path).status == 404

    def test_an_answer_of_a_path_with_parameters(self) -> None:
        api = MockApi()
        api.open("sk-a").route("GET", "/batches/{batch_id}/out.put", lambda request: dict(request.params))
        assert ask(api, "/v1/batches/b_1/out.put", "GET").body == {"batch_id": "b_1"}
        assert ask(api, "/v1/batches/b_1/outxput", "GET").status == 404

    @pytest.mark.parametrize(
        ("raw", "kind", "body"),
        [
            (b"{", "application/json", None),
            (b'{"a":1}', "", {"a": 1}),
            (b"", "application/json", None),
            (b"\xff\x00", "application/octet-stream", None),
            (b"no form", "multipart/form-data; boundary=x", {}),
            (b"no form", "multipart/form-data", {}),
            (b"[" * 3000, "application/json", None),
        ],
    )
    def test_an_answer_is_given_whatever_was_sent(self, raw: bytes, kind: str, body: Any) -> None:
        seen: list[Any] = []
        api = routed(lambda request: seen.append(request.body) or {})
        assert ask(api, raw=raw, kind=kind).status == 200
        assert seen == [body]

    def test_an_answer_that_looks_like_one_of_the_model_is_not_judged(self) -> None:
        call = wire(function_call("f", {}))
        api = routed({"object": "response", "id": "resp_1", "output": [call], "data": 5})
        ask(api)
        mock = api.open("sk-a")
        assert (mock.calls, list(mock.replies), mock.losses, str(mock.flow) != "") == ([], [], [], True)


def raises(request: Request) -> Json:
    return {"a": request.body["no"]}


class TestWhatNoRequestTook:
    def test_unused_answers_of_a_list_are_reported_like_turns(self) -> None:
        api = routed([{"a": 1}, Answer(500, "down"), http_error(429, "Later."), raises])
        ask(api)
        world = api.worlds["sk-a"]
        place = f"test_routed_requests.py:{raises.__code__.co_firstlineno}"
        assert render_verdict(world) == (
            "3 answers of mock.route were never used.\n"
            "  where   route('POST', '/embeddings'): 500 'down'\n"
            "          route('POST', '/embeddings'): refusal\n"
            f"          route('POST', '/embeddings'): the function raises ({place})\n"
            "  fix     Remove the turns that are not needed, or find out why no request came for them.\n"
            '  allow   @pytest.mark.harness(unused="allow")\n'
            "  manual  responses-harness manual turns-are-left"
        )
        assert render_verdict(world, unused=False) == ""
        case = fill_case(ReportCase("a", "a.py", 1, "failed", 0.1), world, [])
        assert case.found[0].message == "route('POST', '/embeddings'): 500 'down'"

    def test_what_no_request_took_is_counted_beside_the_turns(self) -> None:
        api = routed([{"a": 1}, {"a": 2}])
        api.open("sk-a").script("Hi.")
        ask(api)
        told = "1 turn of the script and 1 answer of mock.route were never used.\n"
        assert render_verdict(api.worlds["sk-a"]).startswith(told)

    def test_what_no_request_took_of_an_answer_for_every_request_is_nothing(self) -> None:
        assert render_verdict(routed({"a": 1}).worlds["sk-a"]) == ""


class TestAFunction:
    def test_a_function_may_change_its_request(self) -> None:
        api = routed(lambda request: request.body.clear() or {})
        ask(api)
        assert api.open("sk-a").exchanges[0].request.body == {"input": "x"}

    def test_a_function_that_gives_up_its_test_has_raised_too(self) -> None:
        api = routed(lambda _: pytest.fail("no such text"))
        assert "its function raised Failed: no such text" in ask(api).body["error"]["message"]

    def test_a_function_that_raises_is_reported_with_its_line(self) -> None:
        api = routed(raises)
        answer = ask(api)
        said = answer.body["error"]["message"]
        assert (answer.status, answer.headers["x-should-retry"]) == (418, "false")
        assert said.startswith("route('POST', '/embeddings'): its function raised KeyError: 'no', at ")
        assert f"at test_routed_requests.py:{raises.__code__.co_firstlineno + 1}, in raises: return" in said
        assert [str(problem) for _, problem in api.worlds["sk-a"].problems] == [said]

    @pytest.mark.parametrize(
        "made",
        [None, 5, pytest.param(object(), id="an object"), {"a": {1}}, "\ud800", Answer(99, {}), rate_limit()],
        ids=str,
    )
    def test_a_function_that_returns_no_answer_is_reported(self, made: Any) -> None:
        answer = ask(routed(lambda request: made))
        assert (answer.status, answer.body["error"]["message"][:30]) == (418, "route('POST', '/embeddings'): ")

    def test_a_function_that_returns_a_coroutine_is_reported_and_the_coroutine_is_closed(self) -> None:
        made = asyncio.sleep(0)
        assert "is async. Pass a plain function." in ask(routed(lambda request: made)).body["error"]["message"]
        assert inspect.getcoroutinestate(made) == inspect.CORO_CLOSED

    def test_a_function_may_be_a_generator_of_bytes(self) -> None:
        def speak(request: Request) -> Any:
            yield b"a"
            yield b"b"

        assert ask(routed(speak)).body == b"ab"


@pytest.mark.parametrize(
    ("method", "path", "answer", "says"),
    [
        ("PSOT", "/embeddings", {}, "no method 'PSOT'. Did you mean 'POST'?"),
        ("post", "/embeddings", {}, "no method 'post'. Did you mean 'POST'?"),
        (5, "/embeddings", {}, "no method 5."),
        ("POST", "embeddings", {}, "pass the path below the base URL, with a slash"),
        ("POST", "https://example.org/v1/embeddings", {}, "pass the path below the base URL, with a slash"),
        ("POST", "/embeddings?a=b", {}, "without a query"),
        ("POST", None, {}, "pass the path below the base URL"),
        ("POST", "/v1/embeddings", {}, "'/embeddings' for all of the provider's forms"),
        ("POST", "/openai/deployments/d/embeddings", {}, "'/embeddings' for all of the provider's forms"),
        ("POST", "/_harness/script", {}, "pass the path below the base URL"),
        ("POST", "/a/{b}/{b}", {}, "path parameters must have different names"),
        ("POST", "/a/{b", {}, "path parameters must have different names"),
        ("POST", "/responses", {}, "POST /responses is mocked. Script model answers with mock.script(…)"),
        ("GET", "/responses/resp_1", {}, "GET /responses/{response_id} is mocked."),
        ("PATCH", "/responses", {}, "/responses is mocked, and PATCH is refused there."),
        ("POST", "/embeddings", None, "None is not an answer. Pass a dict, a text, bytes,"),
        ("POST", "/embeddings", 5, "5 is not an answer."),
        ("POST", "/embeddings", [], "the list of answers is empty."),
        ("POST", "/embeddings", [{}, 5], "5 is not an answer."),
        ("POST", "/embeddings", {"a": {1}}, "Type is not JSON serializable: set. Pass plain JSON values"),
        ("POST", "/embeddings", "\ud800", "Pass plain JSON values; strings must be valid Unicode."),
        ("POST", "/embeddings", rate_limit(), "this error is reserved for the mock. Use http_error(429, '…')."),
        ("POST", "/embeddings", dict, "is a class or async. Pass a plain function"),
    ],
    ids=str,
)
def test_what_cannot_be_routed_is_reported_with_the_reason(method: Any, path: Any, answer: Any, says: str) -> None:
    with pytest.raises(HarnessError, match=rf"^route\({re.escape(f'{method!r}, {path!r}')}\): ") as told:
        Mock().route(method, path, answer)
    assert says in str(told.value)


@pytest.mark.parametrize(
    "head",
    [
        *({"status": status} for status in (100, "200", True)),
        *({"headers": headers} for headers in (5, {"a": 1}, {"a b": "c"}, {"content-length": "1"}, {"a": "é…"})),
        {"headers": {"a": "b\r\nc: d"}},
    ],
    ids=str,
)
def test_a_head_that_cannot_be_sent_is_refused(head: Json) -> None:
    with pytest.raises(ConfigError, match=r"^route\('POST', '/embeddings'\): (status|headers) is .* (Pass|Use) "):
        Mock().route("POST", "/embeddings", {}, **head)


DOCUMENT: Json = {
    "route": {
        "POST /embeddings": {"json": EMBEDDINGS},
        "POST /audio/speech": {"base64": "AP8=", "headers": {"content-type": "audio/mpeg"}},
        "GET /batches/{id}": [{"status": 500, "text": "down"}, {"json": {"id": "b"}}],
    }
}


def test_a_document_routes_as_well(tmp_path: Path) -> None:
    api = MockApi()
    (tmp_path / "script.yaml").write_text(json.dumps(DOCUMENT))
    load_script_file(tmp_path / "script.yaml").apply(api.open("sk-a"))
    parse_sent_script(DOCUMENT).apply(api.open("sk-b"))
    for key in ("sk-a", "sk-b"):
        assert ask(api, key=key).body == EMBEDDINGS
        assert ask(api, "/v1/audio/speech", key=key).body == b"\x00\xff"
        answers = [ask(api, "/v1/batches/b", "GET", key=key) for _ in range(3)]
        assert [(answer.status, answer.body) for answer in answers[:2]] == [(500, b"down"), (200, {"id": "b"})]
        assert answers[2].status == 418


@pytest.mark.parametrize(
    ("route", "at", "says"),
    [
        (5, "route", "route is 5. Use an object"),
        ({"POST /embeddings": 5}, "route.POST /embeddings", "5 is not an object. Its members"),
        (
            {"POST /embeddings": {}},
            "route.POST /embeddings",
            "an answer has one of json, text, base64; this one has none",
        ),
        ({"POST /e": {"json": {}, "text": ""}}, "route.POST /e", "this one has json, text"),
        ({"POST /e": {"jsn": {}}}, "route.POST /e.jsn", "Did you mean 'json'?"),
        ({"POST /e": {"json": 5}}, "route.POST /e.json", "json is 5. Pass an object or a list"),
        ({"POST /e": {"base64": "…"}}, "route.POST /e.base64", "Use base64"),
        ({"POST /e": [{"json": {}}, {"text": 5}]}, "route.POST /e[1].text", "text is 5. Pass a text"),
        ({"POST /e": {"json": {}, "status": 99}}, "route", "status is 99. Use 200 to 599"),
        ({"POST /e": []}, "route", "the list of answers is empty"),
    ],
    ids=str,
)
def test_a_mistake_in_a_document_is_reported_with_its_place(route: Any, at: str, says: str) -> None:
    with pytest.raises(HarnessError) as told:
        parse_sent_script({"route": route})
    assert (told.value.location, says in str(told.value)) == (at, True), str(told.value)  # type: ignore[attr-defined]


def test_a_path_that_is_not_routed_is_refused_with_the_way_to_route_it() -> None:
    answer = ask(routed({"a": 1}), "/v1/moderations")
    assert (answer.status, answer.rule, answer.body["error"]["code"]) == (404, "unknown_url", "not_mocked")
    assert "Answer it with mock.route(…), in a script file `route:`" in answer.body["error"]["message"]


def test_the_report_counts_what_was_routed_and_finds_nothing_in_it() -> None:
    api = routed([http_error(500, "Down."), {"id": "x"}])
    answers = [ask(api, raw=b'{"model":"mine"}') for _ in range(2)]
    world = api.worlds["sk-a"]
    case = fill_case(ReportCase("a", "a.py", 1, "passed", 0.1), world, losses_of(world.exchanges))
    report = Report([case])
    assert [answer.status for answer in answers] == [500, 200]
    assert (case.found, report.totals.routed, count_unknown_models(world)) == ([], 2, {})
    told = "contract: 2 exchanges (2 routed, not judged), 0 refusals expected, 0 losses"
    assert summary_line(report.totals) == told
    assert report.summary_json()["totals"]["routed"] == 2
    assert find_suspects(world) == []


CASSETTE = """
interactions:
- request: {method: POST, uri: "https://api.openai.com/v1/embeddings", body: '{"input":"a"}', headers: {}}
  response:
    status: {code: 200, message: OK}
    headers: {content-type: [application/json], content-encoding: [gzip]}
    body: {string: '{"data":[1]}'}
- request: {method: POST, uri: "https://api.openai.com/v1/embeddings", body: '{"input":"b"}', headers: {}}
  response:
    status: {code: 429, message: Slow}
    headers: {content-type: [application/json], retry-after: ["1"]}
    body: {string: '{"error":{}}'}
version: 1
"""


def test_a_cassette_answers_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "embeddings.yaml").write_text(CASSETTE)
    api = routed(recorded(tmp_path / "embeddings.yaml"))
    answers = [ask(api, raw=raw) for raw in (b'{"input": "b"}', b'{"input": "a"}', b'{"input": "a"}', b'{"input":"c"}')]
    assert [answer.status for answer in answers] == [429, 200, 200, 418]
    assert json.loads(answers[1].body) == {"data": [1]}
    assert (answers[0].headers["retry-after"], "content-encoding" in answers[1].headers) == ("1", False)
    said = answers[3].body["error"]["message"]
    assert "embeddings.yaml: not recorded: the closest recording, POST /embeddings, differs:" in said
    assert '-  "input": "a"\n+  "input": "c"' in said
    assert ask(api, "/openai/deployments/d/embeddings", raw=b'{"input": "a"}').status == 200


def test_a_cassette_that_was_scrubbed_answers_what_it_was_recorded_of(tmp_path: Path) -> None:
    masked = scrub_interactions([Interaction("POST", "/v1/embeddings", body=b'{"input":"password=hunter2Xy7Q"}')])
    recording = CASSETTE.replace("https://api.openai.com/v1/", "https://proxy.example/llm/v1/")
    (tmp_path / "embeddings.yaml").write_text(recording.replace('{"input":"a"}', masked[0].body.decode()))
    api = routed(recorded(tmp_path / "embeddings.yaml"))
    assert ask(api, raw=b'{"input": "password=hunter2Xy7Q"}').status == 200


def test_a_cassette_answers_a_form_whatever_its_boundary(tmp_path: Path) -> None:
    form = (
        'body: "--b1\\r\\nContent-Disposition: form-data; name=\\"model\\"\\r\\n\\r\\nwhisper-1\\r\\n--b1--\\r\\n", '
        "headers: {content-type: [multipart/form-data; boundary=b1]}"
    )
    (tmp_path / "audio.yaml").write_text(CASSETTE.replace("""body: '{"input":"a"}', headers: {}""", form))
    api = routed(recorded(tmp_path / "audio.yaml"))
    sent = b'--b2\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--b2--\r\n'
    assert ask(api, raw=sent, kind="multipart/form-data; boundary=b2").status == 200


def test_what_is_no_cassette_is_reported(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="no such cassette"):
        recorded(tmp_path / "none.yaml")
