"""When a test fails although its own assertions held."""

import openai
import pytest

UNUSED = """
def test_it(mock, client):
    mock.script(message("hi"), "at last", [message("there"), function_call("f", {"a": 1})])
    mock.when(instructions="ops").script(lambda request: message("x"))
    client.responses.create(model="gpt-4.1", input="x")
"""
UNANSWERED = """
def test_it(mock):
    mock.when(instructions="planner").script(message("hi"))
    with pytest.raises(openai.APIStatusError):
        openai.OpenAI().responses.create(model="gpt-4.1", input="x", instructions="You build.")
"""


def test_a_turn_that_no_request_took_fails_the_test(run):
    run(UNUSED).shows(
        "3 turns of the script were never used.",
        "  where   when(instructions='ops'): the function <lambda> (test_*.py:*)",
        '          script: message "at last"',
        '          script: message "there" + function_call f {"a":1}',
        '  allow   @pytest.mark.harness(unused="allow")',
        "*- responses-harness -*",
        '  1  agent 1  user "x"',
        failed=1,
    ).hides("*INTERNALERROR*")


def test_only_the_first_unused_turns_are_named(run):
    run("""
def test_it(mock, client):
    mock.script(*map(message, "abcdefghijklm"))
    client.responses.create(model="gpt-4.1", input="x")
""").shows("12 turns of the script were never used.", '*script: message "g"', "*… 6 more").hides('*message "h"*')


def test_a_condition_without_turns_fails_the_test(run):
    forgotten = """
def test_it(mock, client):
    mock.when(instructions="ops")
    mock.script("hi")
    client.responses.create(model="gpt-4.1", input="x")
"""
    run(forgotten).shows(
        "when(instructions='ops') has no turns, so it answers no requests.",
        "  where   test_*.py:*",
        '  allow   @pytest.mark.harness(unused="allow")',
        failed=1,
    )
    run('@pytest.mark.harness(unused="allow")' + forgotten).assert_outcomes(passed=1)


def test_a_script_that_no_request_reached_says_how_clients_find_the_mock(run):
    run("def test_it(mock): mock.script(message('hi'))").shows(
        "No request came with this test's key sk-harness-*",
        '  unused  script: message "hi"',
        "  fix *OPENAI_BASE_URL*",
        failed=1,
    )


@pytest.mark.parametrize(
    ("turn", "cause"),
    [("[7]", "*ScriptError: *7*"), ("*cassette('nothing')", "*nothing.yaml: no such cassette*")],
    ids=["a mistake of the script", "a cassette that is missing"],
)
def test_what_stops_the_script_is_its_own_cause(run, turn, cause):
    run(f"def test_it(mock, cassette): mock.script({turn})").shows(f"E {cause}", failed=1).hides("*No request came*")


def test_unused_turns_can_be_allowed_and_the_closest_marker_wins(run):
    run(f"""
pytestmark = pytest.mark.harness(unused="allow")

{UNUSED}

@pytest.mark.harness(unused="fail")
{UNUSED.replace("test_it", "test_strict").strip()}
""").assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize(
    ("mark", "body", "outcome", "shown"),
    [
        ("", "assert 1 == 2", "failed", ["E*assert 1 == 2", "*- responses-harness -*", "No request came with*"]),
        ('@pytest.mark.harness(unused="allow")', "assert 1 == 2", "failed", []),
        ("", 'pytest.skip("not today")', "skipped", []),
    ],
    ids=["is no second failure", "is not mentioned where it is allowed", "is nothing in a skipped test"],
)
def test_an_unused_turn(run, mark, body, outcome, shown):
    run(f"""{mark}
def test_it(mock):
    mock.script(message("hi"))
    {body}
""").shows(*shown, **{outcome: 1}).hides("*no request took*")


def test_an_expected_failure_covers_the_verdict(run):
    run("@pytest.mark.xfail(strict=True)" + UNUSED).assert_outcomes(xfailed=1)


def test_a_request_no_turn_answers_fails_the_test_even_when_the_app_swallows_it(run):
    result = run(UNANSWERED, "--tb=short").shows(
        "Request 1, POST /responses, could not be answered: No turn answers this request. The closest is",
        "when(instructions='planner'), 1 turn left:",
        "*- responses-harness -*",
        '  1  *user "x"',
        "*→ no answer, see above",
        failed=1,
    )
    result.stdout.fnmatch_lines(
        [
            "  where   - instructions wanted: 'planner'",
            "          + instructions was:    'You build.'",
            "  fix     Loosen that condition, *",
        ],
        consecutive=False,
    )


def test_the_sdk_sends_an_unanswered_request_once(mock):
    with openai.OpenAI(max_retries=5) as client, pytest.raises(openai.APIStatusError) as caught:
        client.responses.create(model="gpt-4.1", input="x")
    assert caught.value.status_code == 418
    assert len(mock.exchanges) == len(mock.world.problems) == 1
    mock.world.problems.clear()


def test_several_unanswered_requests_are_counted(run):
    run("""
def test_it(mock):
    for _ in range(3):
        with pytest.raises(openai.APIStatusError):
            openai.OpenAI().responses.create(model="gpt-4.1", input="x")
""").shows(
        "Request 1, POST /responses, could not be answered: No turn is left*",
        "and 2 more; -v shows them:",
        "  Request 2, POST /responses, could not be answered: No turn is left*",
    )


def test_a_turn_that_raises_fails_the_test_with_its_words(run):
    run("""
def reply(request):
    assert request.body["input"] == "y", "the app must say y"

def turns(request):
    raise KeyError("city")
    yield

@pytest.mark.parametrize("turn", [reply, turns])
def test_it(mock, turn):
    mock.script(turn)
    with pytest.raises(openai.APIStatusError):
        openai.OpenAI().responses.create(model="gpt-4.1", input="x")
""").shows(
        "*AssertionError: the app must say y*",
        "  where   at *, in reply: assert request.body*",
        "*a turn raised KeyError: 'city', at*",
        '  where   at *, in turns: raise KeyError("city")',
        failed=2,
    )


def test_a_request_that_fails_after_the_body_is_reported_too(run):
    run("""
@pytest.fixture
def app(mock):
    yield
    with pytest.raises(openai.APIStatusError):
        openai.OpenAI().responses.create(model="gpt-4.1", input="bye")

def test_it(app): ...
""").shows(
        "Request 1, POST /responses, could not be answered*",
        '  sent    user "bye"',
        "*→ no answer, see above",
        passed=1,
        errors=1,
    )


def test_a_setup_that_fails_shows_the_flow(run):
    run("""
@pytest.fixture
def app(mock):
    mock.script(message("hi"))
    openai.OpenAI().responses.create(model="gpt-4.1", input="warm up")
    raise OSError("no disk")

def test_it(app): ...
""").shows("*OSError: no disk", "*- responses-harness -*", '*"warm up"', '*"hi"', errors=1)


def test_a_unittest_case_fails_once(run):
    run("""
import unittest

@pytest.mark.usefixtures("mock")
class TestApp(unittest.TestCase):
    def test_unanswered(self):
        with self.assertRaises(openai.APIStatusError):
            openai.OpenAI().responses.create(model="gpt-4.1", input="x")

    def test_own(self):
        self.assertEqual(1, 2)
""").shows("Request 1, POST /responses, could not be answered*", failed=2)


def test_a_mock_that_refuses_less_fails_the_test_that_relies_on_the_refusal(run):
    """The same test passes on the mock and fails when the rule it relies on is taken out."""
    relying = """
def test_it(mock, client):
    mock.script(function_call("f", {}, off_schema=True))
    first = client.responses.create(model="gpt-4.1", input="x")
    with pytest.raises(openai.BadRequestError, match="No tool output found"):
        client.responses.create(model="gpt-4.1", input="y", previous_response_id=first.id)
"""
    loosened = """
@pytest.fixture(autouse=True)
def loosened(monkeypatch):
    monkeypatch.setattr("harness.contract.check.run_rules", lambda *_: None)
"""
    run(relying).assert_outcomes(passed=1)
    run(loosened + relying).assert_outcomes(failed=1)


def test_what_compares_is_no_part_of_a_traceback(run):
    run("""
from harness import surfaced
from harness.drive import linear

def test_shown(mock, client):
    mock.script(message("Paris it is."))
    client.responses.create(model="gpt-4.1", input="Where?")
    surfaced("Paris", mock.replies)

def test_linear(mock, client):
    mock.script(message("Paris it is."))
    client.responses.create(model="gpt-4.1", input=[{"role": "user", "content": " "}])
    linear(mock.exchanges)
""").shows("E*AssertionError: text truncated: *", "test_*.py:*: AssertionError", failed=2).hides(
        "*harness/analysis/*", "*harness/drive/*"
    )


@pytest.mark.slow
def test_a_client_that_timed_out_and_asked_again_is_reported(run):
    result = run("""
from harness.ending import failed
from harness.faults import delay, server_error

def test_retried(mock):
    mock.script(delay(message("hi"), seconds=5))
    with pytest.raises(openai.APIStatusError):
        openai.OpenAI(timeout=0.3, max_retries=1).responses.create(model="gpt-4.1", input="x")

def test_given_up(mock):
    mock.script(delay(message("hi"), seconds=5))
    openai.OpenAI(timeout=0.3, max_retries=0).responses.create(model="gpt-4.1", input="x")

def test_asked_twice(mock, client):
    mock.script(message("hi"))
    client.responses.create(model="gpt-4.1", input="x", stream=True)
    with pytest.raises(openai.APIStatusError):
        client.responses.create(model="gpt-4.1", input="x", stream=True)

@pytest.mark.parametrize("turn", [failed(), server_error()])
def test_retried_after_an_error(mock, turn):
    mock.script(turn)
    with pytest.raises(openai.APIStatusError):
        openai.OpenAI(max_retries=1).responses.create(model="gpt-4.1", input="x")
""")
    result.assert_outcomes(failed=5)
    shown = result.stdout.str()
    details = shown.partition("short test summary")[0]
    assert details.count("  why     request 1 was identical and got status 500: its retry takes a turn, too") == 2
    assert "2 refusals expected, 0 losses" in shown
    assert "The client hung up on request 1 after 0." in shown
    assert "POST /responses, could not be answered: the client hung up on request 1 after 0." in shown
    assert "  why     request 1 was identical and took a turn: an unread stream" in shown


def test_a_call_that_was_never_awaited_is_reported(run):
    run("""
@pytest.mark.filterwarnings("default")
def test_forgotten(mock):
    mock.script(message("hi"))
    openai.AsyncOpenAI().responses.create(model="gpt-4.1", input="x")
""").shows(
        "No request came, and a call was never awaited.",
        "  where   coroutine 'AsyncResponses.create' was never awaited",
        "*Write `await` before the call of an async client*",
        failed=1,
    )
