"""`compare`: where an expected and an actual answer differ, as far as a profile compares them."""

from typing import Any

import pytest

from harness.verify.compare import (
    ABSENT,
    ERROR,
    Difference,
    Profile,
    compare,
    describe_kind,
    differing_error_members,
    select_error_members,
)


@pytest.mark.parametrize(
    ("expected", "actual", "differences"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, [("a", "1", "True")]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, [("a.b[1]", "2", "3")]),
        ([1], [1, 2], [("", "[1]", "[1, 2]")]),
        ({"a": 1, "b": 2}, {"c": 3, "b": 2, "d": 4}, [("a", "1", ABSENT), ("c", ABSENT, "3"), ("d", ABSENT, "4")]),
    ],
)
def test_every_difference_has_its_place(expected: Any, actual: Any, differences: list[tuple[str, str, str]]) -> None:
    assert list(compare(expected, actual, Profile())) == [Difference(*difference) for difference in differences]


@pytest.mark.parametrize(
    ("expected", "actual", "differences"),
    [([1, 2], [1], [("[1]", "2", ABSENT)]), ([1], [3, 2], [("[0]", "1", "3"), ("[1]", ABSENT, "2")])],
)
def test_lists_of_different_lengths_differ_by_element_on_demand(expected, actual, differences):
    found = compare(expected, actual, Profile(is_indexed=True))
    assert list(found) == [Difference(*difference) for difference in differences]


def test_a_profile_reduces_both_answers_first() -> None:
    profile = Profile(view=lambda answer: {name: describe_kind(value) for name, value in answer.items()})
    assert list(compare({"id": "resp_1", "n": 1}, {"id": "resp_2", "n": "1"}, profile)) == [
        Difference("n", "'a number'", "'a text'")
    ]


def test_the_expected_answer_may_lack_optional_members_by_their_holder() -> None:
    profile = Profile(is_optional=lambda holder, name: (holder, name) in {("response", "new"), ("message", "phase")})
    expected: dict[str, Any] = {"output": [{"type": "message"}], "tools": {}}
    actual = {"new": 1, "output": [{"type": "message", "phase": "x", "new": 1}], "tools": {"new": 1}}
    assert [difference.at for difference in compare(expected, actual, profile, "response")] == [
        "output[0].new",
        "tools.new",
    ]


def test_errors_are_compared_by_their_expected_members() -> None:
    assert list(compare({"code": None}, {"code": None, "message": "No."}, ERROR)) == []
    assert differing_error_members({"status": 400, "code": None}, {"status": 400}) == []
    assert differing_error_members({"message": "No.", "code": "a"}, {"message": "No", "code": "b"}) == [
        "message",
        "code",
    ]


def test_only_an_object_has_error_members() -> None:
    assert select_error_members({"code": "a", "more": 1, "message": "No."}) == {"message": "No.", "code": "a"}
    assert select_error_members("No.") == select_error_members(None) == {}
