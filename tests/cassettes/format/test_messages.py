"""The bytes of bodies that other recorders have parsed or split."""

import gzip
from base64 import b64encode
from typing import Any

import pytest

from harness.api.http.bodies import DecodedAnswer, decode_answer, decode_request
from harness.cassettes.format.messages import INVALID_BODY, encode_body, headers_of

JSON = {"content-type": "application/json"}
PACKED = gzip.compress(b'{"a": 1}', mtime=0)


def decoded(body: Any) -> DecodedAnswer:
    return decode_answer(encode_body(body, {}), {})


@pytest.mark.parametrize(
    ("body", "raw"),
    [
        (None, b""),
        ("é", "é".encode()),
        (b"\xff", b"\xff"),
        ({"a": 1}, b'{"a":1}'),
        ([], b"[]"),
        ([{"a": 1}], b'[{"a":1}]'),
        (False, b"false"),
        ({"half": "\ud83d"}, b'{"half": "\\ud83d"}'),
        ({"a": b"\xff"}, INVALID_BODY),
        (["x", b"y"], b"xy"),
        ([PACKED.hex()], PACKED),
        ([b64encode(PACKED).decode()], PACKED),
    ],
)
def test_every_form_has_bytes(body: Any, raw: bytes) -> None:
    assert encode_body(body, {}) == raw


@pytest.mark.parametrize(
    "value",
    [
        {"A": 1, "b": ["c", "d"]},
        [{"name": "A", "value": "1"}, {"name": "b", "value": "c, d"}],
        [{"Key": "A", "value": "1"}, {"name": "b", "Value": {"equalTo": "c, d"}}],
        [["A", "1"], ["b", "c, d"], ["neither"]],
        ["A", "1", "b", "c, d", "without a value"],
    ],
)
def test_headers_in_every_form_are_read_by_their_names(value: Any) -> None:
    assert headers_of(value) == {"a": "1", "b": "c, d"}


def test_what_json_cannot_represent_is_neither_json_nor_a_stream() -> None:
    assert decode_request(INVALID_BODY, {}) == (None, INVALID_BODY)
    assert decode_answer(INVALID_BODY, JSON)[:3] == (None, None, {"unread-answer"})


@pytest.mark.parametrize(
    ("body", "events", "flags"),
    [
        ([{"event": "a", "data": {"type": "a"}}, {"event": None, "data": "[DONE]"}], [{"type": "a"}], {"done-marker"}),
        ([{"type": "a"}, {"type": "b"}], [{"type": "a"}, {"type": "b"}], set()),
        ([{"event": "thread.run", "data": {"id": 1}}], [{"event": "thread.run", "data": {"id": 1}}], set()),
        ([{"event": "a", "data": '{"type":\n"a"}'}], [{"type": "a"}], set()),
        ([{"type": "a"}, {"event": None, "data": None}], [{"type": "a"}], {"cut", "broken-off"}),
    ],
)
def test_a_list_of_events_is_a_stream(body: Any, events: Any, flags: set[str]) -> None:
    assert decoded(body)[:3] == (None, events, flags)
