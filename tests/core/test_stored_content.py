"""The content of a file: in memory a text of its bytes, outside of it a text that says its size."""

from __future__ import annotations

import copy
import pickle

from harness.core.stored_content import StoredContent, content_size, read_content


def test_both_have_a_size_and_bytes() -> None:
    data = bytes(range(256))
    stored = StoredContent(len(data), lambda start=0, length=-1: data[start:][: None if length < 0 else length])
    for content in (stored, data.decode("latin-1")):
        assert (content_size(content), read_content(content)) == (256, data)
    assert stored.read(254, 1) == b"\xfe"


def test_a_copy_is_only_the_text() -> None:
    stored = StoredContent(209715200, lambda start=0, length=-1: b"")
    for copied in (pickle.loads(pickle.dumps(stored)), copy.copy(stored)):
        assert (type(copied), copied) == (str, "(209715200 bytes)")
