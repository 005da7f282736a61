"""Values that repeat are stored once, and come out as they went in."""

import json
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.viewer.pool import MAX_DEPTH, Pool, PoolReader
from tests.support.in_process import user
from tests.support.shown import KEY, Asked

NAMES = st.text(max_size=4) | st.sampled_from(["$", "$list", "$literal", "keep", "then"])
SCALARS = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e9, 1e9) | st.text(max_size=90)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=8) | st.dictionaries(NAMES, inner, max_size=5), max_leaves=30
).filter(lambda value: "\ud800" not in repr(value))


def through_json(pool: Pool, shown: Any) -> Any:
    entries, sent = json.loads(orjson.dumps([pool.entries, shown]))
    return PoolReader(entries).value(sent)


@given(st.lists(VALUES, max_size=6))
@settings(deadline=None, max_examples=40)
def test_every_value_comes_back(values: list[Any]) -> None:
    pool = Pool()
    shown = [pool.put(value) for value in [*values, *values]]
    assert through_json(pool, shown) == [*values, *values]


@given(st.lists(st.lists(st.sampled_from([f"item {n} " + "x" * 60 for n in range(4)]), max_size=90), max_size=8))
@settings(deadline=None)
def test_lists_with_a_common_beginning_come_back(lists: list[list[str]]) -> None:
    pool = Pool()
    shown = [pool.put(value) for value in lists]
    assert through_json(pool, shown) == lists


def history(length: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"message {number}: {'word ' * 200}"} for number in range(length)]


def test_a_history_that_grows_is_stored_once() -> None:
    pool = Pool()
    shown = [pool.put({"model": "gpt-5.6", "input": history(length)}) for length in range(1, 201)]
    once = len(orjson.dumps(history(200)))
    assert len(orjson.dumps([pool.entries, shown])) < once * 1.3
    assert through_json(pool, shown)[120]["input"] == history(121)


def test_a_history_whose_end_changes_in_each_request_is_stored_nearly_once() -> None:
    pool = Pool()
    requests = [[*history(length), {"role": "user", "content": f"now it is {length}"}] for length in range(1, 201)]
    shown = [pool.put(request) for request in requests]
    assert len(orjson.dumps([pool.entries, shown])) < len(orjson.dumps(history(200))) * 1.5
    assert through_json(pool, shown) == requests


def test_every_text_is_cleaned_names_too() -> None:
    pool = Pool(lambda text: text.replace("secret", "[hidden]"))
    value = {"secret name": ["secret", "a secret that is longer than what is stored in place: " + "x" * 50]}
    assert b"secret" not in orjson.dumps([pool.put(value), pool.entries])


def test_what_no_browser_can_read_is_written_as_a_text() -> None:
    pool = Pool()
    value = {"large": 2**70, "small": -(2**53), "endless": float("inf"), "bytes": b"\xff", "at": (1, 2)}
    read = through_json(pool, pool.put(value))
    assert read == {"large": str(2**70), "small": str(-(2**53)), "endless": "inf", "bytes": "ÿ", "at": [1, 2]}


def test_what_is_nested_too_deeply_ends_in_an_ellipsis() -> None:
    value: Any = "bottom"
    for _ in range(600):
        value = [value]
    pool = Pool()
    read = through_json(pool, pool.put(value))
    depth = 0
    while isinstance(read, list):
        read, depth = read[0], depth + 1
    assert read == "…"
    assert depth == MAX_DEPTH


def test_secrets_are_hidden_everywhere(asked: Asked) -> None:
    asked.mock.script(f"Your key is {KEY}.")
    asked.ask([user(f"My key is {KEY}, or sk-proj-{'a1B2' * 12}.")], metadata={"key": KEY}, instructions=KEY)
    text = orjson.dumps(asked.show("failed", why=f"E {KEY}"))
    assert KEY.encode() not in text
    assert b"sk-proj-" not in text
    headers = dict(asked.show().exchanges[0].request_headers)
    assert headers == {"authorization": "Bearer [hidden]", "content-type": "application/json", "user-agent": "me/1"}
