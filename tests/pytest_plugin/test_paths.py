"""What pytest shows when an assertion about the path fails."""

CALL = """
TOOLS = [{"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}, "strict": False}]

@pytest.mark.harness(unused="allow")
def test_it(mock, client):
    mock.script(function_call("get_weather", {"city": "Paris"}))
    client.responses.create(model="gpt-4.1", instructions="You are the planner.", input="x", tools=TOOLS)
"""
PATH = "planner → get_weather(city=Paris) unanswered"


def test_a_claim_says_how_it_was(run):
    result = run(CALL + "    assert mock.calls.named('get_weather').times(2)")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"E *assert 1 call of get_weather, not 2; the path: {PATH}"])


def test_a_claim_that_holds_passes(run):
    run(CALL + "    assert mock.calls.named('get_weather').times(1)").assert_outcomes(passed=1)


def test_a_comparison_is_followed_by_the_path(run):
    result = run(CALL + "    assert mock.agents == ['planner', 'ops']")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E *assert ?'planner'? == ?'planner', 'ops'?", "E*Right contains one more item: 'ops'", f"E *the path: {PATH}"]
    )


def test_other_comparisons_are_left_alone(run):
    result = run("def test_it(mock):\n    assert [1] == [2]")
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*the path*")
