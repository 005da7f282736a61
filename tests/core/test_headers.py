"""Headers have one form, wherever they come from."""

import pytest

from harness.core.headers import encode_headers, header_pairs, normalize_headers


@pytest.mark.parametrize(
    "headers",
    [
        {"Accept": ["a", b"b"], "X": "1"},
        [(b"accept", b"a"), (b"Accept", b"b"), (b"x", b"1")],
        [("ACCEPT", "a"), ("accept", "b"), ("X", 1)],
    ],
)
def test_names_are_in_lower_case_and_several_values_joined(headers):
    assert normalize_headers(headers) == {"accept": "a, b", "x": "1"}


def test_pairs_keep_their_order_and_every_value():
    pairs = header_pairs([(b"Set-Cookie", b"a"), ("Date", "now"), ("set-cookie", "b")])
    assert pairs == [("set-cookie", "a"), ("date", "now"), ("set-cookie", "b")]
    assert encode_headers(pairs) == [(b"set-cookie", b"a"), (b"date", b"now"), (b"set-cookie", b"b")]


def test_bytes_are_latin_1():
    assert normalize_headers([(b"x", b"\xe9")]) == {"x": "é"}
    assert encode_headers([("x", "é")]) == [(b"x", b"\xe9")]
