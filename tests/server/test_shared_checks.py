"""What is decided once for requests that came before changes no answer: neither to the same bytes nor to another input."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from harness.answers.encode import encode_body
from harness.api.http.dialects import ApiPath
from harness.contract.check import Checked, check
from harness.contract.rule import RULES, Case, matches_operation
from harness.contract.rules.example_requests import PROJECT_PATH
from harness.core.exchange import EMPTY_MAPPING, Answer, Json, ReceivedRequest, Request
from harness.core.limits import Limits
from harness.ending import failed, incomplete
from harness.endpoints.request import read_request
from harness.faults import cut, hang_up, rate_limit, server_error
from harness.items import function_call, message, reasoning, web_search_call
from harness.report.judge_world import judge_world
from harness.server import shared_checks
from harness.server.mock_api import MockApi
from harness.server.shared_checks import Check, Prepared, SharedChecks
from harness.server.websocket.session import SocketSession
from harness.verify.examples import EXAMPLE_KEY, OK_TURN, CasePlayer
from harness.world.api_call import ApiCall
from harness.world.mock import Mock
from tests.support.slow import slow_except, slow_except_every

KEY = "sk-repeated"
HEADERS = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
PATH = "/v1/responses"
TIMES = 4


def test_a_value_that_is_stored_again_takes_its_room_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = shared_checks.RepeatCache[str, int]()
    cache.put("a", 1, 0)
    monkeypatch.setattr(shared_checks, "MAX_CACHE_SIZE", 2 * cache._size)
    for number in range(3):
        cache.put("a", number, 0)
    cache.put("b", 3, 0)
    assert (cache.get("a"), cache.get("b")) == (2, 3)
    cache.put("c", 4, 0)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (None, 3, 4)


class NothingKept(SharedChecks):
    """Reads and checks each request as if it came first."""

    def read(self, received: ReceivedRequest, place: ApiPath) -> tuple[Request, Check]:
        return read_request(received, place), self.check

    def check(self, call: ApiCall, prepared: Prepared | None = None) -> Checked[ApiCall]:
        assert prepared is None
        return check(call)


def make_api(*, keeps: bool = True, **options: Any) -> MockApi:
    """Return a mock, or one that keeps nothing of its requests."""
    made = MockApi(**options)
    if not keeps:
        made._prepared = NothingKept()
    return made


@pytest.fixture
def api() -> MockApi:
    return MockApi(fallback=lambda _: OK_TURN, limits=Limits(exchanges=1_000, responses=1_000, worlds=10))


@pytest.fixture
def mock(api: MockApi) -> Mock:
    return api.open(KEY)


def send(
    api: MockApi, body: Json, headers: Mapping[str, str] = HEADERS, path: str = PATH, query: Any = EMPTY_MAPPING
) -> Answer:
    """Return the answer to a request whose bytes are new, as those of each request are."""
    return api.handle(ReceivedRequest("POST", path, headers, query, json.dumps(body).encode()))


def add_version(api: MockApi, instructions: str) -> None:
    """Give the agent `helper` of a project another version."""
    definition = {"kind": "prompt", "model": "gpt-4o", "instructions": instructions}
    path = f"{PROJECT_PATH}/agents/helper/versions"
    assert send(api, {"definition": definition}, path=path, query={"api-version": "v1"}).status == 200


def send_again(api: MockApi, body: Json) -> list[Answer]:
    return [send(api, body) for _ in range(TIMES)]


def on_the_wire(answer: Answer) -> tuple[Any, ...]:
    return answer.status, answer.headers, answer.delivery, encode_body(answer)


def is_kept(api: MockApi, body: Json) -> bool:
    return api._prepared._whole.get(json.dumps(body).encode()) is not None


def cases() -> Iterator[tuple[str, Case]]:
    for rule in RULES.values():
        for number, case in enumerate([*rule.rejects.values(), *rule.accepts]):
            yield f"{rule.id}-{number}", case


def repeat(case: Case) -> list[Case]:
    return [case] * TIMES


def vary(case: Case) -> list[Case]:
    """Return a case several times, each with an input of its own."""
    asks = not case.on or case.on.partition("?")[0].endswith("/responses")
    if case.raw is not None or not asks or not isinstance(case.body, dict | None):
        return repeat(case)
    body: Json = case.body or {}
    own = body.get("input") if case.on else body.get("input", "hi")
    inputs = {
        str: lambda number: f"{own} {number}",
        list: lambda number: [*own, {"role": "user", "content": str(number)}],
    }.get(type(own), lambda _: own)
    return [replace(case, body={**body, "input": inputs(number)}) for number in range(TIMES)]


def play(
    case: Case, keeps: bool, sequence: Callable[[Case], list[Case]]
) -> tuple[list[tuple[int, Any, bytes | None]], list[Any], str]:
    """Return the answers to a sequence of requests made of a case, their bodies, and what is said of its World."""
    player = CasePlayer()
    player.api = make_api(keeps=keeps, fallback=lambda _: OK_TURN)
    player.mock = player.api.open(EXAMPLE_KEY)
    before = player.prepare(case)
    answers = [*before, *[player.send(request, before) for request in sequence(case)]]
    assert len(player.mock.exchanges) <= len(answers) + 1
    seen = [
        (answer.status, answer.body, None if answer.body is None or not answer.status else encode_body(answer))
        for answer in answers
    ]
    bodies = [exchange.request.body for exchange in player.mock.exchanges]
    return seen, bodies, judge_world(player.mock, verbose=True).report


@pytest.mark.parametrize("sequence", slow_except([1], [repeat, vary]), ids=["the same", "inputs of their own"])
@pytest.mark.parametrize("area", slow_except_every(6, sorted({rule.area for rule in RULES.values()})))
def test_every_example_of_a_rule_gets_the_same_answers_whether_anything_is_kept_or_not(
    area: str, sequence: Callable[[Case], list[Case]]
) -> None:
    for name, case in cases():
        if RULES[name.rpartition("-")[0]].area == area:
            assert play(case, True, sequence) == play(case, False, sequence), name


@pytest.mark.parametrize(
    "body",
    [
        {"model": "gpt-4.1", "input": "hi"},
        {"model": "gpt-4.1", "input": [{"role": "user", "content": "hi"}], "stream": True},
        {
            "model": "gpt-5",
            "instructions": "Be brief.",
            "tools": [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}],
            "input": [
                {"role": "user", "content": "hi"},
                {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "call_1", "output": "1"},
            ],
        },
    ],
    ids=["text", "stream", "tools"],
)
def test_what_nothing_stored_decides_is_kept_when_it_comes_again(api: MockApi, body: Json) -> None:
    send(api, body)
    assert not is_kept(api, body)
    send_again(api, body)
    assert is_kept(api, body)
    assert {answer.status for answer in send_again(api, body)} == {200}


class TestWhatDecidesIsLookedAtEachTime:
    BODY: Json = {"model": "gpt-4.1", "input": "hi"}  # noqa: RUF012

    def test_another_account_decides_anew(self, api: MockApi, mock: Mock) -> None:
        send_again(api, self.BODY)
        mock.organization(models=["gpt-5"])
        assert [answer.status for answer in send_again(api, self.BODY)] == [400] * TIMES

    def test_another_day_decides_anew(self, api: MockApi, mock: Mock) -> None:
        body = {"model": "gpt-5", "input": "hi"}
        send_again(api, body)
        mock.world.set_date("2025-05-01")
        unkept = make_api(keeps=False, fallback=lambda _: OK_TURN)
        unkept.open(KEY).world.set_date("2025-05-01")
        assert send(api, body).body.keys() == send(unkept, body).body.keys()

    def test_another_key_with_another_account_decides_anew(self, api: MockApi, mock: Mock) -> None:
        send_again(api, self.BODY)
        api.open("sk-other").organization(models=["gpt-5"])
        assert send(api, self.BODY, {**HEADERS, "authorization": "Bearer sk-other"}).status == 400

    def test_other_headers_decide_anew(self, api: MockApi, mock: Mock) -> None:
        send_again(api, self.BODY)
        assert send(api, self.BODY, {**HEADERS, "content-type": "text/plain"}).status == 400
        assert send(api, self.BODY, {"content-type": "application/json"}).status == 401

    @pytest.mark.parametrize("inputs", [range(TIMES), [0] * TIMES], ids=["inputs of their own", "the same"])
    def test_another_version_of_an_agent_decides_anew(self, api: MockApi, mock: Mock, inputs: Sequence[int]) -> None:
        agent = {"agent_reference": {"type": "agent_reference", "name": "helper"}}
        path, told = f"{PROJECT_PATH}/openai/v1/responses", list[tuple[str, str]]()
        for instructions in ("Help.", "Help more."):
            add_version(api, instructions)
            for number in inputs:
                body = {"input": f"hi {number}", **agent}
                said = send(api, body, path=path).body
                told.append((said["agent_reference"]["version"], said["instructions"]))
                assert mock.exchanges[-1].request.body == body
        assert told == [("1", "Help.")] * TIMES + [("2", "Help more.")] * TIMES

    def test_another_user_of_a_project_decides_anew(self, api: MockApi, mock: Mock) -> None:
        path = f"{PROJECT_PATH}/openai/v1/responses"
        asked = [send(api, {**self.BODY, "input": f"hi {number}"}, path=path) for number in range(TIMES)]
        named = {**HEADERS, "x-ms-user-identity": "Ada Lovelace"}
        assert [answer.status for answer in (*asked, send(api, self.BODY, named, path))] == [200] * TIMES + [400]

    def test_another_query_decides_anew(self, api: MockApi, mock: Mock) -> None:
        path = "/openai/responses"
        known = [
            send(api, {**self.BODY, "input": f"hi {number}"}, path=path, query={"api-version": "2025-04-01-preview"})
            for number in range(TIMES)
        ]
        unknown = send(api, self.BODY, path=path, query={"api-version": "2020-01-01"})
        assert [answer.status for answer in (*known, unknown)] == [200] * TIMES + [400]

    def test_a_stored_response_that_is_deleted_decides_anew(self, api: MockApi, mock: Mock) -> None:
        first = send(api, self.BODY).body["id"]
        body = {**self.BODY, "previous_response_id": first}
        assert [answer.status for answer in send_again(api, body)] == [200] * TIMES
        assert not is_kept(api, body)
        api.handle(ReceivedRequest("DELETE", f"{PATH}/{first}", HEADERS))
        assert send(api, body).status == 400

    def test_a_stored_item_that_is_referred_to_decides_anew(self, api: MockApi, mock: Mock) -> None:
        said = send(api, self.BODY).body
        body = {"model": "gpt-4.1", "input": [{"type": "item_reference", "id": said["output"][0]["id"]}]}
        send_again(api, body)
        assert not is_kept(api, body)

    def test_a_closed_world_decides_anew(self, api: MockApi, mock: Mock) -> None:
        send_again(api, self.BODY)
        api.close(KEY)
        assert send(api, self.BODY).status == 200
        assert api.worlds[KEY].exchange_count == 1


class TestRequestsThatShareAllButTheirInput:
    SETTINGS: Json = {  # noqa: RUF012
        "model": "gpt-5.2",
        "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}],
        "text": {"verbosity": "low"},
    }
    INPUTS = (
        "one",
        "two words",
        [{"role": "user", "content": "three"}],
        [
            {"type": "additional_tools", "role": "developer", "tools": [{"type": "custom", "name": "c"}]},
            {"role": "user", "content": "four"},
        ],
        "five",
        [{"role": "user", "content": "six"}, {"role": "assistant", "content": "seven"}],
    )

    @pytest.mark.parametrize("members", [{}, {"stream": True}, {"max_output_tokens": 16}, {"metadata": {"n": "1"}}])
    def test_requests_that_share_all_but_their_input_get_the_answers_that_they_get_alone(self, members: Json) -> None:
        def said(keeps: bool) -> list[tuple[Any, ...]]:
            api = make_api(keeps=keeps)
            api.open(KEY).script(*[message("word " * 8)] * 12)
            bodies = [{**self.SETTINGS, **members, "input": sent_input} for sent_input in self.INPUTS * 2]
            return [on_the_wire(send(api, body)) for body in bodies]

        assert said(True) == said(False)

    def test_requests_that_share_all_but_their_input_are_read_once(self, api: MockApi, mock: Mock) -> None:
        for number in range(TIMES):
            send(api, {**self.SETTINGS, "input": f"hi {number}"})
        [(kept, _)] = api._prepared._prepared._values.values()
        assert (kept.settings.initial_response["id"], kept.settings.initial_response["output"]) == ("", [])

    def test_requests_that_share_all_but_their_input_are_read_again_on_another_day(
        self, api: MockApi, mock: Mock
    ) -> None:
        def keys(api: MockApi) -> list[Any]:
            return [sorted(send(api, {"model": "gpt-5", "input": str(number)}).body) for number in range(3)]

        newest = keys(api)
        mock.world.set_date("2025-09-01")
        unkept = make_api(keeps=False, fallback=lambda _: OK_TURN)
        unkept.open(KEY).world.set_date("2025-09-01")
        assert keys(api) == keys(unkept) != newest

    def test_requests_that_share_all_but_their_input_may_have_numbers_beyond_64_bits(
        self, api: MockApi, mock: Mock
    ) -> None:
        parameters = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 2**70}}}
        tool = {"type": "function", "name": "f", "parameters": parameters, "strict": False}
        answers = [send(api, {"model": "gpt-4.1", "input": f"hi {n}", "tools": [tool]}) for n in range(TIMES)]
        assert {answer.status for answer in answers} == {200}
        assert len({json.dumps(answer.body["tools"]) for answer in answers}) == 1


def test_a_function_of_the_script_that_changes_what_it_is_given_changes_one_request(api: MockApi, mock: Mock) -> None:
    seen: list[Json] = []

    def spoil(request: Request) -> Any:
        seen.append(json.loads(json.dumps(request.body)))
        request.body["input"] = "spoilt"
        request.body["tools"] = [{"type": "nonsense"}]
        return message("ok")

    mock.script(*[spoil] * 6)
    body = {"model": "gpt-4.1", "input": "hi"}
    assert [send(api, body).body["tools"] for _ in range(6)] == [[]] * 6
    assert seen == [body] * 6
    assert mock.exchanges[-1].request.body == body


def test_requests_of_other_keys_share_what_is_decided(api: MockApi, mock: Mock) -> None:
    body = {"model": "gpt-4.1", "input": "hi"}
    for number in range(TIMES):
        other = {"authorization": f"Bearer sk-{number}", "content-type": "application/json", "traceparent": str(number)}
        send(api, body, other)
        (exchange,) = api.open(f"sk-{number}").exchanges
        assert (exchange.status, exchange.request.headers) == (200, other)
    assert is_kept(api, body)
    assert len(api._prepared._prepared._values) == 1


def test_no_other_header_decides_about_a_request_whose_key_is_known() -> None:
    reads = {
        name for rule in RULES.values() if matches_operation(rule.on, "POST /responses") for name in rule.reads or ()
    }
    headers = {name.removeprefix("request.headers.") for name in reads if name.startswith("request.headers.")}
    of_the_key = {"authorization", "api-key"}
    assert headers - of_the_key <= set(shared_checks.DECISIVE_HEADERS)


def test_the_journal_tells_requests_apart(api: MockApi, mock: Mock) -> None:
    send_again(api, {"model": "gpt-4.1", "input": "hi"})
    requests = [exchange.request for exchange in mock.exchanges]
    assert len({id(request) for request in requests}) == len({id(request.raw) for request in requests}) == TIMES


def test_a_request_without_a_turn_is_reported_as_the_one_it_was(api: MockApi, mock: Mock) -> None:
    mock.script(*[message("ok")] * 3)
    answers = send_again(api, {"model": "gpt-4.1", "input": "hi"})
    assert [answer.status for answer in answers] == [200, 200, 200, 418]
    assert [request for request, _ in mock.world.problems] == [mock.exchanges[-1].request]
    assert mock.world.problems[0][0] is mock.exchanges[-1].request


def test_turns_that_differ_are_each_answered_as_they_are(api: MockApi, mock: Mock) -> None:
    tools = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}]
    said = [message("one"), message("two"), function_call("f", {}), message("one"), message("three")]
    mock.script(*said)
    body = {"model": "gpt-4.1", "input": "hi", "tools": tools, "max_output_tokens": 16}
    outputs = [send(api, body).body["output"][0] for _ in said]
    assert [item.get("content", [{"text": item["type"]}])[0]["text"] for item in outputs] == [
        *("one", "two", "function_call", "one", "three")
    ]
    assert len({item["id"] for item in outputs}) == len(outputs)


@pytest.mark.parametrize(
    "members", [{}, {"stream": True}, {"stream": True, "service_tier": "default"}, {"store": False}]
)
def test_every_kind_of_turn_is_the_same_whether_its_request_is_kept_or_not(members: Json) -> None:
    body = {"model": "gpt-5", "input": "hi", "tools": [{"type": "web_search"}], "max_output_tokens": 50, **members}
    turns: list[Any] = [
        message("one"),
        [web_search_call("weather"), message("two", annotations=[{"type": "url_citation", "url": "https://x.org"}])],
        [message("three"), failed()],
        [reasoning("hm"), message("four"), incomplete()],
        [message("five"), message("six")],
        message("word " * 60),
        rate_limit(after="1s"),
        server_error(),
        hang_up(),
        cut(message("seven"), after=2),
        "eight",
        message("one"),
    ]

    def said(keeps: bool) -> list[tuple[Any, ...]]:
        api = make_api(keeps=keeps)
        api.open(KEY).script(*turns, *turns)
        return [on_the_wire(send(api, body)) for _ in range(2 * len(turns))]

    assert said(True) == said(False)


TEXTS = (
    *(
        '"hi"',
        '"said \\"so\\""',
        '"line\\nline"',
        '"back\\\\"',
        '"\\u00fc \\ud83d\\ude00"',
        '"über"',
        '""',
        '"{\\"input\\": 1}"',
    ),
    *('"\\ud800"', '"\x01"', '"\\x"', '"open', "7", "null", "[]", '"hi","input":"again"', '"hi","seed":1'),
    '[{"role":"user","content":"hi"}]',
)
"""What may be the value of a member `input`, valid or not."""


@pytest.mark.parametrize(
    "around",
    [
        '{"model":"gpt-4.1","input":%s}',
        '{"input": %s, "model": "gpt-4.1"}',
        '{"model":"gpt-4.1","input":\n%s}',
        '{"model":"gpt-4.1","metadata":{"input":"first"},"input":%s}',
        '{"model":"gpt-4.1","input":"first","metadata":{"input":%s}}',
        '{"model":"gpt-4.1","instructions":"say \\"input\\":\\"first\\"","input":%s}',
        '{"model":"gpt-4.1","in\\u0070ut":"first","input":%s}',
        '{"model":"gpt-4.1","temperature":7,"input":%s}',
    ],
)
def test_bodies_with_the_same_bytes_around_their_text_get_the_answers_that_they_get_alone(around: str) -> None:
    def said(keeps: bool) -> list[tuple[Any, ...]]:
        api = make_api(keeps=keeps, fallback=lambda _: OK_TURN)
        sent = [around % text for text in ('"a"', '"b"', '"c"', *TEXTS, '"d"')]
        answers = [api.handle(ReceivedRequest("POST", PATH, HEADERS, raw=body.encode())) for body in sent]
        bodies = [exchange.request.body for exchange in api.open(KEY).exchanges]
        return [*map(on_the_wire, answers), tuple(bodies)]

    assert said(True) == said(False)


def test_what_is_around_a_text_is_parsed_once(api: MockApi, mock: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("a", "b"):
        send(api, {"model": "gpt-4.1", "input": text})
    monkeypatch.setattr(shared_checks, "read_request", None)
    assert send(api, {"model": "gpt-4.1", "input": 'another "text"'}).status == 200
    assert mock.exchanges[-1].request.body == {"model": "gpt-4.1", "input": 'another "text"'}


def test_what_is_kept_is_bounded(api: MockApi, mock: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_checks, "MAX_CACHE_SIZE", 3 * 9_000)
    monkeypatch.setattr(shared_checks, "MAX_SEEN", 8)
    bodies = [{"model": "gpt-4.1", "input": f"hi {number}"} for number in range(6)]
    for body in bodies:
        send_again(api, body)
    assert [is_kept(api, body) for body in bodies] == [False] * 3 + [True] * 3
    for number in range(20):
        send(api, {"model": "gpt-4.1", "input": f"once {number}"})
    assert len(api._prepared._whole._seen) <= 8


def test_a_long_body_is_not_kept(api: MockApi, mock: Mock) -> None:
    body = {"model": "gpt-4.1", "input": "word " * shared_checks.MAX_BODY}
    send_again(api, body)
    assert not is_kept(api, body)


class TestEventsOfAWebSocket:
    def events(self, api: MockApi, bodies: Sequence[Json]) -> list[list[Json]]:
        session = api.open_session(ReceivedRequest("GET", PATH, HEADERS))
        assert isinstance(session, SocketSession)
        return [[*session.receive(json.dumps({"type": "response.create", **body}))] for body in bodies]

    def test_events_of_a_websocket_share_what_is_decided_but_not_their_bytes(self, api: MockApi, mock: Mock) -> None:
        self.events(api, [{"model": "gpt-4.1", "input": "hi"}] * TIMES)
        assert len(api._prepared._prepared._values) == 1
        assert not api._prepared._whole._values

    @pytest.mark.parametrize("members", [{}, {"temperature": 7}, {"input": ""}, {"previous_response_id": "resp_1"}])
    def test_events_of_a_websocket_get_the_answers_that_they_get_alone(self, members: Json) -> None:
        sent = [{"model": "gpt-4.1", "input": f"hi {number}"} for number in range(TIMES)]
        sent += [{**body, **members} for body in sent]
        kept, alone = (self.events(make_api(keeps=keeps, fallback=lambda _: OK_TURN), sent) for keeps in (True, False))
        assert kept == alone
