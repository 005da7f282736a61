"""YAML of recorders, read as plain data: what only YAML 1.1 takes for other than a text stays a text."""

from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import pytest

from harness.cassettes.format.untrusted import MAX_NESTING, TOO_LARGE, parse_yaml_documents
from harness.core.errors import Malformed


def read(text: str) -> Any:
    [document] = parse_yaml_documents(text)
    return document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-1.5e3", -1500.0),
        ("true", True),
        ("~", None),
        ("", None),
        ("yes", "yes"),
        ("12:30", "12:30"),
        ("2026-01-02", "2026-01-02"),
        ("0x1F", "0x1F"),
        ("'12'", "12"),
        ("! 12", 12),
        ("!!binary aGk=", b"hi"),
        ("!!str 12", "12"),
        ("!unknown text", "text"),
    ],
)
def test_a_value(text: str, value: Any) -> None:
    assert read(f"a: {text}") == {"a": value}


def test_a_name_is_a_text_whatever_it_looks_like() -> None:
    assert read("{1: a, true: b, ~: c}") == {"1": "a", "true": "b", "~": "c"}


def test_an_alias_has_the_value_of_its_anchor() -> None:
    assert read("a: &x [1, {b: c}]\nd: *x\n&n e: &y 2\nf: *y\ng: {*n : h}") == {
        "a": [1, {"b": "c"}],
        "d": [1, {"b": "c"}],
        "e": 2,
        "f": 2,
        "g": {"e": "h"},
    }


def test_a_merged_mapping_leaves_what_is_there() -> None:
    assert read("a: &x {b: 1, c: 2}\nd: {b: 3, <<: *x}") == {"a": {"b": 1, "c": 2}, "d": {"b": 3, "c": 2}}


def test_tags_of_python_are_seen_through() -> None:
    assert read("a: !!python/object/new:_io.BytesIO {state: !!python/tuple [!!binary aGk=, 0]}") == {"a": b"hi"}


def test_documents_follow_each_other() -> None:
    assert list(parse_yaml_documents("a\n--- [b]\n---\nc: d\n")) == ["a", ["b"], {"c": "d"}]


def test_a_broken_list_is_read_up_to_where_it_breaks() -> None:
    documents = parse_yaml_documents("interactions:\n- a: 1\n- b: [\n- c: 2\n")
    assert next(documents) == {"interactions": [{"a": 1}]}
    with pytest.raises(Malformed, match=r"line \d"):
        next(documents)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: *x", "line 1: an alias of nothing, or of what it stands in"),
        ("a:\n- &x [*x]", "line 2: an alias of nothing, or of what it stands in"),
        ("[a]: b", "a mapping has a key that is not a string"),
        ("a: &x [1]\n*x : b", "a mapping has a key that is not a string"),
        ("a: !!binary a", "line 1: a binary value that is not base64"),
        ("[" * (MAX_NESTING + 2), f"line 1: nested more than {MAX_NESTING} levels deep"),
        (
            "a: &a [x, x]\n" + "".join(f"{n}: &{n} [{f'*{m}, ' * 9}]\n" for m, n in pairwise("abcdefgh")),
            "line 6: its aliases expand to more than 100,000 values or 10 MB; write them out, or use fewer",
        ),
    ],
)
def test_what_is_no_data_is_refused(text: str, problem: str) -> None:
    with pytest.raises(Malformed) as refused:
        list(parse_yaml_documents(text))
    assert problem in str(refused.value)


def test_a_file_with_more_values_than_allowed_is_refused() -> None:
    assert list(parse_yaml_documents("[1, 2]", max_nodes=3)) == [[1, 2]]
    with pytest.raises(Malformed, match="too many values"):
        list(parse_yaml_documents("[1, 2, 3]", max_nodes=3))


@pytest.mark.parametrize(("more", "is_read"), [(999, True), (1_000, False)])
def test_aliases_expand_to_a_hundred_thousand_values_at_most(more: int, is_read: bool) -> None:
    text = "- 1\n" * more + f"- &a [{'1, ' * 999}]\n" + "- *a\n" * 98
    with nullcontext() if is_read else pytest.raises(Malformed, match=TOO_LARGE):
        assert len(read(text)) == more + 99
