"""`@pytest.mark.harness(as_of=…)`: the mock of a test is the API of a day."""

from tests.support.inner_run import Run

TEST = """
@pytest.mark.harness({mark})
def test_it(mock, openai_client):
    mock.script(message("ok"))
    answer = openai_client.responses.create(model="codex-mini-latest", input="x", tools=[{{"type": "local_shell"}}])
    assert answer.created_at == {created_at}
"""


def test_what_the_api_accepted_that_day_is_accepted(run: Run) -> None:
    run(TEST.format(mark="as_of='2026-04-30'", created_at=1_777_550_401)).assert_outcomes(passed=1)


def test_without_it_the_newest_contract_holds(run: Run) -> None:
    run(TEST.format(mark="", created_at=0)).shows("*The local_shell tool is no longer supported.*", failed=1)
