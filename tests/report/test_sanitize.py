"""What a report may write of a value."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.report.sanitize import MAX_DEPTH, MAX_LIST_LENGTH, MAX_TEXT_LENGTH, sanitize_value


def test_values_are_cut_where_a_report_would_grow_without_end() -> None:
    deep: Any = "end"
    for _ in range(MAX_DEPTH + 5):
        deep = [deep]
    assert sanitize_value("a" * (MAX_TEXT_LENGTH + 7)) == f"{'a' * MAX_TEXT_LENGTH}… 7 more characters"
    assert sanitize_value(list(range(MAX_LIST_LENGTH + 3)))[-2:] == [MAX_LIST_LENGTH - 1, "… 3 more"]
    assert "end" not in json.dumps(sanitize_value(deep))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (True, True),
        (None, None),
        (1.5, 1.5),
        (1 << 60, str(1 << 60)),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        (b"a\xff", "aÿ"),
        ("\ud800", "\\ud800"),
        (frozenset({1}), "frozenset({1})"),
        ({1: (2,)}, {"1": [2]}),
    ],
)
def test_what_json_cannot_say_is_said_otherwise(value: Any, written: Any) -> None:
    assert sanitize_value(value) == written
