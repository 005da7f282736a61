"""The modes of an examination are chosen by their words."""

from __future__ import annotations

import pytest

from harness.examine.mode import Mode, parse_modes


@pytest.mark.parametrize(
    ("texts", "meant"),
    [
        ((), "plain,chain stream,chain stream,replay stream,replay,azure"),
        (("stream",), "stream,chain stream,replay stream,replay,azure"),
        (("stream,replay",), "stream,replay"),
        (("stream,replay,azure",), "stream,replay,azure"),
        (("azure", "plain"), "plain,chain stream,replay,azure"),
        (("openai",), "plain,chain stream,chain stream,replay"),
    ],
)
def test_modes_are_chosen_by_their_words(texts: tuple[str, ...], meant: str) -> None:
    modes = [Mode(False, "chain"), Mode(True, "chain"), Mode(True, "replay"), Mode(True, "replay", "azure")]
    assert " ".join(map(str, filter(parse_modes(texts), modes))) == meant
