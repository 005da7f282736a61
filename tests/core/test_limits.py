"""What is full loses its oldest: never more stays than allowed, and what is new stays."""

from __future__ import annotations

import pytest

from harness.core.limits import drop_before, drop_oldest, oldest_beyond


@pytest.mark.parametrize(
    ("count", "most", "left"), [(5, None, 5), (5, 5, 5), (5, 3, 3), (64, 64, 64), (65, 64, 63), (640, 639, 630)]
)
def test_the_newest_stay_and_what_is_full_makes_room_for_several(count: int, most: int | None, left: int) -> None:
    kept = list(range(count))
    gone = oldest_beyond(dict.fromkeys(kept), most)
    drop_oldest(kept, most)
    assert kept == list(range(count - left, count))
    assert gone == list(range(count - left))


def test_a_table_loses_what_is_before_a_number() -> None:
    table = {3: "a", 4: "b", 7: "c"}
    drop_before(table, 5)
    assert table == {7: "c"}
