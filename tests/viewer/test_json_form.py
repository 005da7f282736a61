"""Runs and cases as compressed JSON: read as they were written, and no more than a file may hold."""

import gzip

import pytest

from harness.core.bounded_input import LIMIT_VARIABLE
from harness.core.errors import ConfigError
from harness.viewer.json_form import PIECE, read_bytes, read_text, to_bytes, to_text
from harness.viewer.page_data import CaseRow, Run

ROW = CaseRow("test_a", "test_a", "a.py", 3, "passed", 0.5, 1, 0, 0)
RUN = Run("pytest", cases=[ROW], counts={"passed": 1}, notes=[f"note {number}" for number in range(2 * PIECE + 1)])


def test_a_run_is_read_as_it_was_written() -> None:
    read = read_text(to_text(RUN), Run)
    assert read == read_bytes(gzip.decompress(to_bytes(RUN)), Run)
    assert to_bytes(read) == to_bytes(RUN)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"[]", "this is not a Run of the viewer"),
        (to_bytes(RUN)[:-9], "it is cut off"),
        (b"\x1f\x8bno", "not a Run"),
    ],
    ids=["another-form", "cut-off", "no-gzip"],
)
def test_anything_else_is_refused(raw: bytes, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_bytes(raw, Run)


def test_what_is_too_large_is_not_unpacked_and_the_limit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "1")
    with pytest.raises(ConfigError, match=f"more than 1048576 bytes; set {LIMIT_VARIABLE} in the environment"):
        read_bytes(gzip.compress(bytes(1 << 21)), Run)
