"""How a failure reads: short lines, the offending part of a body and never the whole of it."""

import json

import pytest

from harness.contract.rule import RULES
from harness.ending import failed
from harness.faults import cut, server_error
from harness.items import function_call, message
from harness.report import failure
from harness.report.journal import render_journal
from harness.server.mock_api import MockApi

USER = {"role": "user", "content": "hi"}


@pytest.fixture
def mock():
    return MockApi(keys=()).open("sk-test", "failure")


@pytest.fixture
def world(mock):
    return mock.world


@pytest.fixture
def post(world):
    """Send a body (or bytes) to the mock without a network; the answer is the result."""
    api = MockApi(keys=())
    api.worlds["sk-test"] = world

    def post(body=None, method="POST", path="/v1/responses"):
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return api.handle(method, path, {"authorization": "Bearer sk-test"}, {}, raw)

    return post


def asked(given, **members):
    return {"model": "gpt-4.1", "input": given, **members}


# The journal


def test_the_journal_has_a_line_for_each_request(mock, world, post):
    mock.script(message("hi"), function_call("weather", {"city": "Paris"}, call_id="call_1"))
    post(asked("Weather in Paris?"))
    part = {"type": "input_text", "text": "Well?"}
    second = post(asked([USER, {"type": "message", "role": "user", "content": [part]}])).body
    output = {"type": "function_call_output", "call_id": "call_2", "output": '{"degrees": 18}'}
    post(asked([output], previous_response_id=second["id"]))
    post(method="GET", path="/v1/responses/resp_" + "0" * 50)
    post(asked("more"))
    lines = render_journal(world.exchanges).splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        '1 POST /responses gpt-4.1 "Weather in Paris?" 200',
        '2 POST /responses gpt-4.1 2 items, last: user "Well?" 200',
        '3 POST /responses gpt-4.1 function_call_output call_2 {"degrees": 18} 400 '
        + str(world.exchanges[2].answer.rule),
        "4 GET /responses/resp_0000000000…0000000000000 404 response_not_found",
        '5 POST /responses gpt-4.1 "more" 418 NoTurn',
    ]
    assert len({line.index("gpt-4.1") for line in lines if "gpt-4.1" in line}) == 1


def test_the_journal_shows_the_newest_requests(world, post):
    for _ in range(23):
        post(asked("hi"))
    lines = render_journal(world.exchanges).splitlines()
    assert (len(lines), lines[0], lines[1][:3], lines[-1][:3]) == (21, "… 3 earlier requests", "  4", " 23")


@pytest.mark.parametrize(
    "given", [5, None, [], [None], [[1]], {"a": 1}, [{"content": 5}], [{"type": 7}], [{"content": [1]}]]
)
def test_the_journal_takes_any_input(world, post, given):
    post({"model": 4, "input": given})
    assert render_journal(world.exchanges).startswith("  1  POST /responses  4")


def test_a_body_that_is_no_object_has_a_line(world, post):
    post(b"[1]")
    assert render_journal(world.exchanges).split() == ["1", "POST", "/responses", "400", "body_not_object"]


def test_without_a_request_the_report_says_how_clients_find_the_mock(world):
    told = failure.render_failure(world)
    assert told.startswith("No request came with this test's key sk-test.")
    assert "OPENAI_BASE_URL" in told
    assert "mock.base_url" in told


# Refusals


def test_a_refusal_says_what_where_why_how_to_fix_and_how_we_know(world, post):
    post(asked([USER, {**USER, "bogus": {"a": 1}}]))
    told = failure.render_failure(world).splitlines()
    assert told[:2] == [
        "Request 1 was refused (400): Unknown parameter: 'input[1].bogus'.",
        'input[1].bogus: {"a": 1} in a user message; Unknown members are refused, at the top level before any other fault '
        "of a field.",
    ]
    assert told[4:-5] == [
        "",
        "Request 1 was refused (400) by unknown_parameter:",
        '  sent    input[1].bogus = {"a": 1}',
        "  where   input[1].bogus",
        "  why     Unknown parameter: 'input[1].bogus'.",
        *(f"          {line}" for line in RULES["unknown_parameter"].doc.splitlines() if line),
        "  fix     Remove the member; SDK sugar such as `parsed` must be stripped before items are sent back.",
        "  source  reported, https://github.com/kangminlee-maker/local-OAuth-CLI-API-adapter, 2026-08-30",
    ]


def test_the_best_evidence_comes_first(world, post):
    post({"input": "hi"})
    sources = failure.render_failure(world).partition("source")[2].splitlines()
    assert sources[0].split()[0] == "recorded,"
    assert sources[1].split()[0] == "reported,"


def test_only_the_newest_refusals_are_explained(world, post):
    for _ in range(7):
        post({"input": "hi"})
    told = failure.render_failure(world)
    assert "… 2 earlier refusals" in told
    assert "Request 2 was refused" not in told
    assert "Request 3 was refused" in told
    assert "Request 7 was refused" in told


def test_a_body_of_a_thousand_items_stays_short(world, post):
    post(asked([USER] * 1000 + [{**USER, "role": "x" * 5000}], instructions="y" * 90_000))
    post(asked([USER] * 1000, previous_response_id="resp_no"))
    told = failure.render_failure(world)
    assert len(told) < 4000
    assert max(map(len, told.splitlines())) < 400


def test_a_refused_request_without_a_body_shows_its_path(world, post):
    post(method="GET", path="/v1/responses/resp_1")
    assert "  sent    GET /responses/resp_1\n" in failure.render_failure(world)


# Requests that no turn answers


def test_an_unanswered_request_comes_with_its_number_and_the_explanation(mock, world, post):
    mock.script(message("hi"))
    post(asked("one"))
    post(asked("two"))
    why = "No turn is left for this request: script (1 taken). Add one: mock.script(message('…'))."
    told = failure.render_failure(world)
    assert told.splitlines()[:2] == [f"Request 2, POST /responses, could not be answered: {why}", 'it sent user "two"']
    assert f"\n\nRequest 2, POST /responses, could not be answered:\n  {why}\n" in told


def test_a_generator_among_the_unused_turns_is_named(mock, world):
    def talk(request):
        yield message("a")

    mock.script(talk, iter([message("b")]))
    assert failure.verdict(world).splitlines()[1:3] == [
        "  script: the function talk",
        "  script: the function list_iterator",
    ]


def test_the_end_of_an_unused_turn_is_named(mock, world):
    mock.script([message("a"), failed()], cut(message("b"), after=1), server_error())
    assert failure.verdict(world).splitlines()[1:4] == [
        '  script: message "a" + failed',
        '  script: message "b" + cut',
        "  script: refusal",
    ]


def test_a_world_whose_turns_were_all_taken_has_no_fault(mock, world, post):
    mock.script(message("hi"))
    post(asked("hi"))
    assert failure.verdict(world) == ""
