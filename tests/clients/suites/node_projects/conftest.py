"""`play("text", …)`: the result of a flow of `flows.mjs`, which finds the project in its environment."""

from __future__ import annotations

import pytest


@pytest.fixture
def play(node):
    return lambda flow, **given: node("flows.mjs", flow=flow, **given)
