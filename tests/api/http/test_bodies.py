"""From bytes to JSON: what a body says, that a name may stand once, and what the texts of a query mean."""

import gzip
import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.api.http import bodies
from harness.api.http.bodies import (
    MAX_BODY_DEPTH,
    NO_EVENT_LINE,
    coerce_query,
    count_members,
    decode_answer,
    decode_request,
    parse_body,
    parse_sse,
)
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
def test_the_first_duplicate_name_is_reported_with_its_place(raw: bytes, name: str, place: str) -> None:
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
def test_invalid_json_is_reported_by_its_kind(raw: bytes, kind: str) -> None:
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


EVENTS = {"content-type": "text/event-stream; charset=utf-8"}
B = 'event: b\ndata: {"type": "b"}\n\n'
UNDECODED = {"unread-answer", "encoded-answer"}


@pytest.mark.parametrize(
    ("text", "events"),
    [
        ("event: a\ndata: 1\n\n", [("a", "1")]),
        ("data:1\r\n\r\ndata:  2\r\r", [("", "1"), ("", " 2")]),
        ("\ufeffdata: 1\ndata: 2\n\n", [("", "1\n2")]),
        (": comment\nid: 7\nretry: 3\nother\ndata: 1\n", [("", "1")]),
        ("event: a\n\ndata: 1", [("", "1")]),
        ("", []),
    ],
)
def test_frames_follow_the_rules_of_server_sent_events(text: str, events: list[tuple[str, str]]) -> None:
    assert parse_sse(text) == events


@pytest.mark.parametrize(
    ("said", "events", "flags"),
    [
        ('data: {"type": "a"}\n\ndata: [DONE]\n\n', [{"type": "a"}], {"done-marker"}),
        ('event: a\ndata: {"type": "a"}\n\n', [{"type": "a"}], set()),
        ('event: b\ndata: {"type": "a"}\n\n', [{"type": "a"}], set()),
        ('data: {"type": "a"}\n\ndata: {"type": "b", "de', [{"type": "a"}], {"cut", "broken-off"}),
        ('data: x\n\ndata: {"type": "a"}\n\n', [{"type": "a"}], {"unread-answer"}),
        ("data: 7\n\n", [], {"unread-answer"}),
        (f'data: {"[" * 300}{"]" * 300}\n\ndata: {{"type": "a"}}\n\n', [{"type": "a"}], {"unread-answer"}),
        (": only a comment\n\n", [], {"cut", "broken-off"}),
        ("", [], {"cut", "broken-off"}),
    ],
)
def test_a_stream_is_the_data_of_its_events(said: str, events: list[Any], flags: set[str]) -> None:
    assert decode_answer(said.encode(), EVENTS)[:3] == (None, events, flags)


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ('event: a\ndata: {"type": "a"}\n\n', []),
        (': ping\nid: 1\nretry: 9\nevent:a\ndata:{"type":\ndata:"a"}\n\n', []),
        ('event: b\ndata: {"type": "a"}\n\n', [("events[0]", "its line is 'event: b', its data has the type 'a'")]),
        ('event: a \ndata: {"type": "a"}\n\n', [("events[0]", "its line is 'event: a ', its data has the type 'a'")]),
        ("event: a\n" + 3 * 'data: {"type": "a"}\n\n', [("events[1]", NO_EVENT_LINE)]),
        ('event: a\ndata: {"type": \n\n' + B, [("events[0]", "its data is not a JSON object")]),
        ('event: a\ndata: {"type": "a"}\n\nevent: b\ndata: {"ty', []),
        ("event: done\ndata: [DONE]\n\n", []),
        ('event: thread.created\ndata: {"id": "thread_1"}\n\n', []),
    ],
)
def test_the_lines_around_the_data_of_an_event_are_looked_at(said: str, wrong: list[tuple[str, str]]) -> None:
    assert [event[:2] for event in decode_answer(said.encode(), EVENTS).misframed] == wrong


def test_a_stream_needs_no_header() -> None:
    assert decode_answer(b'\xef\xbb\xbfdata: {"type": "a"}\n\n', {}).events == [{"type": "a"}]


@pytest.mark.parametrize(
    ("said", "body"), [(None, None), (b"", None), (b" ", None), (b"[1]", [1]), (b'{"a": 1}', {"a": 1})]
)
def test_an_answer_is_json(said: Any, body: Any) -> None:
    assert decode_answer(said, {})[:3] == (body, None, set())


@pytest.mark.parametrize(
    ("said", "headers"),
    [
        (b"<html>", {}),
        (b"[" * 300 + b"]" * 300, {}),
        (b'{"id": ', {"content-type": "application/json"}),
        (b"no gzip", {"content-encoding": "gzip"}),
    ],
)
def test_what_cannot_be_read_is_flagged(said: Any, headers: dict[str, str]) -> None:
    assert decode_answer(said, headers)[:3] == (None, None, {"unread-answer"})


@pytest.mark.parametrize(
    ("said", "headers"),
    [(b"\x1f\x8bnothing", {}), (b"\x28\xb5\x2f\xfdnothing", {}), (b"\xff\xfe", {"content-encoding": "br"})],
)
def test_what_cannot_be_decoded_is_flagged(said: Any, headers: dict[str, str]) -> None:
    assert decode_answer(said, headers)[:3] == (None, None, UNDECODED)


def test_what_is_not_base64_is_its_own_bytes() -> None:
    assert [bodies.decode_base64(said) for said in ("aGk=", "é", b"a")] == [b"hi", "é".encode(), b"a"]


def test_a_json_error_in_place_of_a_stream_is_json() -> None:
    assert decode_answer(b'{"error": {}}', EVENTS).body == {"error": {}}


@pytest.mark.parametrize(
    ("said", "request_", "raw"),
    [
        (b"", None, None),
        (b'{"a": 1}', {"a": 1}, None),
        (gzip.compress(b'{"a": 1}', mtime=0), {"a": 1}, None),
        (b"{}", {}, None),
        (b'{"a": 1, "a": 2}', None, b'{"a": 1, "a": 2}'),
        (b"{", None, b"{"),
        (b"\xff", None, b"\xff"),
        (b"\x1f\x8bx", None, b"\x1f\x8bx"),
    ],
)
def test_a_request_is_json_or_else_its_bytes(said: Any, request_: Any, raw: bytes | None) -> None:
    assert decode_request(said, {}) == (request_, raw)


def test_a_body_that_grows_without_end_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_JUDGED_SIZE", 1000)
    assert decode_answer(gzip.compress(b" " * 100_000), {}).flags == UNDECODED


def test_a_body_that_grows_as_no_answer_does_is_not_decoded() -> None:
    assert decode_answer(gzip.compress(b'{"a": 1}' + b" " * 1_000_000), {}).body == {"a": 1}
    assert decode_answer(gzip.compress(b'{"a": 1}' + b" " * 2_000_000), {}).flags == UNDECODED
    assert decode_answer(gzip.compress(b"") * 100_000, {}).flags == UNDECODED


def test_chunks_that_break_off_stay_as_they_are() -> None:
    assert bodies.undo_encodings(b"5\r\nabc", {"transfer-encoding": "chunked"}) == b"5\r\nabc"


class Codec:
    """A library that the project does not need: what it undoes is the text itself."""

    class Decompressor:
        def process(self, raw: bytes) -> bytes:
            return b'{"a": 1}'

        def is_finished(self) -> bool:
            return True

    class ZstdDecompressor:
        def stream_reader(self, raw: bytes, **_: Any) -> io.BytesIO:
            return io.BytesIO(b'{"a": 1}')


@pytest.mark.parametrize("raw", [b"\xffbrotli", b"\x28\xb5\x2f\xfdzstd"])
def test_other_encodings_are_undone_where_their_library_is(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "find_spec", lambda name: name)
    monkeypatch.setattr(bodies, "import_module", lambda name: Codec)
    assert decode_answer(raw, {"content-encoding": "br"}).body == {"a": 1}
