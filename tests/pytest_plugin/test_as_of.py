"""`@pytest.mark.harness(as_of=…)`: the mock of a test is the API of a day."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.slow import slow_except

Run = Callable[..., pytest.RunResult]

TEST = """
@pytest.mark.harness({mark})
def test_it(mock, openai_client):
    mock.script(message("ok"))
    answer = openai_client.responses.create(model="codex-mini-latest", input="x", tools=[{{"type": "local_shell"}}])
    assert answer.created_at == {created_at}
"""


def test_what_the_api_took_that_day_is_taken(run: Run) -> None:
    run(TEST.format(mark="as_of='2026-04-30'", created_at=1_777_550_401)).assert_outcomes(passed=1)


def test_without_it_the_newest_contract_holds(run: Run) -> None:
    result = run(TEST.format(mark="", created_at=0))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*The local_shell tool is no longer supported.*"])


@pytest.mark.parametrize(
    ("as_of", "problem"),
    slow_except(
        [0],
        [
            ("'soon'", "'soon' is no date; give a day or a month, say 2026-03-15 or 2026-03."),
            ("202603", "202603 is no date; give a day or a month, say 2026-03-15 or 2026-03."),
            ("'2999-01'", "'2999-01' lies in the future: this release knows the API up to *, which is the default."),
        ],
    ),
)
def test_what_is_no_date_of_the_past_is_an_error(run: Run, as_of: str, problem: str) -> None:
    result = run(TEST.format(mark=f"as_of={as_of}", created_at=0))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*@pytest.mark.harness(as_of={as_of}): {problem}*"])
