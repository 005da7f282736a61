"""What a terminal would take for a command is printed as an escape."""

from __future__ import annotations

import pytest

from harness.core.text.printable import escape_controls


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
