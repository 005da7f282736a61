"""How a failure reads: short lines, the offending part of a body and never the whole of it."""

import re

import pytest

from harness.contract.rule import RULES
from harness.ending import failed
from harness.explain.find_causes import MAX_TRACED, find_causes, find_suspects
from harness.explain.refusal import is_account_rule
from harness.explain.render import render_causes, render_journal, render_section, render_verdict
from harness.explain.turn import unused_cause
from harness.faults import cut, http_error, rate_limit, server_error
from harness.items import function_call, message
from harness.server.mock_api import MockApi
from harness.world.world import World
from tests.support.in_process import asked, send
from tests.support.reports import KEY, ask, fill_case, make_mock

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

    def post(body=None, call="POST /v1/responses"):
        return send(api, call, body, key="sk-test")

    return post


# Causes


def test_a_world_that_the_server_dropped_comes_before_what_went_wrong_in_the_next(mock, world, post):
    world.was_dropped = True
    mock.script("Never.")  # left because of the refusal, no cause of its own
    post(asked(17))
    assert [(cause.kind, cause.exchange) for cause in find_causes(world)] == [("dropped", 0), ("refusal", 1)]


def test_a_turn_that_a_refused_request_did_not_take_says_so(mock, world, post):
    mock.script("Never.")
    post(asked("hi", model="gpt-4.1-nano", temperature=7))
    assert unused_cause(world).why == "request 1, the last one, was refused and therefore took no turn"
    post(asked("hi"))
    mock.script("Never.")
    assert unused_cause(world).why == ""


# The journal


def test_the_journal_has_a_line_for_each_request(mock, world, post):
    mock.script(message("hi"), function_call("weather", {"city": "Paris"}, call_id="call_1", off_schema=True))
    post(asked("Weather in Paris?"))
    part = {"type": "input_text", "text": "Well?"}
    second = post(asked([USER, {"type": "message", "role": "user", "content": [part]}])).body
    output = {"type": "function_call_output", "call_id": "call_2", "output": '{"degrees": 18}'}
    post(asked([output], previous_response_id=second["id"]))
    post(call="GET /v1/responses/resp_" + "0" * 50)
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


def test_the_journal_has_a_line_for_requests_of_no_endpoint_and_a_column_for_agents(world, post):
    post(asked("hi"))
    for _ in range(3):
        post(call="GET /v1/nothing")
    post(asked("more"))
    agents = {"planner": world.exchanges[:1], "client": world.exchanges[1:4], "ops": world.exchanges[4:]}
    for lanes, named in ((agents, ["planner ", "client ", "ops "]), ({"planner": world.exchanges}, ["", "", ""])):
        lines = render_journal(world.exchanges, lanes).splitlines()
        assert [" ".join(line.split()) for line in lines] == [
            f'1 {named[0]}POST /responses gpt-4.1 "hi" 418 NoTurn',
            f"2-4 {named[1]}3 requests for paths that the API lacks 404",
            f'5 {named[2]}POST /responses gpt-4.1 "more" 418 NoTurn',
        ]


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


def section(world, **options):
    """Return the section of a test that failed by itself."""
    return render_section(world, find_suspects(world), **options)


def test_without_a_request_the_report_says_how_clients_find_the_mock(mock, world):
    mock.script(message("hi"))
    assert section(world).splitlines() == [
        "No request came with this test's key sk-test.",
        '  unused  script: message "hi"',
        "  fix     The code under test must read OPENAI_BASE_URL and OPENAI_API_KEY while the test runs (a client created "
        "at",
        "          import reads them too early), or be passed mock.base_url and mock.api_key.",
        "  manual  responses-harness manual no-request-came",
    ]


# Refusals


def test_a_refusal_says_what_where_how_to_fix_and_how_we_know_and_then_the_flow(world, post):
    post(asked([USER, {**USER, "bogus": {"a": 1}}]))
    assert section(world).splitlines() == [
        "Request 1 was refused (400): Unknown parameter: 'input[1].bogus'.",
        '  where   input[1].bogus: {"a": 1} in a user message; Unknown members are refused, at the top level before any '
        "other",
        "          fault of a field.",
        '  sent    input[1].bogus = {"a": 1}',
        "  fix     Remove the member, which an SDK may have added (`parsed`), or send its new form (`max_output_tokens`).",
        "  manual  responses-harness manual a-request-was-refused",
        "",
        '  1  agent 1  user "hi"',
        '              user "hi"',
        "              → refused, see above",
    ]


def test_a_cause_that_the_failure_contains_is_not_repeated(world, post):
    post({"input": "hi"})
    causes = find_suspects(world)
    told = render_section(world, causes, shown=f"Failed: {render_causes(causes, world.vocabulary)}")
    assert told.splitlines() == ['  1  agent 1  user "hi"', "              → refused, see above"]


def test_everything_else_is_shown_on_demand(world, post):
    post({"input": "hi"})
    brief, full = section(world), section(world, verbose=True)
    cause, flow, journal, evidence, bodies = full.split("\n\n", 4)
    assert brief == "\n\n".join([re.sub("^  source .*\n", "", cause, flags=re.M), flow])
    assert "  source  missing_required_parameter: recorded, " in cause
    assert journal.split() == ["1", "POST", "/responses", '"hi"', "400", "missing_required_parameter"]
    rule = RULES["missing_required_parameter"]
    assert evidence.splitlines()[:2] == ["missing_required_parameter:", f"  {rule.summary}"]
    assert [line.split()[0] for line in full.splitlines() if line.startswith(("  recorded,", "  reported,"))] == [
        "recorded,",
        *["reported,"] * (len(rule.sources) - 1),
    ]
    assert '  {\n    "input": "hi"\n  }' in bodies
    assert '"code": "missing_required_parameter"' in bodies


def test_the_newest_refusal_comes_first_and_the_others_are_a_line_each(world, post):
    for _ in range(8):
        post({"input": "hi"})
    causes, words = find_suspects(world), "was refused (400): Missing required parameter: 'model'."
    lines = render_causes(causes, world.vocabulary).splitlines()
    assert lines[0] == f"Request 8 {words}"
    assert lines[-7:] == [
        "and 7 more; -v shows them:",
        *(f"  Request {number} {words}" for number in (7, 6, 5, 4, 3)),
        "  … 2 others",
    ]


def test_a_body_of_a_thousand_items_stays_short(world, post):
    post(asked([USER] * 1000 + [{**USER, "role": "x" * 5000}], instructions="y" * 90_000))
    post(asked([USER] * 1000, previous_response_id="resp_no"))
    told = section(world)
    assert len(told) < 4000
    assert max(map(len, told.splitlines())) < 400


def test_a_refused_request_without_a_body_shows_its_path(world, post):
    post(call="GET /v1/responses/resp_1")
    assert "  where   GET /responses/resp_1; " in section(world)


def test_probes_of_a_client_are_no_suspects(world, post):
    post(asked([USER, {**USER, "bogus": 1}]))
    post(call="GET /v1/nothing/here")
    assert section(world).startswith("Request 1 was refused (400): Unknown parameter: 'input[1].bogus'.")


# Requests that no turn answers


def test_an_unanswered_request_says_why_what_it_sent_and_how_to_answer_it(mock, world, post):
    mock.script(message("hi"))
    post(asked("one"))
    post(asked("two"))
    assert section(world).splitlines() == [
        "Request 2, POST /responses, could not be answered: No turn is left for this request: script (1 taken).",
        '  sent    user "two"',
        "  fix     Add one: mock.script(message('…')).",
        "  manual  responses-harness manual a-request-could-not-be-answered",
        "",
        '  1  agent 1  user "one"',
        '              → assistant "hi"',
        '  2  agent 1  user "two"',
        "              → no answer, see above",
    ]


def test_the_difference_to_the_nearest_route_is_shown(mock, world, post):
    mock.when(tools="search", instructions="planner").script(message("hi"))
    post(asked("one", instructions="You are the planner."))
    assert section(world).splitlines()[:6] == [
        "Request 1, POST /responses, could not be answered: No turn answers this request. The closest is",
        "when(instructions='planner', tools='search'), 1 turn left:",
        "  where   - tools wanted: 'search'",
        "          + tools was:    []",
        '  sent    user "one"',
        "  fix     Loosen that condition, or add a turn that answers every request: mock.script(…).",
    ]


# Turns that no request takes


def unused_lines(world):
    """Return the lines of the verdict about unused turns."""
    return [line.removeprefix("  where ").strip() for line in render_verdict(world).splitlines()[1:-3]]


def test_a_generator_among_the_unused_turns_is_named(mock, world, post):
    def talk(request):
        yield message("a")

    mock.script(message("hi"), talk, iter([message("b")]))
    post(asked("hi"))
    line = talk.__code__.co_firstlineno
    named = [f"script: the function talk (test_find_causes.py:{line})", "script: the function list_iterator"]
    assert unused_lines(world) == named


def test_the_end_of_an_unused_turn_is_named(mock, world, post):
    mock.script(message("hi"), [message("a"), failed()], cut(message("b"), after=1), server_error())
    mock.route("POST", "/embeddings", [{"data": []}, http_error(500, "No.")])
    post(asked("hi"))
    assert unused_lines(world) == [
        'script: message "a" + failed',
        'script: message "b" + cut',
        "script: refusal",
        "route('POST', '/embeddings'): 200 {'data': []}",
        "route('POST', '/embeddings'): refusal",
    ]
    assert unused_cause(world).what == "3 turns of the script and 2 answers of mock.route were never used."


def test_a_turn_that_is_left_after_a_refusal_is_not_reported_beside_its_cause(mock, world, post):
    mock.script(message("hi"), message("there"))
    post(asked("hi"))
    post(asked([USER, {**USER, "bogus": 1}]))
    told = render_verdict(world)
    assert told.startswith("Request 2 was refused (400): Unknown parameter: 'input[1].bogus'.")
    assert "no request took" not in told


def test_a_world_whose_turns_were_all_used_has_no_cause(mock, world, post):
    mock.script(message("hi"))
    post(asked("hi"))
    assert render_verdict(world) == ""


NOTES = [{"type": "file_citation", "file_id": "file_1", "filename": "a.pdf", "index": 3}]


def lossy() -> World:
    mock = make_mock([message("See page 3.", annotations=NOTES)])
    first = ask(mock, "Report?")
    (item,) = first["output"]
    bare = {**item, "content": [{**item["content"][0], "annotations": []}]}
    user = {"role": "user", "content": "Report?"}
    ask(mock, [user, bare, {"role": "user", "content": "Which page?"}])
    return mock.worlds[KEY]


def test_a_refusal_names_its_rule_its_place_and_its_fix() -> None:
    mock = make_mock()
    ask(mock, "hi", bogus=1)
    (found,) = fill_case(mock.worlds[KEY], "failed").found
    assert (found.kind, found.expected, found.id, found.exchange, found.at) == (
        "refusal",
        False,
        "unknown_parameter",
        1,
        "bogus",
    )
    assert found.message == "400 Unknown parameter: 'bogus'."
    assert found.why.startswith("bogus = 1")
    assert found.fix == RULES["unknown_parameter"].fix
    assert (found.cause.what, found.cause.where) == (found.message, "exchange 1, bogus")


@pytest.mark.parametrize("outcome", ["passed", "xfailed", "xpassed"])
def test_what_a_test_that_passed_shows_was_expected(outcome: str) -> None:
    mock = make_mock()
    ask(mock, "hi", bogus=1)
    (found,) = fill_case(mock.worlds[KEY], outcome).found
    assert (found.expected, found.why) == (True, "")


def test_a_refusal_that_the_test_made_happen_was_expected_even_if_it_failed() -> None:
    mock = make_mock()
    mock.open(KEY).script(rate_limit(after="1s"))
    ask(mock, "hi")
    (found,) = fill_case(mock.worlds[KEY], "failed").found
    assert (found.message[:3], found.expected) == ("429", True)


def test_what_an_account_was_set_up_to_refuse_is_expected() -> None:
    assert is_account_rule("rate_limit")
    assert not is_account_rule("unknown_parameter")
    assert not is_account_rule("no_rule")


def test_a_loss_names_the_exchange_of_the_original() -> None:
    (found,) = fill_case(lossy(), "failed").found
    assert (found.kind, found.id, found.exchange, found.why) == (
        "loss",
        "citation-dropped",
        2,
        "original in exchange 1",
    )
    assert not found.expected


@pytest.mark.parametrize(("outcome", "expected"), [("failed", False), ("passed", True)])
def test_a_mistake_of_the_client_names_its_exchange(outcome: str, expected: bool) -> None:
    mock = make_mock()
    ask(mock, "hi", access_programs=None)
    (found,) = fill_case(mock.worlds[KEY], outcome).found
    assert (found.kind, found.id, found.exchange, found.expected) == ("client", "documented-refusal", 1, expected)


def test_a_loss_that_the_marker_allows_was_expected() -> None:
    (found,) = fill_case(lossy(), "failed", "citation-dropped").found
    assert found.expected


def test_a_test_that_no_loss_fails_has_it_to_mend_unless_its_marker_allows_it() -> None:
    (found,), (allowed,) = (
        fill_case(lossy(), "passed", *ids, judged=False).found for ids in ((), ("citation-dropped",))
    )
    assert (found.kind, found.expected, allowed.expected) == ("loss", False, True)


def test_a_loss_behind_an_expected_refusal_was_expected_too() -> None:
    mock = make_mock([message("See page 3.", annotations=NOTES)])
    (item,) = ask(mock, "Report?")["output"]
    bare = {**item, "content": [{**item["content"][0], "annotations": []}]}
    user = {"role": "user", "content": "Report?"}
    ask(mock, [user, bare, user], bogus=1)
    kinds = [(finding.kind, finding.expected) for finding in fill_case(mock.worlds[KEY], judged=False).found]
    assert sorted(kinds) == [("loss", True), ("refusal", True)]


def test_a_request_without_a_turn_is_found() -> None:
    mock = MockApi()
    mock.open(KEY)
    ask(mock, "hi")
    (found,) = fill_case(mock.worlds[KEY], "failed").found
    assert (found.kind, found.exchange, found.place) == ("unanswered", 1, "exchange 1")
    assert found.message.startswith("No turn is left for this request")


@pytest.mark.parametrize(("allowed", "expected"), [((), False), (("unused",), True)])
def test_a_turn_that_no_request_took_is_found(allowed: tuple[str, ...], expected: bool) -> None:
    mock = make_mock()
    mock.open(KEY).script(message("hi"))
    (found,) = fill_case(mock.worlds[KEY], "failed", *allowed).found
    assert (found.kind, found.expected, found.message, found.place) == (
        "unused",
        expected,
        'script: message "hi"',
        "the script",
    )


def test_what_is_found_comes_in_the_order_of_the_exchanges() -> None:
    mock = make_mock([message("See page 3.", annotations=NOTES)])
    ask(mock, "hi", bogus=1)
    (item,) = ask(mock, "Report?")["output"]
    bare = {**item, "content": [{**item["content"][0], "annotations": []}]}
    ask(mock, [{"role": "user", "content": "Report?"}, bare, {"role": "user", "content": "a"}])
    ask(mock, "hi", bogus=1)
    assert [finding.exchange for finding in fill_case(mock.worlds[KEY], "failed").found] == [1, 3, 4]


def test_only_the_newest_refusals_are_traced() -> None:
    mock = make_mock()
    for _ in range(MAX_TRACED + 2):
        ask(mock, "hi", bogus=1)
    whys = [bool(finding.why) for finding in fill_case(mock.worlds[KEY], "failed").found]
    assert whys == [False] * 2 + [True] * MAX_TRACED
