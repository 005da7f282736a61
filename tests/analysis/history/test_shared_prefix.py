"""Sequences that share their beginning: as lists, whatever is made of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.history.request import GrowingSequence

STEPS = st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(0, 3), max_size=4)), max_size=12)


@pytest.mark.slow
@given(STEPS)
def test_it_is_as_a_list_that_is_copied(steps: list[tuple[int, list[int]]]) -> None:
    made: list[tuple[GrowingSequence[int], list[int]]] = [(GrowingSequence(), [])]
    for index, added in steps:
        growing, plain = made[index % len(made)]
        made.append((growing.extend(added), plain + added))
    for growing, plain in made:
        assert (list(growing), len(growing)) == (plain, len(plain))
        assert [growing.count(value) for value in range(4)] == [plain.count(value) for value in range(4)]
        for start in (None, -2, 0, 1, 5):
            for stop in (None, -1, 0, 2, 9):
                assert growing[start:stop] == plain[start:stop]
        assert [growing[place] for place in range(-len(plain), len(plain))] == [*plain, *plain]


def test_there_is_nothing_beyond_its_end() -> None:
    short = GrowingSequence([1])
    short.extend([2])
    for place in (1, -2):
        with pytest.raises(IndexError):
            short[place]


def test_what_follows_the_end_costs_what_is_new() -> None:
    long = GrowingSequence(range(1000))
    longer = long.extend([1]).extend([2])
    assert longer._shared is long._shared
    assert [*long.extend([3])][-2:] == [999, 3]
    assert longer[999:] == [999, 1, 2]
