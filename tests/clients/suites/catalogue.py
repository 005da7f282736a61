"""A case of the catalogue of `responses-harness examine` as a test of a suite."""

import harness.examine.cases  # noqa: F401  (registers the cases)
from harness.examine.case import CASES
from harness.examine.own_tests import expect, run_task


def meets(mock, id, mode, adapter):
    """AssertionError when the client of an adapter (`MODULE:CLASS`) does not meet a case in a mode."""
    case = CASES[id]
    case.script(mock)
    expect(run_task(mock, case.task, mode, adapter), *case.checks, fails=case.fails)
