"""The whole pipeline without a network: key, path, contract, operation, journal, and what only our user can fix."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest

from harness.api import operations
from harness.contract.rule import RULES, assumed, rule
from harness.core.account import Organization
from harness.core.errors import ApiError, HarnessError, ScriptError
from harness.core.exchange import Answer, ReceivedRequest, Request
from harness.core.limits import Limits
from harness.items import message
from harness.server.answering import teapot_answer
from harness.server.keyed_worlds import bearer_key
from harness.server.mock_api import MockApi, key_at
from harness.world.api_call import ApiCall

AUTH = {"authorization": "Bearer sk-mock"}
GOOD = {"model": "gpt-4.1", "input": "hi"}


def post(mock: MockApi, body: Any = GOOD, headers: dict[str, str] = AUTH, path: str = "/v1/responses") -> Answer:
    return mock.handle(ReceivedRequest("POST", path, headers, raw=orjson.dumps(body)))


def scripted() -> MockApi:
    return MockApi(fallback=lambda request: [message("ok")])


@contextmanager
def added(method: str, template: str, check: Any) -> Iterator[None]:
    """Provide an endpoint and a rule on it, for the time of a block."""

    def handler(request: Request, world: Any) -> Answer:
        """Nothing."""
        return Answer(200, {})

    operations.operation(method, template)(handler)
    rule(ApiError(400, "{value}"), assumed("a test"), on=f"{method} {template}", rejects={})(check)
    yield
    del RULES[check.__name__], operations.OPERATIONS[f"{method} {template}"], operations.PATHS[template]


class TestAKey:
    @pytest.mark.parametrize(
        ("header", "key"),
        [
            ("Bearer sk-1", "sk-1"),
            ("bearer  sk-1 ", "sk-1"),
            ("Bearer a b", "a b"),
            ("Bearer ", None),
            ("Bearer", None),
            ("Basic sk-1", None),
            ("", None),
        ],
    )
    def test_a_key_is_read_from_the_authorization(self, header: str, key: str | None) -> None:
        assert bearer_key({"authorization": header}) == key

    def test_a_key_has_a_world_of_its_own(self) -> None:
        mock = scripted()
        id = post(mock).body["id"]
        others = {"authorization": "Bearer sk-other"}
        assert mock.handle(ReceivedRequest("GET", f"/v1/responses/{id}", AUTH)).status == 200
        assert mock.handle(ReceivedRequest("GET", f"/v1/responses/{id}", others)).status == 404
        assert list(mock.worlds) == ["sk-mock", "sk-other"]

    def test_a_key_opens_its_world_once(self) -> None:
        made: list[str] = []
        mock = MockApi(prepare=lambda mock: made.append(mock.world.name), organization=Organization(zdr=True))
        assert mock.open("sk-1", "a name", "http://x/v1").world is mock.open("sk-1").world
        assert made == ["a name"]
        assert (mock.open("sk-1").base_url, mock.open("sk-1").api_key, mock.open("sk-2").world.name) == (
            "http://x/v1",
            "sk-1",
            "sk-2",
        )
        assert mock.open("sk-1").world.account.zdr

    def test_a_key_is_forgotten_when_it_is_closed(self) -> None:
        mock = scripted()
        post(mock)
        mock.close("sk-mock")
        mock.close("sk-mock")
        assert mock.worlds == {}

    def test_a_key_that_was_opened_need_not_begin_with_sk(self) -> None:
        mock = scripted()
        mock.open("any key")
        assert post(mock, headers={"authorization": "Bearer any key"}).status == 200

    def test_a_key_that_is_unknown_leaves_no_world(self) -> None:
        mock = scripted()
        answer = post(mock, headers={"authorization": "Bearer nobody"})
        ids = [
            answer.headers["x-request-id"],
            post(mock, headers={"authorization": "Bearer no"}).headers["x-request-id"],
        ]
        assert (answer.status, ids, mock.worlds) == (401, [f"req_{number:032}" for number in (1, 2)], {})

    def test_a_key_has_aliases_until_it_is_closed(self) -> None:
        mock = MockApi(keys=())
        world = mock.open("sk-mock").world
        world.script.add([message("hi")])
        mock.add_alias("own key", "sk-mock")
        assert post(mock, headers={"authorization": "Bearer own key"}).status == 200
        assert post(mock, headers={"api-key": "own key"}, path="/openai/v1/responses").status == 418
        assert len(world.exchanges) == 2
        mock.close("sk-mock")
        assert post(mock, headers={"authorization": "Bearer own key"}).status == 401

    def test_a_key_that_is_reserved_is_refused_with_its_text_unless_it_is_an_alias(self) -> None:
        mock = MockApi(keys=(), reserved={"sk-run": "no test runs."}, fallback=lambda _: [message("hi")])
        headers = {"authorization": "Bearer sk-run"}
        before = post(mock, headers=headers)
        assert (before.status, before.body["error"]["message"]) == (418, "POST /responses: no test runs.")
        mock.open("sk-mock")
        mock.add_alias("sk-run", "sk-mock")
        assert post(mock, headers=headers).status == 200
        mock.close("sk-mock")
        assert post(mock, headers=headers).status == 418

    def test_a_key_without_a_world_leaves_its_requests_as_strays(self) -> None:
        mock = MockApi(keys=(), reserved={"sk-run": "no test runs."})
        for key in ("sk-other", "sk-run"):
            post(mock, headers={"authorization": f"Bearer {key}"})
        assert [(stray.request.path, stray.answer.status) for _, stray in mock.strays.kept] == [
            ("/responses", 401),
            ("/responses", 418),
        ]


class TestAnAnswer:
    def test_an_answer_carries_the_headers_of_the_api(self) -> None:
        headers = post(scripted()).headers
        assert headers["content-type"] == "application/json"
        assert headers["openai-version"] == "2020-10-01"
        assert headers["x-request-id"].startswith("req_")
        assert headers["openai-processing-ms"].isdecimal()

    def test_an_answer_is_a_stream_when_asked_for(self) -> None:
        answer = post(scripted(), {**GOOD, "stream": True})
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert answer.events is not None
        assert [answer.events[0]["type"], answer.events[-1]["type"]] == ["response.created", "response.completed"]

    def test_an_answer_is_the_same_for_the_same_requests(self) -> None:
        assert post(scripted()) == post(scripted())

    def test_an_answer_of_a_refusal_names_the_rule(self) -> None:
        answer = post(scripted(), {**GOOD, "seed": 1})
        assert (answer.status, answer.rule) == (400, "unknown_parameter")
        assert list(answer.body["error"]) == ["message", "type", "param", "code"]

    def test_an_answer_is_written_down_with_its_request(self) -> None:
        mock = scripted()
        mock.handle(ReceivedRequest("GET", "/v1/responses/resp_1", AUTH, {"starting_after": "3", "include": ["x"]}))
        post(mock, path="/v1/nowhere")
        one, other = mock.worlds["sk-mock"].exchanges
        assert (one.request.operation, one.request.params) == (
            "GET /responses/{response_id}",
            {"response_id": "resp_1"},
        )
        assert one.request.query == {"starting_after": 3, "include": ["x"]}
        assert (other.number, other.request.operation, other.request.path) == (2, "unknown URL", "/nowhere")

    def test_an_answer_is_kept_for_a_while_where_the_journal_is_bounded(self) -> None:
        mock = MockApi(fallback=lambda request: [message("ok")], limits=Limits(exchanges=2))
        for _ in range(9):
            post(mock)
        exchanges = mock.worlds["sk-mock"].exchanges
        assert [exchange.number for exchange in exchanges] == [8, 9]


class TestWhatOnlyTheUserCanFix:
    def test_what_only_the_user_can_fix_is_a_teapot_that_no_client_retries(self) -> None:
        answer = teapot_answer(HarnessError("do this"))
        assert (answer.status, answer.headers) == (418, {"x-should-retry": "false"})
        assert answer.body == {
            "error": {"message": "do this", "type": "harness_error", "param": None, "code": "HarnessError"}
        }

    def test_what_only_the_user_can_fix_is_a_request_without_a_turn(self) -> None:
        mock = MockApi()
        answer = post(mock)
        assert (answer.status, answer.body["error"]["code"]) == (418, "NoTurn")
        ((request, problem),) = mock.worlds["sk-mock"].problems
        assert request.body == GOOD
        assert str(problem) == answer.body["error"]["message"]
        assert mock.worlds["sk-mock"].exchanges[0].status == 418

    def test_what_only_the_user_can_fix_is_a_turn_the_api_could_not_have_given(self) -> None:
        broken = message("hi")
        broken.members["content"] = "hi"
        wanted = r"^script: message is not valid output of the API: Invalid type for 'content'"
        with pytest.raises(ScriptError, match=wanted):
            MockApi().open("sk-mock").script(broken)

    def test_what_only_the_user_can_fix_is_a_function_that_says_what_the_api_could_not(self) -> None:
        mock = MockApi()
        broken = message("hi")
        broken.members["content"] = "hi"
        mock.open("sk-mock").script(lambda _: broken)
        said = post(mock).body["error"]
        assert said["code"] == "ScriptError"
        assert "Invalid type for 'content'" in said["message"]

    def test_what_only_the_user_can_fix_is_a_fallback_that_raises(self) -> None:
        def fallback(call: ApiCall) -> list[Any]:
            raise LookupError("nothing left to say")

        mock = MockApi(fallback=fallback)
        said = post(mock).body["error"]["message"]
        assert said.startswith("POST /responses: fallback (")
        assert said.endswith("raised LookupError: nothing left to say")
        assert "test_mock_api.py:" in said
        assert mock.worlds["sk-mock"].problems[0][1].what == said

    @pytest.mark.parametrize(("headers", "noted"), [(AUTH, 1), ({}, 0)])
    def test_what_only_the_user_can_fix_is_a_rule_of_theirs_that_raises(
        self, headers: dict[str, str], noted: int
    ) -> None:
        def clumsy(request: Request) -> Iterator[dict[str, Any]]:
            """Yield a rule that trips over a header it did not expect to be absent."""
            yield {"value": request.headers["x-value"]}

        with added("POST", "/test_mock", clumsy):
            mock = MockApi()
            answer = mock.handle(ReceivedRequest("POST", "/v1/test_mock", headers))
        if headers:
            assert answer.status == 418
            assert answer.body["error"]["message"].endswith("raised KeyError: 'x-value'")
        else:
            assert answer.status == 401
        assert sum(len(world.problems) for world in mock.worlds.values()) == noted


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("POST /v1/chat/completions", "chat completions"),
        ("POST /v1/embeddings", "embeddings"),
        ("POST /v1/images/generations", "images"),
        ("POST /v1/audio/speech", "speech"),
        ("GET /v1/fine_tuning/jobs", "fine-tuning jobs"),
        ("POST /v1/evals", "evals"),
        ("POST /v1/realtime/client_secrets", "realtime sessions"),
        ("GET /v1/batches", "batches"),
        ("POST /v1/moderations", "moderations"),
    ],
)
def test_another_api_of_the_provider_is_named(call: str, name: str) -> None:
    mock = MockApi(fallback=lambda request: [message("ok")])
    answer = mock.handle(ReceivedRequest(*call.split(), {"authorization": "Bearer sk-a"}, raw=b"{}"))
    error = answer.body["error"]
    assert (answer.status, answer.rule, error["code"]) == (404, "unknown_url", "not_mocked")
    assert error["message"].startswith(f"{call} is not part of this mock: {name} ")


def test_an_unknown_path_is_refused_in_the_words_of_the_api() -> None:
    mock = MockApi(fallback=lambda request: [message("ok")])
    answer = mock.handle(ReceivedRequest("POST", "/v1/chats", {"authorization": "Bearer sk-a"}, raw=b"{}"))
    assert answer.body["error"]["message"] == "Invalid URL (POST /v1/chats)"


@pytest.mark.parametrize(
    ("path", "headers", "found"),
    [
        ("/_harness/turns", {"api-key": "k"}, ("k", "azure")),
        ("/_harness/turns", AUTH, ("sk-mock", "openai")),
        ("/openai/v1/responses", {"api-key": "k"}, ("k", "azure")),
        ("/v1/responses", {"api-key": "k"}, (None, "openai")),
    ],
)
def test_a_key_is_where_its_dialect_has_it(path: str, headers: dict[str, str], found: tuple[str | None, str]) -> None:
    assert key_at(path, headers, {}, None) == found
