"""Multipart forms as plain data: fields, files, what is broken, and what travels through them unharmed."""

import httpx2 as httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.api.http.multipart import CONTENT_TYPE, parse_form
from harness.core.exchange import BYTES_AS_TEXT

HEADER = f"{CONTENT_TYPE}; boundary=x"


def encoded(data: dict[str, str], files: dict[str, tuple[str, bytes, str]]) -> tuple[bytes, str]:
    """Return a form as a real client writes it, with its content type."""
    sent = httpx.Request("POST", "http://api.test/files", data=data, files=files)
    return sent.read(), sent.headers["content-type"]


def test_a_field_is_a_text_and_a_file_has_name_type_and_data():
    raw, kind = encoded({"purpose": "user_data"}, {"file": ("é.txt", "café".encode(), "text/plain")})
    assert parse_form(raw, kind) == {
        "purpose": "user_data",
        "file": {"filename": "é.txt", "content_type": "text/plain", "data": "café".encode().decode(BYTES_AS_TEXT)},
    }


def test_a_name_in_brackets_is_a_member():
    raw, kind = encoded({"expires_after[anchor]": "created_at", "expires_after[seconds]": "60"}, {"file": FILE})
    assert parse_form(raw, kind)["expires_after"] == {"anchor": "created_at", "seconds": "60"}


FILE = ("a.txt", b"a", "text/plain")


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.binary(max_size=200),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters='"\\'), min_size=1),
)
def test_any_bytes_and_any_name_come_through(data, name):
    raw, kind = encoded({}, {"file": (name, data, "application/octet-stream")})
    found = parse_form(raw, kind)["file"]
    assert (found["data"].encode(BYTES_AS_TEXT), found["filename"]) == (data, name)


def test_data_that_looks_like_a_boundary_is_data():
    data = b"\r\n--y\r\n--x \r\n-" + b"\r\n" * 3
    raw = b'--xyz\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + data + b"\r\n--xyz--\r\n"
    assert parse_form(raw, f"{CONTENT_TYPE}; boundary=xyz")["file"]["data"].encode(BYTES_AS_TEXT) == data


def test_the_boundary_is_read_from_the_body_where_the_header_has_none():
    raw, _ = encoded({"purpose": "batch"}, {"file": FILE})
    assert parse_form(raw, CONTENT_TYPE) == parse_form(raw, "") == parse_form(raw, _)


def test_a_file_without_a_type_is_plain_bytes():
    raw = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nA\r\n--x--\r\n'
    plain = {"filename": "a", "content_type": "application/octet-stream", "data": "A"}
    assert parse_form(raw, HEADER) == {"file": plain}


def test_a_body_that_breaks_off_counts_as_far_as_it_came():
    raw, kind = encoded({"purpose": "batch"}, {"file": ("a", b"Paris, Rome", "text/plain")})
    cut = raw[: raw.index(b"Paris") + 5]  # no boundary holds it, they are hexadecimal
    assert parse_form(cut, kind)["file"]["data"] == "Paris"


def test_a_field_beside_members_of_the_same_name_stays():
    raw, kind = encoded({"a": "1", "a[b]": "2"}, {"file": FILE})
    assert parse_form(raw, kind)["a"] == "1"


@pytest.mark.parametrize("raw", [b"", b"{}", b"--y\r\nnonsense", b"--x\r\nno header\r\n\r\n--x--", b"\xff" * 50])
@pytest.mark.parametrize("kind", [HEADER, CONTENT_TYPE, "", "application/json", "multipart/form-data; boundary="])
def test_what_is_no_form_has_no_fields(raw, kind):
    assert parse_form(raw, kind) == {}
