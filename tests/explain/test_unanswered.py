"""A request that could not be answered is explained from the parts of the error, whatever their texts look like."""

from harness.core.errors import Problem
from harness.explain.unanswered import miss_cause


def test_a_line_of_a_recording_that_looks_like_the_head_of_a_diff_is_shown() -> None:
    diff = ("--- recorded", "+++ asked", "@@ -1 +1 @@", " same", "--- gone", "+-- come")
    cause = miss_cause(Problem("not recorded", diff), "Record it.")
    assert (cause.where, cause.fix) == ("--- gone\n+-- come", "Record it.")


def test_what_an_error_advises_itself_comes_before_the_hint() -> None:
    assert miss_cause(Problem("a WebSocket", fix="Use the proxy."), "Record it.").fix == "Use the proxy."
