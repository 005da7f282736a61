"""Values in few words: the beginning of each, whatever it is."""

import ast
from pathlib import Path
from typing import Any

import pytest

from harness.core.text import (
    MAX_QUOTED,
    escape_controls,
    excerpt,
    item_text,
    pluralize,
    share_of_ends,
    shorten,
    shorten_json,
    show,
    summarize_item,
)
from tests.support.in_process import user

HARNESS = Path(__file__).parents[3] / "harness"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a" * 100, f'"{"a" * 59}…"'),
        ('{"a": 1}', r'"{\"a\": 1}"'),
        ([1, 2, 3, 4, 5], "[1, 2, 3, … 2 more]"),
        (dict.fromkeys("abcdefgh", 1), '{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, … 2 more}'),
        ({"a": {"b": {"c": {"d": 1}}}}, '{"a": {"b": {"c": {…}}}}'),
        ([[[[1]]]], "[[[[…]]]]"),
        ([], "[]"),
        (None, "null"),
        ("", '""'),
    ],
)
def test_a_value_is_shown_by_its_beginning(value, text):
    assert shorten_json(value) == text


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"role": "user", "content": "hi"}, 'user "hi"'),
        (user([{"type": "input_text", "text": "a"}, {"type": "input_file"}]), 'user "a [input_file]"'),
        ({"type": "function_call", "name": "f", "arguments": '{"a": 1}', "call_id": "c"}, 'function_call f {"a": 1}'),
        ({"type": "function_call_output", "call_id": "call_1", "output": "x"}, 'function_call_output call_1 "x"'),
        ({"type": "reasoning", "content": [], "summary": [{"type": "summary_text", "text": "Why"}]}, 'reasoning "Why"'),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}, 'assistant "No."'),
        (user([{"type": "text", "text": {"value": "of a thread", "annotations": []}}]), 'user "of a thread"'),
        ({"type": "mcp_approval_response", "approval_request_id": "mcpr_1"}, "mcp_approval_response mcpr_1"),
        ({}, "item"),
        ({"type": 7, "content": 5, "name": {"a": 1}}, "7 {'a': 1}"),
        ([[1]], "[[…]]"),
        (None, "null"),
    ],
)
def test_an_item_is_summarized_by_its_kind_its_name_and_its_text(item, text):
    assert summarize_item(item) == text


def test_words_are_whole():
    assert item_text({"content": [{"text": "a" * 500}, {"text": "b"}]}) == "a" * 500 + " b"


def test_numbers_agree_with_their_nouns():
    assert (pluralize(1, "turn"), pluralize(2, "turn")) == ("1 turn", "2 turns")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"width": 26}, "abcdefghijklmnopqrstuvwxyz"),
        ({"width": 25}, "abcdefghijklmnopqrstuvwx…"),
        ({"width": 10, "tail": 3}, "abcdef…xyz"),
        ({"width": 10, "mark": "..."}, "abcdefg..."),
        ({"width": 10, "tail": 2, "mark": " … "}, "abcde … yz"),
    ],
)
def test_a_text_is_shown_by_its_beginning_and_its_end(options, words):
    assert shorten("abcdefghijklmnopqrstuvwxyz", **options) == words


@pytest.mark.parametrize("value", [{"a": [1, None, "x"], "b": ("c", 1.5)}, "x" * MAX_QUOTED, list(range(200)), 10**300])
def test_an_excerpt_of_a_small_value_is_the_value(value):
    assert excerpt(value) == value


NESTED: list[Any] = []
for _ in range(99):
    NESTED = [NESTED]


def test_an_excerpt_has_the_beginning_of_a_large_value():
    assert excerpt(list(range(1000)))[198:] == [198, 199, "…"]
    assert list(excerpt(dict.fromkeys(range(1000), 1)).items())[-1] == ("…", "800 more")
    assert excerpt({"k" * 5000: "v" * 5000}) == {"k" * 500 + "…" + "k" * 250: "v" * 500 + "…" + "v" * 250}
    assert excerpt([16**20_000]) == ["an integer of 80,001 bits"]
    assert repr(excerpt(NESTED)).count("[") == repr(excerpt([NESTED])).count("[") == 21
    assert excerpt({(16**20_000, b"x" * 5000): {7}}) == {("an integer of 80,001 bits", b"x" * MAX_QUOTED): {7}}


def test_a_value_is_shown_whatever_it_is():
    class Broken:
        def __repr__(self):
            raise KeyError

    assert show({"a": (1, "b")}) == "{'a': (1, 'b')}"
    assert show("x" * 9000, 20) == "'xxxxxxxxxxxxx…xxxx'"
    assert show([Broken()]) == "<list, of which repr() raises KeyError>"
    assert len(show([["x" * 100] * 100] * 100)) == MAX_QUOTED


def test_json_is_shortened_whatever_it_is():
    assert shorten_json({"k" * 100: 16**20_000}) == '{"' + "k" * 59 + '…": "an integer of 80,001 bits"}'


def test_an_excerpt_of_what_contains_itself_ends():
    loop: list[object] = []
    loop += [loop, loop]
    assert repr(excerpt(loop)).count("…") < 300


def test_an_excerpt_costs_nothing_beyond_what_it_shows():
    """A list of lists with 10**9 entries in all, of which a whole copy would never end."""
    value: list[object] = ["x"] * 10
    for _ in range(8):
        value = [value] * 10
    assert len(repr(excerpt(value))) < 2_000


@pytest.mark.parametrize("package", ["ending", "faults", "items", "server/control_plane", "world/scripting"])
def test_messages_about_what_was_sent_show_values(package):
    """`{value!r}` renders all of a value: each of these packages quotes what scripts and clients send."""
    wholes = [
        f"{file.relative_to(HARNESS)}:{node.lineno}"
        for file in (HARNESS / package).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FormattedValue) and node.conversion == ord("r")
    ]
    assert wholes == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("Grüße 👩‍👩‍👧 שלום 日本", "Grüße 👩‍👩‍👧 שלום 日本"),
        ("\x1b[31m", "\\u001b[31m"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("\x00\x85\ud800", "\\u0000\\u0085\\ud800"),
    ],
)
def test_only_controls_are_escaped(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("", "", 1.0),
        ("ab", "ab", 1.0),
        ("abcd", "abxd", 0.75),
        ("ab", "abab", 0.5),
        ([1, 2], [1, 3], 0.5),
        ("a", "b", 0.0),
    ],
)
def test_the_share_of_ends_counts_what_both_begin_and_end_with_once(one, other, share):
    assert share_of_ends(one, other) == share
