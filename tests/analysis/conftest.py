"""Journals are read from a mock of many keys, asked without a network."""

from __future__ import annotations

import pytest

from harness.server.mock_api import MockApi


@pytest.fixture
def api() -> MockApi:
    return MockApi(keys=())
