"""The story as a case of the catalogue: many calls for each of several prompts, in a conversation that the API keeps."""

import harness.examine.cases  # noqa: F401  (registers the cases)
from harness.examine.case import CASES
from harness.examine.own_tests.run_task import expect, run_task


def test_case(mock):
    case = CASES["tools/turns-of-many-calls"]
    case.script(mock)
    expect(run_task(mock, case.task, "stream,conversation", "openai-agents"), *case.checks)
