"""A client's bytes are answered as a bare uvicorn answers them, whatever they are and wherever they are cut."""

import time

import pytest

from tests.fuzz.differential import METHODS, run
from tests.support.seed import REPEAT, TODAY


def test_a_few_hundred_connections_are_answered_as_a_bare_server_does() -> None:
    figures = run(seed=1, count=100)
    assert figures.differences == []
    assert figures.answers > 300


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_thousand_connections_are_answered_as_a_bare_server_does(capsys: pytest.CaptureFixture[str]) -> None:
    begun = time.monotonic()
    figures = run(seed=TODAY, count=1_000)
    with capsys.disabled():
        print(
            f"\n{figures.connections} connections, {figures.sent:,} bytes, {len(figures.methods)} methods, "
            f"{figures.answers} answers, {time.monotonic() - begun:.0f} s: {len(figures.differences)} differences"
        )
    assert figures.differences == [], REPEAT
    assert figures.methods == set(METHODS)
