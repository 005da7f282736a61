"""How the limits of an account are worded."""

import pytest

from harness.core.account import show_wait


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.02, "20ms"), (0.374, "374ms"), (9.816, "9.816s"), (20, "20s"), (0, "0s"), (86.4, "1m26.4s"), (7320, "2h2m0s")],
)
def test_a_wait_is_shown_as_the_api_does(seconds: float, text: str) -> None:
    assert show_wait(seconds) == text
