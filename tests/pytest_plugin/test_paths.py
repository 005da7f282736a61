"""What pytest shows when an assertion about the path fails."""

import pytest

CALL = """
TOOLS = [{"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}, "strict": False}]

@pytest.mark.harness(unused="allow")
def test_it(mock, client):
    mock.script(function_call("get_weather", {"city": "Paris"}))
    client.responses.create(model="gpt-4.1", instructions="You are the planner.", input="x", tools=TOOLS)
"""
PATH = "planner → get_weather(city=Paris) unanswered"


def test_a_claim_says_how_it_was(run):
    run(CALL + "    assert mock.calls.named('get_weather').times(2)").shows(
        f"E *assert 1 call of get_weather, not 2; the path: {PATH}", failed=1
    )


def test_a_claim_that_holds_passes(run):
    run(CALL + "    assert mock.calls.named('get_weather').times(1)").assert_outcomes(passed=1)


class TestAClaimWithoutAnAssertion:
    def test_fails_the_test_when_it_does_not_hold(self, run):
        run(CALL + "    mock.calls.named('get_weather').times(2)").shows(
            "A claim that is not asserted is false: 1 call of get_weather, not 2; the path: planner → *",
            "  where   test_fails_the_test_when_it_does_not_hold.py:*",
            "  fix     Write `assert` before it, so that the test fails in that line, and check the path.",
            "  manual  docs/troubleshooting.md#a-claim-does-not-hold",
            failed=1,
        )

    def test_a_claim_that_does_not_hold_fails_it_among_others_that_do(self, run):
        run(CALL + "    mock.calls.times(1)\n    mock.calls.before('book')").shows(
            "*there is no call of book; the path:*", failed=1
        )

    def test_passes_when_it_holds(self, run):
        run(CALL + "    mock.calls.named('get_weather').times(1)").assert_outcomes(passed=1)

    @pytest.mark.parametrize(
        "line", ["assert not mock.calls.times(2)", "print(mock.calls.times(2))", "mock.calls.times(2) or None"]
    )
    def test_passes_when_the_test_has_looked_at_it(self, run, line):
        run(CALL + f"    {line}").assert_outcomes(passed=1)


def test_a_comparison_is_followed_by_the_path(run):
    run(CALL + "    assert mock.agents == ['planner', 'ops']").shows(
        "E *assert ?'planner'? == ?'planner', 'ops'?",
        "E*Right contains one more item: 'ops'",
        f"E *the path: {PATH}",
        failed=1,
    )


def test_other_comparisons_are_left_alone(run):
    run("def test_it(mock):\n    assert [1] == [2]").shows(failed=1).hides("*the path*")
