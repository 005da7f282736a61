"""How the error of a client becomes a part of its outcome."""

import pytest

from harness.examine.task import describe_error


class StatusError(Exception):
    status_code = 429


@pytest.mark.parametrize("link", ["__cause__", "__context__"])
def test_the_status_is_that_of_a_cause(link):
    outer = ValueError("no answer")
    setattr(outer, link, StatusError())
    assert describe_error(outer) == {"type": "ValueError", "message": "no answer", "status": 429}


def test_causes_in_a_circle_end():
    first, second = ValueError("first"), KeyError("second")
    first.__context__, second.__context__ = second, first
    assert describe_error(first)["status"] is None
