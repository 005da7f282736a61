"""The key of the live API is in the environment, for the tests that ask for it."""

from __future__ import annotations

import pytest

from tests.support.servers.live_api import KEY


@pytest.fixture
def live_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
