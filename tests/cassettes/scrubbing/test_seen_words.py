"""The words of scrubbed exchanges tell which of them may contain a value that is learned later."""

from __future__ import annotations

import pytest

from harness.cassettes.scrubbing.seen_words import SeenWords


@pytest.fixture
def seen():
    words = SeenWords()
    words.add(1, 'input: "tell me of swordfish-Nine!"', ["tell me of swordfish-Nine!"])
    words.add(2, "input: c3dvcmRmaXNoLU5pbmU=", ["the hidden halibut-Ten"])
    return words


def holders(seen, value, texts=("input: swordfish-Nine!", "input: c3dv")):
    marks = seen.find_marks([value])
    return [number for number, text in enumerate(texts, 1) if seen.may_contain(number, text, marks)]


def test_a_value_is_found_in_the_text_or_decoded(seen):
    assert (holders(seen, "swordfish-Nine"), holders(seen, "halibut-Ten")) == ([1], [2])


def test_part_of_a_word_is_found(seen):
    assert holders(seen, "fish-Nine") == [1]


def test_a_value_that_nothing_contains_has_no_mark(seen):
    assert (seen.find_marks(["swordfish-Ten", "0123456789"]), holders(seen, "0123456789")) == ([], [])


def test_a_value_without_a_word_may_be_anywhere(seen):
    assert holders(seen, "ä ö ü ß é") == [1, 2]


def test_what_replaces_an_exchange_counts_instead(seen):
    seen.add(2, "input: xxxxxxxxxxxx", [])
    assert holders(seen, "halibut-Ten") == []
