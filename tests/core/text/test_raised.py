"""Exceptions of the user's code in words: what was raised, and where in that code, without the harness's own frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.core.errors import ScriptError
from harness.core.garbage import paused_collection
from harness.core.text.raised import MAX_FRAMES, Place, describe_code, describe_raised, find_calling_place

HERE = Path(__file__).name


def fail(depth: int) -> None:
    with paused_collection():  # a frame of `contextlib` between those of the user, when it raises
        if depth:
            fail(depth - 1)
        raise KeyError("city")


def test_the_last_frames_of_the_user_are_shown_with_their_code() -> None:
    with pytest.raises(KeyError) as caught:
        fail(9)
    told = describe_raised(caught.value)
    line = fail.__code__.co_firstlineno
    assert told.what == f"KeyError: 'city', at {__file__}:{line + 4}"
    assert told.shown == [
        *[f"  at {HERE}:{line + 3}, in fail: fail(depth - 1)"] * (MAX_FRAMES - 1),
        f'  at {HERE}:{line + 4}, in fail: raise KeyError("city")',
    ]


def test_an_error_of_the_harness_says_itself_what_it_is_and_further_lines_follow() -> None:
    told = describe_raised(ScriptError("no turn", ["at line 3"], "Add one."))
    assert told == ("no turn", ["  | at line 3", "  | Add one."], "")
    assert describe_raised(ValueError()).what == "ValueError"


def test_code_is_named_with_its_place() -> None:
    def talk() -> Iterator[str]:
        yield "hi"

    line = talk.__code__.co_firstlineno
    assert describe_code(talk) == describe_code(talk()) == f"talk ({HERE}:{line})"
    assert describe_code(len) == "len"
    assert describe_code(3) == "int"


def test_a_place_is_that_of_the_user_who_calls() -> None:
    place = find_calling_place()
    assert (place.file, place.short) == (__file__, f"{HERE}:{place.line}")
    assert [str(place) for place in (Place("/a/b.py", 3), Place("/a/b.py"), Place())] == ["/a/b.py:3", "/a/b.py", ""]
