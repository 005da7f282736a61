"""Known values are found in a text in all spellings of JSON, among however many."""

import json
import random
import string

import pytest

from harness.cassettes.scrubbing.encodings import encode_base64_like
from harness.cassettes.scrubbing.masks import KnownValues, SeenWords
from tests.support.cpu_time import cpu_time

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


def test_a_value_is_found_whatever_surrounds_and_interrupts_it():
    chance = random.Random(7)
    values = ["".join(chance.choices("ab1-/+ é", k=chance.randint(6, 12))) for _ in range(40)]
    known = KnownValues(values)
    for _ in range(200):
        text = "".join(chance.choices([*values, *'ab1-/"'], k=6))
        found = known.find_spellings(text)
        assert {value for value in values if value in text} == {*values} & {*found}


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


def test_words_that_came_before_take_no_more_space(seen):
    size = len(seen._joined)
    seen.add(3, "tell me of the halibut-Ten", ["swordfish-Nine"])
    assert len(seen._joined) == size


def test_any_part_of_a_word_is_found_wherever_it_is_cut():
    chance, words = random.Random(1), SeenWords()
    texts = ["".join(chance.choices(string.ascii_letters + string.digits, k=chance.randint(6, 60))) for _ in range(50)]
    words.add(1, " ".join(texts), [])
    for text in texts:
        for start in range(len(text) - 5):
            part = text[start : chance.randint(start + 6, len(text))]
            assert words.find_marks([part]) == [part]


def test_a_new_value_costs_as_much_among_many_words_as_among_few():
    """Each exchange of a recording has new ids: if each of them cost a look at all words, ten thousand took minutes."""
    words, spent = SeenWords(), []
    for count in (1_000, 30_000):
        words.add(1, " ".join(f"resp_{random.Random(number).randbytes(24).hex()}" for number in range(count)), [])
        unseen = [f"resp_{random.Random(-number).randbytes(24).hex()}" for number in range(count, count + 1_000)]
        with cpu_time() as took:
            assert words.find_marks(unseen) == []
        spent.append(took.seconds)
    assert spent[1] < 5 * spent[0] + 0.05


@pytest.mark.parametrize(
    ("data", "like", "encoded"),
    [
        (b"a", "YWFh", "YQ=="),
        (b"a", "YWE=", "YQ=="),
        (b"a", "YWE", "YQ"),
        (b"?>?", "Pz4_", "Pz4_"),
        (b"?>?", "Pz4/", "Pz4/"),
    ],
)
def test_what_was_masked_is_encoded_as_it_came(data, like, encoded):
    assert encode_base64_like(data, like) == encoded
