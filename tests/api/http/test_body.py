"""From bytes to JSON: what a body says, that a name may stand once, and what the texts of a query mean."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.api.http.body import MAX_BODY_DEPTH, coerce_query, count_members, parse_body
from harness.core.exchange import JsonFault

TEXTS = st.text(st.sampled_from('ab":\\ {}[],\n\t\u20ac\U0001f600'), max_size=6) | st.text(
    st.characters(codec="utf-8"), max_size=4
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
SPACES = st.sampled_from(["", " ", "\n", "\t", "\r", "  "])


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True)
@given(JSON, SPACES, SPACES, st.booleans())
def test_any_json_is_read_as_it_is(value: Any, before: str, after: str, escaped: bool) -> None:
    raw = json.dumps(value, separators=(f"{after},{before}", f"{before}:{after}"), ensure_ascii=escaped).encode()
    assert parse_body(raw) == ({} if value is None else value, None)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.dictionaries(TEXTS, JSON, min_size=1, max_size=4), JSON, SPACES, SPACES, st.data())
def test_a_name_that_stands_twice_is_found(
    value: dict[str, Any], again: Any, before: str, after: str, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(value)))
    pair = f"{json.dumps(name)}{before}:{after}{json.dumps(again)}"
    twice = f"{json.dumps(value)[:-1]},{pair}}}"
    assert parse_body(twice.encode()) == (None, JsonFault("duplicate", name, name))
    inside = f'{{"in": [1, {{"x": {twice}}}]}}'
    assert parse_body(inside.encode()) == (None, JsonFault("duplicate", name, f"in.x.{name}"))


@pytest.mark.parametrize(
    ("raw", "name", "place"),
    [
        (b'{"a": 1, "a": {"b": 1, "b": 2}}', "a", "a"),
        (b'{"a": {"b": 1, "b": 2}, "a": 1}', "b", "a.b"),
        (b'[{"a":[{"b":1},{"b":1,"b":2}]}]', "b", "a.b"),
    ],
    ids=["the outer one comes first", "the inner one comes first", "in a list"],
)
def test_the_first_name_that_stands_twice_is_told_by_its_place(raw: bytes, name: str, place: str) -> None:
    assert parse_body(raw) == (None, JsonFault("duplicate", name, place))


@pytest.mark.parametrize(
    ("raw", "value"), [(b"", {}), (b"null", {}), (b"{}", {}), (b"[1, 1.5]", [1, 1.5]), (b'"x"', "x"), (b"0", 0)]
)
def test_a_body_is_its_json_and_nothing_is_an_empty_object(raw: bytes, value: Any) -> None:
    assert parse_body(raw) == (value, None)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"{", "syntax"),
        (b"NaN", "syntax"),
        (b'"\\ud800"', "syntax"),
        (b'"\xff"', "unicode"),
        (b"[" * 100_000 + b"]" * 100_000, "syntax"),
        (b'{"a":' * (MAX_BODY_DEPTH + 1) + b"1" + b"}" * (MAX_BODY_DEPTH + 1), "syntax"),
    ],
)
def test_what_is_no_json_is_told_by_its_kind(raw: bytes, kind: str) -> None:
    assert parse_body(raw) == (None, JsonFault(kind))


def test_many_brackets_are_no_depth() -> None:
    many = b"[" + b",".join([b"[]"] * 2 * MAX_BODY_DEPTH) + b"]"
    assert parse_body(many) == ([[]] * 2 * MAX_BODY_DEPTH, None)
    assert parse_body(b"[" * MAX_BODY_DEPTH + b"]" * MAX_BODY_DEPTH)[1] is None


def test_members_are_counted_at_all_depths() -> None:
    assert count_members({"a": [{"b": {}}, {"c": 1, "d": "e"}], "f": None}) == 5
    assert count_members([1, "a"]) == 0


QUERY = {
    "properties": {
        "limit": {"type": "integer"},
        "stream": {"type": "boolean"},
        "include": {"type": "array"},
        "order": {"type": "string"},
    }
}


@pytest.mark.parametrize(
    ("name", "said", "meant"),
    [
        ("limit", "10", 10),
        ("limit", "-1", -1),
        ("limit", "1.5", "1.5"),
        ("limit", "9" * 301, "9" * 301),
        ("limit", "\u0663", "\u0663"),
        ("limit", "", ""),
        ("limit", ["1"], ["1"]),
        ("stream", "true", True),
        ("stream", "yes", "yes"),
        ("include", "a", ["a"]),
        ("include", ["a", "b"], ["a", "b"]),
        ("order", "1", "1"),
        ("unknown", "1", "1"),
    ],
)
def test_a_text_of_a_query_has_the_type_its_schema_asks_for_if_it_can(name: str, said: Any, meant: Any) -> None:
    assert coerce_query({name: said}, QUERY) == {name: meant}
