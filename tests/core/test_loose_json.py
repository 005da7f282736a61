"""JSON of others, which may be anything: what is of another type counts as empty."""

from __future__ import annotations

import pytest

from harness.core.loose_json import as_object, as_string, objects_in


@pytest.mark.parametrize("value", [None, 1, True, "text", ["a"], {"a": 1}])
def test_a_value_of_another_type_is_empty(value: object) -> None:
    assert as_object(value) == (value if isinstance(value, dict) else {})
    assert as_string(value) == (value if isinstance(value, str) else "")
    assert objects_in(value) == []


def test_a_list_gives_its_objects_alone() -> None:
    assert objects_in([{"a": 1}, None, "b", [{}], {}]) == [{"a": 1}, {}]
