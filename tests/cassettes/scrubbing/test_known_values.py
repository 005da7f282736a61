"""Known values are found in a text in all spellings of JSON, among however many."""

from __future__ import annotations

import json

import pytest

from harness.cassettes.scrubbing.known_values import KnownValues

VALUES = ["swordfish-9", 'quo"ted\\value', "schlüssel-7", "swordfish-9-longer", "piece6"]


@pytest.fixture(params=[0, 3000], ids=["few", "many"])
def known(request):
    return KnownValues([*VALUES, *(f"cookie-{number:06}" for number in range(request.param))])


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_found_as_it_is_and_escaped(known, value):
    for spelling in (value, json.dumps(value)[1:-1], json.dumps(json.dumps(value))[3:-3]):
        assert spelling in known.find_spellings(f"it is {spelling}, or not")


def test_the_longest_is_found_first(known):
    assert known.find_spellings("swordfish-9-longer") == ["swordfish-9-longer", "swordfish-9"]


def test_what_only_resembles_a_value_is_not_found(known):
    assert known.find_spellings("swordfish-8 cookie-00 piece schlü") == known.find_spellings("") == []


def test_adding_returns_what_is_new():
    known = KnownValues(["abcdefgh"])
    assert known.add(["abcdefgh", "ijklmnop", "ijklmnop"]) == ["ijklmnop"]
    assert known.add(["ijklmnop"]) == []


class CountingText(str):
    """A text that counts how often something is searched for in it."""

    searches = 0

    def __contains__(self, part):
        self.searches += 1
        return super().__contains__(part)


def test_a_search_does_not_look_for_each_of_many_values():
    """Behind a proxy each answer sets a new cookie."""
    known = KnownValues(f"cookie-{number:08}" for number in range(5000))
    text = CountingText("it was cookie-00000042")
    assert known.find_spellings(text) == ["cookie-00000042"]
    assert text.searches <= 100
