"""A request that could not be answered is explained from the parts of the error, whatever their texts look like."""

import re
from typing import Any

import pytest

from harness.core.advice_wording import JSON
from harness.core.errors import Problem
from harness.core.exchange import Answer, Exchange, Request
from harness.explain.cause import Cause
from harness.explain.turn import TriedRoute, is_same_request, miss_cause, stray_finding, tried_routes
from harness.items import message
from harness.server.mock_api import MockApi
from harness.world.mock import Mock
from tests.support.in_process import KEY, ask, send


def test_a_line_of_a_recording_that_looks_like_the_head_of_a_diff_is_shown() -> None:
    diff = ("--- recorded", "+++ asked", "@@ -1 +1 @@", " same", "--- gone", "+-- come")
    cause = miss_cause(Problem("not recorded", diff), "Record it.")
    assert (cause.where, cause.fix) == ("--- gone\n+-- come", "Record it.")


@pytest.mark.parametrize(("raw", "same"), [(b"{}", True), (b"", False)])
def test_a_request_is_that_of_the_event_that_carried_it(raw: bytes, same: bool) -> None:
    event, carried = Request("WS", "/responses", raw=raw), Request("POST", "/responses", raw=raw)
    assert is_same_request(Exchange(1, event, Answer(200)), carried) is same


def test_what_an_error_advises_itself_comes_before_the_hint() -> None:
    assert miss_cause(Problem("a WebSocket", fix="Use the proxy."), "Record it.").fix == "Use the proxy."


def tried(mock: Mock, number: int = -1) -> list[TriedRoute]:
    return tried_routes(mock.world, mock.exchanges[number])


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ({"instructions": "planner"}, "instructions does not contain 'planner': 'You are ops.'"),
        ({"tools": ["f", "g"]}, "tools does not contain 'g': ['f']"),
        ({"tools": "g"}, "tools does not contain 'g': ['f']"),
        ({"model": "gpt-5*"}, "model is 'gpt-4.1', not 'gpt-5*'"),
        ({"input": re.compile("^bye")}, "input does not match '^bye': 'hi'"),
        ({"agent": "ops"}, "agent does not contain 'ops': ''"),
        ({"input": "hi", "model": "o3"}, "model is 'gpt-4.1', not 'o3'"),
    ],
)
def test_the_first_condition_that_a_request_does_not_meet_is_named(condition: dict[str, Any], why: str) -> None:
    api = MockApi()
    mock = api.open(KEY)
    route = mock.when(**condition).script("never")
    mock.script("ok")
    tool = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
    assert ask(api, instructions="You are ops.", tools=[tool]).status == 200
    assert tried(mock) == [TriedRoute(str(route), why=why), TriedRoute("script", 1)]


def test_a_function_is_named_with_its_place() -> None:
    def is_long(text: str) -> bool:
        return len(text) > 9

    api = MockApi()
    mock = api.open(KEY)
    mock.when(input=is_long).script("never")
    mock.script("ok")
    ask(api)
    line = is_long.__code__.co_firstlineno
    assert tried(mock)[0].why == f"input: is_long (test_turn.py:{line}) rejects 'hi'"


def test_a_function_that_raises_later_is_reported_as_it_is() -> None:
    answers = [False]
    api = MockApi()
    mock = api.open(KEY)
    mock.when(input=lambda _: answers.pop()).script("never")
    mock.script("ok")
    ask(api)
    assert "the condition `input` raised IndexError: pop from empty list" in tried(mock)[0].why


def test_a_route_without_turns_has_stepped_aside() -> None:
    api = MockApi()
    mock = api.open(KEY)
    route = mock.when(input="hi").script("one")
    mock.script("two")
    assert [ask(api).status, ask(api).status] == [200, 200]
    assert tried(mock, 0) == [TriedRoute(str(route), 1)]
    assert tried(mock, 1) == [TriedRoute(str(route), why="it had no turns left, or none yet"), TriedRoute("script", 1)]


def test_a_request_that_no_route_answers_was_tried_against_all() -> None:
    api = MockApi()
    mock = api.open(KEY)
    mock.when(input="bye").script("never")
    mock.when(model="o3").script("never")
    assert ask(api).status == 418
    assert [route.why for route in tried(mock)] == [
        "input does not contain 'bye': 'hi'",
        "model is 'gpt-4.1', not 'o3'",
    ]


def test_a_request_that_a_rule_refuses_was_tried_against_none() -> None:
    api = MockApi()
    mock = api.open(KEY)
    mock.when(input="hi").script("never")
    assert ask(api, temperature=9).status == 400
    assert tried(mock) == []


def test_what_is_not_for_the_model_was_tried_against_none() -> None:
    api = MockApi()
    mock = api.open(KEY)
    mock.script("never")
    send(api, "GET /v1/models")
    assert tried(mock) == []


def test_what_the_model_says_without_a_script_is_of_no_route() -> None:
    api = MockApi(fallback=lambda _: [message("ok")])
    mock = api.open(KEY)
    assert ask(api).status == 200
    assert tried(mock) == []


def test_the_words_are_those_of_the_reader() -> None:
    api = MockApi(vocabulary=JSON)
    mock = api.open(KEY)
    mock.when(input="bye").script("never")
    mock.script("ok")
    ask(api)
    assert tried(mock)[0].why == 'input does not contain "bye": "hi"'


def test_paths_that_a_test_answers_itself_say_so_too() -> None:
    api = MockApi()
    mock = api.open(KEY)
    mock.route("POST", "/embeddings", {"object": "list"})
    mock.route("GET", "/batches", {"object": "list"})
    mock.route("POST", "/moderations", {"object": "list"})
    ask(api, path="/v1/embeddings")
    ask(api, path="/v1/rerank")
    assert tried(mock, 0) == [
        TriedRoute("route('POST', '/moderations')", why="the path is /embeddings"),
        TriedRoute("route('GET', '/batches')", why="the request is a POST"),
        TriedRoute("route('POST', '/embeddings')", 1),
    ]
    assert [route.turn for route in tried(mock, 1)] == [0, 0, 0]


def test_the_finding_for_an_unknown_key_says_what_came_where_and_who_made_it() -> None:
    api = MockApi(keys=())
    ask(api)
    ((_, stray),) = api.strays.kept
    cause = Cause(
        "It came.", kind="stray", where="here", asked="hi", made="a.py:7", fix="Wait.", allow="x = 1", came="no"
    )
    found = stray_finding(cause, stray)
    assert (found.why, found.fix) == ("where here\nmade a.py:7\nasked hi", "Wait. Or allow it: x = 1")
