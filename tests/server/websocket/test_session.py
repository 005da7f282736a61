"""A WebSocket connection without its network: what it takes, what it says, what it remembers, what it forgets."""

from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.api.responses import SOCKET
from harness.contract.rule import CREATE_RESPONSE, RULES, Case, Rule, matches_operation
from harness.contract.rules.example_requests import VALID_BODY
from harness.core.account import Organization, RateLimit
from harness.core.errors import ConfigError
from harness.core.exchange import Answer, ReceivedRequest
from harness.faults import http_error
from harness.items import function_call, message, reasoning
from harness.server.mock_api import MockApi
from harness.server.websocket.session import SocketSession
from harness.verify.examples import play_case
from tests.support.in_process import KEY, Client
from tests.support.slow import slow_except_every
from tests.support.tools import functions
from tests.support.websockets import AUTH, Socket, error, types

NOT_FOUND = (400, "previous_response_not_found", "previous_response_id")
SAID_OTHERWISE = {
    "stream_options_without_stream": None,
    "previous_response_zdr": "previous_response_not_found",
    "context_length_exceeded": None,  # the stream fails
}
"""What a connection refuses otherwise, and by which rule: it always streams, and what it remembers is not stored."""
OF_STREAMS = ("unknown_parameter", "organization_unverified")
"""Rules that say something else to a client which leaves out `stream` than to one that streams."""
OWN = [
    (rule, words, case)
    for rule in RULES.values()
    if "*" not in rule.on and matches_operation(rule.on, CREATE_RESPONSE)
    for words, case in rule.rejects.items()
    if case.on is None and case.headers is None and not (rule.id in OF_STREAMS and "stream" not in (case.body or ()))
]
REJECTS = [pytest.param(*rejected, id=f"{rejected[0].id}: {rejected[1][:40]}") for rejected in OWN]
ACCEPTS = [
    pytest.param(case, id=f"{rule.id}-{index}")
    for rule in RULES.values()
    if rule.id not in OF_STREAMS
    for index, case in enumerate(rule.accepts)
    if case.on is None and case.headers is None and case.raw is None
]


def _nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)


def missing(id: str) -> tuple[Any, ...]:
    return (*NOT_FOUND, f"Previous response with id '{id}' not found.")


class TestTheUpgrade:
    def opened(self, headers: dict[str, str], path: str = "/v1/responses", **account: Any) -> SocketSession | Answer:
        return MockApi(organization=Organization(**account)).open_session(ReceivedRequest("GET", path, headers))

    def refused(self, headers: dict[str, str], path: str = "/v1/responses", **account: Any) -> tuple[int, str]:
        answer = self.opened(headers, path, **account)
        assert isinstance(answer, Answer)
        assert answer.headers["x-request-id"].startswith("req_")
        return answer.status, answer.body["error"]["message"]

    def test_the_upgrade_needs_a_key(self) -> None:
        assert self.refused({}) == (401, "Missing bearer or basic authentication in header")

    def test_the_upgrade_needs_a_key_that_is_known(self) -> None:
        status, words = self.refused({"authorization": "Bearer nope"})
        assert (status, words[:34]) == (401, "Incorrect API key provided: nope. ")

    def test_the_upgrade_needs_the_scope_to_make_responses(self) -> None:
        status, words = self.refused(AUTH, scopes=frozenset({"api.responses.read"}))
        assert (status, "Missing scopes: api.responses.write." in words) == (401, True)
        assert isinstance(self.opened(AUTH, scopes=frozenset({"api.responses.write"})), SocketSession)

    def test_the_upgrade_fails_where_everything_fails(self) -> None:
        assert self.refused(AUTH, failing=True)[0] == 500

    def test_the_upgrade_that_is_refused_is_in_the_journal_of_its_key(self) -> None:
        mock = MockApi(organization=Organization(failing=True))
        mock.open_session(ReceivedRequest("GET", "/v1/responses", AUTH))
        [exchange] = mock.open("sk-unit").exchanges
        assert (exchange.request.method, exchange.status, exchange.answer.rule) == ("WS", 500, "server_error")

    @pytest.mark.parametrize("path", ["/v1/responses/", "/v1/realtime", "/v1"])
    def test_elsewhere_is_answered_like_the_get_it_is(self, path: str) -> None:
        assert self.refused(AUTH, path)[0] == 404

    @pytest.mark.parametrize(
        ("account", "status"), [({"out_of_quota": True}, 429), ({"rate_limit": RateLimit(3, 3, 1)}, 429)]
    )
    def test_the_upgrade_passes_for_an_account_whose_requests_do_not(
        self, account: dict[str, Any], status: int
    ) -> None:
        [told] = Socket(**account).create()
        assert (told["type"], told["status"]) == ("error", status)

    def test_a_limit_is_in_the_headers_of_an_event_and_not_of_the_upgrade(self) -> None:
        [told] = Socket(rate_limit=RateLimit(3, 3, 1, seconds=2.0)).create()
        assert told["error"]["headers"]["retry-after"] == "2"
        assert told["error"]["code"] == "rate_limit_exceeded"


class TestAResponse:
    def test_a_response_is_sent_as_the_events_of_a_stream(self) -> None:
        socket, other = Socket(), Socket()
        streamed = other.client.ask(stream=True)
        assert socket.create() == list(streamed.events or ())

    @pytest.mark.parametrize("members", [{"stream": True}, {"stream": False}, {"stream": None}, {"background": False}])
    def test_a_response_is_sent_as_events_whatever_stream_says(self, members: dict[str, Any]) -> None:
        assert types(Socket().create(**members))[-1] == "completed"

    def test_a_response_may_be_asked_for_without_padding(self) -> None:
        events = Socket().create(stream_options={"include_obfuscation": False})
        assert [event for event in events if "obfuscation" in event] == []

    def test_a_response_is_in_the_journal_as_the_event_that_asked_for_it(self) -> None:
        socket = Socket()
        id = socket.made(stream_id="main")["id"]
        [exchange] = socket.journal
        assert (exchange.request.method, exchange.request.path, exchange.status) == ("WS", "/responses", 200)
        assert exchange.request.body == {"type": "response.create", **VALID_BODY, "stream_id": "main"}
        assert exchange.answer.body["id"] == id

    def test_a_response_comes_from_the_script_which_reads_a_request_of_the_api(self) -> None:
        socket = Socket()
        socket.mock.script(lambda request: message(", ".join(sorted(request.body))))
        assert socket.made(stream_id="a")["output"][0]["content"][0]["text"] == "input, model, stream"

    def test_a_response_that_is_stored_is_there_for_http_too(self) -> None:
        socket = Socket()
        id = socket.made()["id"]
        assert socket.client.send(f"GET /responses/{id}").status == 200
        assert socket.client.ask(previous_response_id=id).status == 200

    def test_a_response_that_was_made_over_http_can_be_continued(self) -> None:
        socket = Socket()
        first = socket.client.ask().body["id"]
        assert socket.made(previous_response_id=first)["previous_response_id"] == first

    def test_an_event_without_a_turn_gets_the_error_of_the_harness(self) -> None:
        socket = Socket()
        socket.mock.script(message("one"))
        first = socket.made(store=False)
        [told] = socket.create(previous_response_id=first["id"])
        assert (told["status"], told["error"]["code"]) == (418, "NoTurn")
        assert len(socket.world.problems) == 1
        socket.mock.script(message("two"))
        assert socket.made(previous_response_id=first["id"])

    def test_a_response_of_another_key_is_none_of_this_one(self) -> None:
        id = Socket().made()["id"]
        assert Socket().refused(previous_response_id=id) == missing(id)


class TestARefusal:
    def test_a_refusal_is_one_event_in_the_form_of_the_api(self) -> None:
        [told] = Socket().create(temperature=3, stream_id="main")
        assert list(told) == ["type", "status", "stream_id", "error"]
        assert list(told["error"]) == ["type", "code", "message", "param"]
        assert (told["stream_id"], told["error"]["param"]) == ("main", "temperature")

    def test_a_refusal_is_in_the_journal_with_its_rule(self) -> None:
        socket = Socket()
        socket.create(previous_response_id="resp_x")
        assert socket.journal[0].answer.rule == "previous_response_not_found"

    def test_a_refusal_leaves_the_connection_open(self) -> None:
        socket = Socket()
        socket.create(temperature=3)
        assert not socket.session.closed
        assert socket.made()

    @pytest.mark.parametrize("body", [{"detail": "bad gateway"}, {"error": "bad gateway"}])
    def test_a_refusal_with_a_body_of_another_form_has_it_as_its_message(self, body: dict[str, str]) -> None:
        socket = Socket()
        socket.mock.script(http_error(502, "unused", body=body))
        assert socket.refused() == (502, None, None, orjson.dumps(body).decode())

    def test_a_refusal_of_a_stream_that_is_no_boolean_stays(self) -> None:
        status, code, param, _ = Socket().refused(stream="yes")
        assert (status, code, param) == (400, "invalid_type", "stream")

    @pytest.mark.parametrize(("expected", "words", "case"), slow_except_every(4, REJECTS))
    def test_a_refusal_is_word_for_word_that_of_http(self, expected: Rule, words: str, case: Case) -> None:
        played = play_case(replace(case, on=SOCKET))
        assert played.answer.rule == SAID_OTHERWISE.get(expected.id, expected.id)
        if expected.id not in SAID_OTHERWISE:
            assert played.answer.body["error"]["message"] == played.fill(words)

    @pytest.mark.parametrize("case", slow_except_every(4, ACCEPTS))
    def test_a_refusal_is_none_where_http_has_none(self, case: Case) -> None:
        assert play_case(replace(case, on=SOCKET)).answer.status == 200


class TestWhatAConnectionRemembers:
    def test_what_a_connection_remembers_is_a_response_that_is_not_stored(self) -> None:
        socket = Socket()
        first = socket.made(store=False)
        assert socket.made(previous_response_id=first["id"])["previous_response_id"] == first["id"]
        assert socket.client.ask(previous_response_id=first["id"]).status == 400

    def test_what_a_connection_remembers_goes_into_what_the_model_reads(self) -> None:
        socket = Socket()
        socket.mock.script(function_call("f", {}, call_id="call_1"), message("ok"), message("ok"))
        first = socket.made(store=False, tools=functions("f"))
        output = {"type": "function_call_output", "call_id": "call_1", "output": "4"}
        assert socket.made([output], previous_response_id=first["id"], store=False)
        assert socket.refused(input=[output])[3] == "No tool call found for function call output with call_id call_1."

    def test_what_a_connection_remembers_counts_where_an_output_is_missing(self) -> None:
        socket = Socket()
        socket.mock.script(function_call("f", {}, call_id="call_1"))
        first = socket.made(store=False, tools=functions("f"))
        words = "No tool output found for function call call_1."
        assert socket.refused(previous_response_id=first["id"]) == (400, None, "input", words)

    def test_what_a_connection_remembers_keeps_reasoning_with_what_followed_it(self) -> None:
        socket = Socket()
        socket.mock.script([reasoning("**Thought**"), message("Hi.")], message("ok"))
        first = socket.made(model="gpt-5", store=False)
        assert socket.made(model="gpt-5", previous_response_id=first["id"])

    def test_what_a_connection_remembers_is_all_there_is_without_data_retention(self) -> None:
        socket = Socket(zdr=True)
        first = socket.made()
        assert socket.world.store.responses == {}
        assert socket.made(previous_response_id=first["id"])
        assert socket.refused(previous_response_id="resp_x") == missing("resp_x")

    def test_what_a_connection_remembers_is_the_last_response_of_a_lane_alone(self) -> None:
        socket = Socket()
        first, _ = socket.made(store=False), socket.made(store=False)
        assert socket.refused(previous_response_id=first["id"]) == missing(first["id"])

    def test_what_a_connection_remembers_falls_back_to_what_is_stored(self) -> None:
        socket = Socket()
        first, _ = socket.made(), socket.made()
        assert socket.made(previous_response_id=first["id"])

    def test_what_a_connection_remembers_is_forgotten_when_its_continuation_fails(self) -> None:
        socket = Socket()
        first = socket.made(store=False)
        socket.create(previous_response_id=first["id"], temperature=3)
        assert socket.refused(previous_response_id=first["id"]) == missing(first["id"])

    def test_outlives_the_failure_of_another_request(self) -> None:
        socket = Socket()
        first = socket.made(store=False)
        for wrong in ({"temperature": 3}, {"previous_response_id": "resp_x"}):
            socket.create(**wrong)
        assert socket.made(previous_response_id=first["id"])

    def test_what_a_connection_remembers_is_not_known_to_another_connection(self) -> None:
        socket = Socket()
        first = socket.made(store=False)
        assert Socket(of=socket).refused(previous_response_id=first["id"]) == missing(first["id"])

    def test_what_a_connection_remembers_is_what_a_warm_up_prepared(self) -> None:
        socket = Socket()
        socket.mock.script(message("Hello."))
        events = socket.create(generate=False, store=False)
        assert types(events) == ["created", "in_progress", "completed"]
        assert (events[-1]["response"]["output"], events[-1]["response"]["usage"]["output_tokens"]) == ([], 0)
        after = socket.made(previous_response_id=events[-1]["response"]["id"])
        assert after["output"][0]["content"][0]["text"] == "Hello."


class TestALane:
    def test_a_lane_is_named_by_every_event(self) -> None:
        assert {event["stream_id"] for event in Socket().create(stream_id="planner")} == {"planner"}

    def test_a_lane_without_a_name_is_named_by_none(self) -> None:
        assert [event for event in Socket().create() if "stream_id" in event] == []

    def test_a_lane_keeps_its_last_response_while_others_go_on(self) -> None:
        socket = Socket()
        first = socket.made(store=False, stream_id="a")
        socket.made(store=False, stream_id="b")
        socket.made(store=False)
        assert socket.made(store=False, stream_id="a", previous_response_id=first["id"])

    def test_a_lane_may_fork_another_that_goes_on(self) -> None:
        socket = Socket()
        first = socket.made(store=False, stream_id="planner")
        fork = socket.made(store=False, stream_id="critic", previous_response_id=first["id"])
        assert socket.made(store=False, stream_id="planner", previous_response_id=first["id"])
        assert socket.made(store=False, stream_id="critic", previous_response_id=fork["id"])
        assert socket.refused(stream_id="late", previous_response_id=first["id"]) == missing(first["id"])

    def test_a_lane_that_fails_to_fork_leaves_the_source_alone(self) -> None:
        socket = Socket()
        first = socket.made(store=False, stream_id="planner")
        socket.create(stream_id="critic", previous_response_id=first["id"], temperature=3)
        assert socket.made(stream_id="planner", previous_response_id=first["id"])

    def test_a_lane_that_is_one_too_many_is_named_by_its_refusal(self) -> None:
        socket = Socket()
        for number in range(32):
            socket.create(stream_id=f"agent_{number}")
        [told] = socket.create(stream_id="agent_32")
        assert (told["stream_id"], told["error"]["code"]) == ("agent_32", "websocket_stream_limit_reached")
        assert socket.made()
        assert socket.made(stream_id="agent_7")

    def test_a_lane_with_no_valid_name_is_not_named(self) -> None:
        [told] = Socket().create(stream_id="a b")
        assert ("stream_id" in told, told["error"]["code"]) == (False, "invalid_stream_id")

    @pytest.mark.parametrize("name", ["", "x" * 257, "a b", "ä", "a\n", 7, ["a"]])
    def test_a_lane_has_a_name_of_few_characters(self, name: Any) -> None:
        assert Socket().refused(stream_id=name)[1:3] == ("invalid_stream_id", "stream_id")


class TestTheHour:
    def test_the_hour_ends_a_connection_after_its_event(self) -> None:
        socket = Socket()
        socket.mock.skip(3600)
        [told] = socket.create()
        assert told["error"]["code"] == "websocket_connection_limit_reached"
        assert socket.session.closed

    def test_the_hour_is_that_of_each_connection(self) -> None:
        socket = Socket()
        socket.mock.skip(3599)
        assert socket.made()
        later = Socket(of=socket)
        socket.mock.skip(3599)
        assert later.made()
        assert later.session.closed is False

    def test_the_hour_passes_for_the_whole_world(self) -> None:
        world = Socket().world
        before = world.now
        assert world.skip(60) == world.now == before + 60
        for seconds in (-1, float("nan"), "1"):
            with pytest.raises(ConfigError, match=r"skip\(.*\): time does not go back"):
                world.skip(seconds)  # type: ignore[arg-type]

    def test_the_hour_is_not_used_up_by_requests(self) -> None:
        socket = Socket()
        socket.world.now += 3600
        assert socket.made()


class TestAnEventThatIsNone:
    @pytest.mark.parametrize(
        ("said", "code", "param"),
        [
            ("", "missing_required_parameter", "type"),
            ("{", "invalid_json", None),
            ("[1]", None, None),
            ('"response.create"', None, None),
            ("{}", "missing_required_parameter", "type"),
            ('{"type": "response.create", "type": "response.create"}', "invalid_json", None),
            ('{"type": null}', "invalid_type", "type"),
            ('{"type": "session.update"}', "invalid_value", "type"),
            ('{"type": "response.create", "model": "gpt-4.1"}', "missing_required_parameter", "input"),
            (b"\xff\xfe", "invalid_json", None),
            ("[" * 100_000, "invalid_json", None),
            ("\ud800", "invalid_json", None),
        ],
    )
    def test_an_event_that_is_none_is_an_error_in_the_form_of_the_api(
        self, said: str | bytes, code: str | None, param: str | None
    ) -> None:
        socket = Socket()
        [told] = socket.send(said)
        assert error(told)[:3] == (400, code, param)
        assert [exchange.status for exchange in socket.journal] == [400]
        assert socket.world.problems == []
        assert socket.made()

    def test_an_event_that_is_none_may_come_as_bytes(self) -> None:
        assert (
            types(Socket().send(b'{"type": "response.create", "model": "gpt-4.1", "input": "hi"}'))[-1] == "completed"
        )

    def test_an_event_that_breaks_the_harness_is_reported_as_its_fault(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: Any) -> Any:
            raise ValueError("broken")

        socket = Socket()
        monkeypatch.setattr(socket.session, "_handle_create", broken)
        [told] = socket.create()
        assert (told["status"], "ValueError: broken" in told["error"]["message"]) == (418, True)


@pytest.mark.slow
@given(st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8), _nested, max_leaves=6))
@settings(max_examples=100, deadline=None)
def test_no_json_makes_a_connection_raise(said: Any) -> None:
    socket = Socket()
    for event in (said, {"type": "response.create", "input": said, "model": "gpt-4.1"}):
        socket.session.receive(orjson.dumps(event, default=str))
    for member in ("type", "stream_id", "generate", "background", "stream", "previous_response_id", "input"):
        socket.session.receive(orjson.dumps({"type": "response.create", **VALID_BODY, member: said}))
        socket.session.receive(orjson.dumps({"type": "response.steer", "input": "x", member: said}))
    assert socket.world.problems == []
    assert len(socket.journal) == 16


class TestAzure:
    PATH = "/openai/v1/responses"

    @pytest.fixture
    def client(self) -> Client:
        return Client()

    def connect(self, client: Client, path: str = PATH, **head: Any) -> SocketSession | Answer:
        return client.api.open_session(ReceivedRequest("GET", path, **{"headers": {}, **head}))

    @pytest.mark.parametrize(
        "head",
        [{"headers": {"api-key": KEY}}, {"headers": AUTH}, {"query": {"api-key": KEY}}],
        ids=["api-key", "Entra ID", "query"],
    )
    def test_a_chain_goes_over_one_connection_in_the_form_of_azure(self, client: Client, head: dict[str, Any]) -> None:
        session = self.connect(client, **head)
        assert isinstance(session, SocketSession)
        asked = {"type": "response.create", "model": "gpt-5.4", "input": "hi"}
        *_, warm = session.receive(orjson.dumps({**asked, "generate": False}))
        first = session.receive(orjson.dumps({**asked, "previous_response_id": warm["response"]["id"]}))
        *_, last = session.receive(orjson.dumps({**asked, "previous_response_id": first[-1]["response"]["id"]}))
        assert types([first[0], first[-1], last]) == ["created", "completed", "completed"]
        assert "content_filters" in last["response"]
        assert {exchange.request.dialect for exchange in client.world.exchanges} == {"azure"}

    def test_a_refusal_is_an_event(self, client: Client) -> None:
        session = self.connect(client, headers={"api-key": KEY})
        assert isinstance(session, SocketSession)
        [refused] = session.receive(
            orjson.dumps({"type": "response.create", "model": "gpt-5.4", "input": "hi", "n": 1})
        )
        assert error(refused) == (400, "unknown_parameter", "n", "Unknown parameter: 'n'.")

    def test_an_upgrade_without_a_key_is_refused_as_azure_refuses_requests(self, client: Client) -> None:
        refused = self.connect(client)
        assert isinstance(refused, Answer)
        assert (refused.status, refused.body["statusCode"]) == (401, 401)

    def test_the_path_of_a_project_ignores_the_upgrade(self, client: Client) -> None:
        answer = self.connect(client, "/api/projects/p/openai/v1/responses", headers=AUTH)
        assert isinstance(answer, Answer)
        assert (answer.status, answer.body["object"]) == (200, "list")
