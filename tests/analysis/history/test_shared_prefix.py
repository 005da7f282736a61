"""Sequences that share their beginning: as lists, whatever is made of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.history import request
from harness.analysis.history.request import MAX_LINKS, GrowingSequence

STEPS = st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(0, 3), max_size=4)), max_size=12)


@pytest.mark.slow
@pytest.mark.parametrize("linked", [(1, 2), (1, 64), (32, 64)])
@given(STEPS)
def test_it_is_as_a_list_that_is_copied(linked: tuple[int, int], steps: list[tuple[int, list[int]]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in zip(("MIN_LINKED", "MAX_LINKS"), linked, strict=True):
            patch.setattr(request, name, value)
        _compare_with_lists(steps)


def _compare_with_lists(steps: list[tuple[int, list[int]]]) -> None:
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


def test_many_that_branch_off_cost_what_is_new() -> None:
    long = GrowingSequence(range(1000))
    branches = [long.extend([number]) for number in range(100)]
    assert sum(len(branch._held.values) for branch in branches[1:]) == 99
    assert [branch[999:] for branch in branches] == [[999, number] for number in range(100)]


def test_a_branch_at_each_step_is_copied_seldom() -> None:
    link, held = GrowingSequence(range(100)), 0
    for number in range(10 * MAX_LINKS):
        link.extend([-1])
        link = link.extend([number])
        held += len(link._held.values)
    assert held < 10 * MAX_LINKS + 10 * len(link)
    assert [*link] == [*range(100), *range(10 * MAX_LINKS)]
